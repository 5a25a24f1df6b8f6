"""A what-if as rows to keep: figures one by one, plans one by one. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from enforcer.whatif.compare import WITH, WhatIf
from enforcer.whatif.figures import Figures
from ledger.store.protocol import WhatIfFigure, WhatIfPlan


class Line(NamedTuple):
    """A figure of one side."""

    pool: str
    account: str
    figure: str
    subject: str
    amount: int


def figure_rows(found: WhatIf, recorded_us: int) -> list[WhatIfFigure]:
    """Every figure of every side, as played at an instant."""
    return [
        WhatIfFigure(
            found.cluster,
            found.from_s,
            found.until_s,
            found.policy,
            side,
            line.pool,
            line.account,
            line.figure,
            line.subject,
            line.amount,
            found.seq,
            recorded_us,
        )
        for side, figures in found.sides.items()
        for line in (*_lines(figures), *(_assumed(found) if side == WITH else ()))
    ]


def _assumed(found: WhatIf) -> tuple[Line, Line]:
    """How much of what was played is guessed."""
    return Line("", "", "played_jobs", "", found.works), Line("", "", "assumed_length_jobs", "", found.unknown)


def plan_rows(found: WhatIf, recorded_us: int) -> list[WhatIfPlan]:
    """Every plan, as played at an instant."""
    return [
        WhatIfPlan(
            found.cluster,
            found.from_s,
            found.until_s,
            found.policy,
            made.plan,
            made.pool,
            made.at_s,
            made.job,
            made.account,
            made.gpus_milli,
            made.rule,
            made.lost_gpu_ms,
            made.why or "open",
            tuple(f"{v.job}/{v.attempt}" for v in made.victims),
            tuple(v.account for v in made.victims),
            tuple(v.class_ for v in made.victims),
            found.seq,
            recorded_us,
        )
        for made in found.plans
    ]


def _lines(figures: Figures) -> Iterator[Line]:
    for (pool, account), line in sorted(figures.accounts.items()):
        yield Line(pool, account, "owed_gpu_ms", "", line.owed)
        yield Line(pool, account, "delivered_gpu_ms", "", line.delivered)
        yield Line(pool, account, "met_gpu_ms", "", line.met)
        yield Line(pool, account, "unfunded_gpu_ms", "", line.unfunded)
    for name, sums in sorted(figures.pools.items()):
        yield Line(name, "", "capacity_gpu_ms", "", sums.capacity)
        yield Line(name, "", "available_gpu_ms", "", sums.available)
        yield Line(name, "", "occupied_gpu_ms", "", sums.occupied)
    for class_, waits in figures.waits.items():
        yield Line("", "", "started_jobs", class_, len(waits.started_s))
        yield Line("", "", "never_started_jobs", class_, waits.never)
        for percent in (50, 90):
            part = waits.part(percent)
            if part is not None:
                yield Line("", "", f"wait_p{percent}_s", class_, part)
    for class_, runs in sorted(figures.preempted.items()):
        yield Line("", "", "preempted_runs", class_, runs)
    for (account, cause), lost in sorted(figures.lost.items()):
        yield Line("", account, "lost_gpu_ms", cause, lost)
