"""`tenure queue`: who is next, and why."""

from __future__ import annotations

from typing import Annotated, Final

import typer
from rich.table import Table

from ledger.ranking import Ranked
from ledger.runs import UNFUNDED
from ledger.standing import REASONS, QueueEntry
from ledger.standing import queue as queued
from tenure.cli import options, output
from tenure.cli.desk import reading
from tenure.cli.figures import ratio_json
from tenure.cli.text import NONE, below_root, count, duration, gpus, plural, ratio
from tenure.cli.why import FUNDING

LIMIT: Final = 30


def queue(
    limit: Annotated[int, typer.Option("--limit", min=1, help="Jobs of a pool to show.")] = LIMIT,
    account: Annotated[str | None, typer.Option("--account", metavar="PATH", help="It and all below it.")] = None,
    cluster: options.Cluster = None,
    pool: options.Pool = None,
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Show the pending jobs in the order of their rank, with the ratios they are ranked by."""
    with reading(data, config) as desk:
        name = desk.cluster(cluster)
        state = desk.state(name)
        entries = [e for e in queued(state) if (pool is None or e.pool == pool) and _below(e, account)]
        watermarks, caption, at_s = desk.watermarks(), desk.as_of(name), state.ticked_s
    if as_json:
        jobs = [entry_json(entry) for entry in entries]
        output.emit({"watermarks": watermarks, "cluster": name, "queue": jobs, "reasons": dict(REASONS)})
        return
    for shown in sorted({e.pool for e in entries}):
        here = [e for e in entries if e.pool == shown]
        title = f"{name}, {shown or 'no pool'}: {plural(len(here), 'job')} waiting, best claim first"
        output.show(_table(here[:limit], title, at_s))
        if len(here) > limit:
            output.say(f"… and {count(len(here) - limit)} more: --limit shows them.")
        output.say()
    for reason in sorted({why(e) for e in entries}):
        output.wrapped(f"{reason}: ", f"{REASONS.get(reason) or FUNDING[reason]}.")
    output.tell(f"ρ from the root down, the lower goes first. {caption}" if entries else f"Nobody waits. {caption}")


def _below(entry: QueueEntry, account: str | None) -> bool:
    asked = entry.terms.account
    return account is None or asked == account or asked.startswith(f"{account}/")


def _table(entries: list[QueueEntry], title: str, at_s: int) -> Table:
    made = output.table(title, ">Rank", "*Job", "~Account", ">GPUs", ">Contract", ">Waits", "*ρ on its path", "*Why")
    for entry in entries:
        output.fill(
            made,
            [
                [
                    str(entry.ranked.position) if entry.ranked else NONE,
                    entry.job.job,
                    below_root(entry.terms.account),
                    gpus(entry.job.gpus_milli),
                    duration(entry.job.min_runtime_s) if entry.job.min_runtime_s else NONE,
                    duration(max(0, at_s - entry.since_s)),
                    path_text(entry.ranked),
                    why(entry),
                ]
            ],
        )
    return made


def path_text(ranked: Ranked | None) -> str:
    """ρ from the root down; a dash for work without a claim."""
    if ranked is None or not ranked.path:
        return NONE
    return " › ".join(ratio(value) for _, value in ranked.path)


def why(entry: QueueEntry) -> str:
    """Why it waits, by name; for unfunded work in line, why no budget pays."""
    return entry.funding_reason if entry.reason == UNFUNDED else entry.reason


def entry_json(entry: QueueEntry) -> output.Report:
    """A queued job for programs."""
    path = entry.ranked.path if entry.ranked else ()
    return {
        "pool": entry.pool,
        "job": entry.job.job,
        "user": entry.terms.user,
        "account": entry.terms.account,
        "position": entry.ranked.position if entry.ranked else None,
        "tie_group": entry.ranked.tie_group if entry.ranked else None,
        "gpus_milli": entry.job.gpus_milli,
        "min_runtime_s": entry.job.min_runtime_s,
        "priority": entry.job.priority,
        "submitted_at": output.iso_s(entry.job.submitted_s),
        "waiting_since": output.iso_s(entry.since_s),
        "eligible_at": output.iso_s(entry.eligible_s),
        "reason": entry.reason,
        "reason_sentence": REASONS[entry.reason],
        "funding_reason": entry.funding_reason,
        "funding_sentence": FUNDING.get(entry.funding_reason, ""),
        "path": [{"account": account, "ratio": ratio_json(value)} for account, value in path],
        "slots": [
            {"account": s.account, "running_milli": s.running_milli, "limit_milli": s.limit_milli} for s in entry.slots
        ],
    }
