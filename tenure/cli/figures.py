"""The figures several commands show: the waterfall, and where every account stands in the window."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from rich.table import Table

from ledger.ranking import Decay, Ratio
from ledger.standing import standing, weighting
from ledger.state import State
from ledger.store.protocol import Store, Value
from ledger.tree import OWN_PART
from ledger.units import HOUR_S, hour_floor_s
from tenure.cli import output
from tenure.cli.queries import read
from tenure.cli.text import gpu_hours, moment, percent, ratio

BAR: Final = 24
"""Blocks of a full bar."""


def number(value: Value) -> int:
    """An integer of a result; an absent one is 0."""
    return int(str(value)) if value is not None else 0


# ---------------------------------------------------------------- the waterfall


@dataclass(frozen=True, slots=True)
class Waterfall:
    """GPU-milliseconds of a pool over a period, each step a part of the one before; `sampled` of `occupied`."""

    pool: str
    capacity_gpu_ms: int
    available_gpu_ms: int
    occupied_gpu_ms: int
    funded_gpu_ms: int
    utilized_gpu_ms: int
    sampled_gpu_ms: int
    overbooked_gpu_ms: int


def waterfalls(store: Store, cluster: str, from_s: int, until_s: int) -> list[Waterfall]:
    """By pool, over closed hours."""
    found = store.query(read("waterfall"), {"cluster": cluster, "from_s": from_s, "until_s": until_s})
    return [Waterfall(str(row[0]), *(number(v) for v in row[1:])) for row in found.rows]


def total(parts: Iterable[Waterfall]) -> Waterfall:
    """All pools together."""
    rows = [(w.capacity_gpu_ms, w.available_gpu_ms, w.occupied_gpu_ms, w.funded_gpu_ms) for w in parts]
    rest = [(w.utilized_gpu_ms, w.sampled_gpu_ms, w.overbooked_gpu_ms) for w in parts]
    return Waterfall("all", *map(sum, zip(*rows, strict=True)), *map(sum, zip(*rest, strict=True)))


def waterfall_table(parts: list[Waterfall], title: str, caption: str) -> Table:
    """A step per row, a column per pool, and how much of the capacity it is."""
    shown = [*parts, total(parts)] if len(parts) > 1 else parts
    names = [f">{w.pool}" for w in shown]
    made = output.table(title, "Step", *names, ">Of capacity", "*", caption=caption)
    last = shown[-1]
    for label, field in (
        ("capacity", "capacity_gpu_ms"),
        ("available", "available_gpu_ms"),
        ("occupied", "occupied_gpu_ms"),
        ("funded", "funded_gpu_ms"),
        ("utilized (sampled)", "utilized_gpu_ms"),
    ):
        of_last = int(getattr(last, field))
        bar = "█" * round(BAR * of_last / last.capacity_gpu_ms) if last.capacity_gpu_ms else ""
        cells = [gpu_hours(int(getattr(w, field))) for w in shown]
        output.fill(made, [[label, *cells, percent(of_last, last.capacity_gpu_ms), bar]])
    return made


# ---------------------------------------------------------------- accounts


class Line(NamedTuple):
    """An account of a pool over a window of closed hours, and its ρ at the last tick."""

    account: str
    pool: str
    claim_gpu_ms: int
    grant_gpu_ms: int
    owed_gpu_ms: int
    charged_gpu_ms: int
    refunded_gpu_ms: int
    delivered_gpu_ms: int
    met_gpu_ms: int
    unfunded_gpu_ms: int
    ratio: Ratio | None

    @property
    def depth(self) -> int:
        """How far below the root."""
        return self.account.count("/")


FIELDS: Final = Line._fields[2:-1]


def window_h(state: State) -> int:
    """The hours a window looks back; with a half-life, two of them."""
    how = weighting(state)
    return 2 * how.half_life_h if isinstance(how, Decay) else how.window_h


def window(state: State, days: int | None) -> tuple[int, int]:
    """[from, until) of the closed hours of so many days, or of the ranking's window, up to the last tick."""
    hours = 24 * days if days is not None else window_h(state)
    until_s = state.closed_until_s
    return max(hour_floor_s(state.ticked_s) - hours * HOUR_S, state.opens_s or 0), until_s


def lines(store: Store, state: State, from_s: int, until_s: int) -> list[Line]:
    """Every account with a claim or with something booked, by pool, in the order of the tree."""
    period: dict[str, Value] = {"from_s": from_s, "until_s": until_s, "known_at_s": state.recorded_s}
    found = store.query("statement_account_hours", {**period, "cluster": state.cluster, "account": ""}).dicts()
    booked = {(str(r["pool"]), str(r["account"])): {f: number(r[f]) for f in FIELDS} for r in found}
    ratios = {
        pool: standing(state, pool) for pool in sorted({*state.health_at(state.ticked_s), *(p for p, _ in booked)})
    }
    keys = booked.keys() | {(pool, account) for pool, known in ratios.items() for account in known}
    empty = dict.fromkeys(FIELDS, 0)
    made = [
        Line(account=account, pool=pool, ratio=ratios[pool].get(account), **booked.get((pool, account), empty))
        for pool, account in keys
    ]
    return sorted((line for line in made if line.ratio is not None or any(line[2:-1])), key=order)


def without_gpus(state: State) -> str:
    """That no node has a GPU at the last tick, or that there was none, and what to do; '' where one has."""
    if not state.ticked_s:
        return f"{state.cluster}: nothing is closed yet, so nobody has a claim: hours close with the jobs brought in"
    if state.health_at(state.ticked_s):
        return ""
    return (
        f"{state.cluster}: no GPUs are known at {moment(state.ticked_s)} UTC, so nobody has a claim there: bring in "
        "the cluster's nodes (a node list beside its jobs, docs/importing.md)"
    )


def order(line: Line) -> tuple[str, list[str]]:
    """By pool, then depth first through the tree, an own part before its siblings, work of no account last."""
    return line.pool, path_order(line.account)


def path_order(account: str) -> list[str]:
    """Sorts paths depth first, an own part before its siblings and no account last."""
    return [part if part != OWN_PART else "" for part in account.split("/")] if account else ["~"]


def indented(account: str) -> str:
    """The last part of a path, indented by its depth: how a tree looks in a table."""
    if not account:
        return "(no account)"
    name = account.rpartition("/")[2]
    return "  " * account.count("/") + (f"{name} (own part)" if name == OWN_PART else name)


def together(found: list[Line]) -> list[tuple[Line, dict[str, Ratio | None]]]:
    """Each account once: its amounts summed over the pools, its ρ by pool."""
    by_account: dict[str, list[Line]] = {}
    for line in found:
        by_account.setdefault(line.account, []).append(line)
    merged = []
    for account, parts in by_account.items():
        sums = {field: sum(int(getattr(p, field)) for p in parts) for field in FIELDS}
        merged.append((Line(account=account, pool="", ratio=None, **sums), {p.pool: p.ratio for p in parts}))
    return sorted(merged, key=lambda pair: order(pair[0]))


def team_table(found: list[Line], title: str, caption: str) -> Table:
    """Claim, owed and delivered of every account over all pools, and its ρ in each."""
    pools = sorted({line.pool for line in found if line.ratio is not None})
    made = output.table(
        title, "*Account", ">Claim", ">Owed", ">Delivered", ">Met", *(f">ρ {p}" for p in pools), caption=caption
    )
    for line, ratios in together(found):
        amounts = (line.claim_gpu_ms + line.grant_gpu_ms, line.owed_gpu_ms, line.delivered_gpu_ms)
        if not any(amounts):
            continue
        met = percent(line.met_gpu_ms, line.owed_gpu_ms)
        cells = [indented(line.account), *(gpu_hours(a) for a in amounts), met, *(ratio(ratios.get(p)) for p in pools)]
        output.fill(made, [cells])
    return made


def line_json(line: Line) -> output.Report:
    """An account for programs."""
    made: output.Report = {"pool": line.pool, "account": line.account}
    made |= {field: getattr(line, field) for field in FIELDS}
    return made | {"ratio": ratio_json(line.ratio)}


def ratio_json(value: Ratio | None) -> output.Report | None:
    """ρ exactly, and as a float for display; null for infinity."""
    if value is None:
        return None
    shown = value.display()
    return {
        "used_gpu_ms": value.used_gpu_ms,
        "committed_gpu_ms": value.committed_gpu_ms,
        "claim_gpu_ms": value.claim_gpu_ms,
        "display": None if shown == float("inf") else shown,
    }
