"""`tenure jobs`: the jobs there are."""

from __future__ import annotations

from typing import Annotated, Final, Literal, get_args

import typer

from ledger.events.jobs import JobKind, Outcome
from ledger.store.protocol import Value
from ledger.units import epoch_s
from tenure.cli import exits, instants, options, output
from tenure.cli.desk import reading
from tenure.cli.figures import number
from tenure.cli.queries import read
from tenure.cli.text import NONE, below_root, duration, gpu_hours, gpus, plural

LIMIT: Final = 40
JobState = Literal["pending", "held", "running", "ended"]
RunClass = Literal["unfunded", "protected", "interruptible"]
Row = dict[str, Value]


def jobs(
    state: Annotated[str, typer.Option("--state", help=", ".join(get_args(JobState)))] = "",
    outcome: Annotated[str, typer.Option("--outcome", help="How they ended: preempted, failed …")] = "",
    class_: Annotated[str, typer.Option("--class", help=", ".join(get_args(RunClass)))] = "",
    kind: Annotated[str, typer.Option("--kind", help=", ".join(get_args(JobKind)))] = "",
    account: Annotated[str, typer.Option("--account", metavar="PATH", help="It and all below it.")] = "",
    user: Annotated[str, typer.Option("--user", metavar="NAME", help="Only theirs.")] = "",
    since: Annotated[str, typer.Option("--since", metavar="TIME", help="Not ended before, UTC.")] = "",
    until: Annotated[str, typer.Option("--until", metavar="TIME", help="Submitted before, UTC.")] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, help="Rows at most.")] = LIMIT,
    cluster: options.Cluster = None,
    pool: options.Pool = None,
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """List jobs, the latest submitted first."""
    _check("--state", state, get_args(JobState))
    _check("--outcome", outcome, get_args(Outcome))
    _check("--class", class_, get_args(RunClass))
    _check("--kind", kind, get_args(JobKind))
    wanted: Row = {"state": state, "outcome": outcome, "class": class_, "kind": kind, "account": account, "user": user}
    wanted["since_s"] = epoch_s(instants.parsed(since, "--since")) if since else 0
    wanted["until_s"] = epoch_s(instants.parsed(until, "--until")) if until else 0
    with reading(data, config) as desk:
        name = desk.cluster(cluster)
        wanted |= {"cluster": name, "pool": pool or "", "limit": limit + 1}
        found = desk.store.query(read("jobs"), wanted).dicts()
        watermarks, caption = desk.watermarks(), desk.as_of(name)
    shown = found[:limit]
    if as_json:
        more = len(found) > limit
        output.emit({"watermarks": watermarks, "cluster": name, "jobs": shown, "truncated": more})
        return
    title = f"{name}: {plural(len(shown), 'job')}, the latest first"
    columns = ("*Job", "~User", "~Account", ">GPUs", "*State", "*Class", "*Submitted", ">Ran", ">GPU-h")
    output.show(output.fill(output.table(title, *columns), map(_cells, shown)))
    output.tell(f"{'There are more: --limit shows them. ' if len(found) > limit else ''}{caption}")


def _check(option: str, value: str, known: tuple[str, ...]) -> None:
    if value and value not in known:
        raise exits.Stop(f"{option} {value!r} is none of {', '.join(known)}")


def _cells(row: Row) -> list[str]:
    state = str(row["outcome"]) if row["state"] == "ended" else str(row["state"])
    submitted = row["submitted_at"]
    return [
        str(row["job"]),
        str(row["user"]),
        below_root(str(row["account"])),
        gpus(number(row["gpus_milli"])),
        state,
        str(row["class"] or NONE),
        f"{submitted:%m-%d %H:%M}" if submitted is not None else NONE,
        duration(number(row["elapsed_s"])) if row["elapsed_s"] is not None else NONE,
        gpu_hours(number(row["held_gpu_ms"])),
    ]
