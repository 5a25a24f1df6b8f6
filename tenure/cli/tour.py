"""What the demo shows once it is there."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import typer

from ledger.state import State
from ledger.store.clickhouse import ClickHouse
from ledger.units import HOUR_S, instant
from tenure import wiring
from tenure.cli import exits, output
from tenure.cli.explain import tell
from tenure.cli.explaining import gather, waiting
from tenure.cli.figures import line_json, lines, team_table, waterfall_table, waterfalls, window
from tenure.cli.text import count, gpu_hours, moment, of_gpus, percent
from tenure.cli.verify import summary, verified

MET: Final = (
    "Met counts hour by hour: what of the owed was delivered in that very hour. Delivered may be more than owed all "
    "the same, because funded work also runs on what is idle beyond its claim."
)
SHOWN: Final = 3


def absences(state: State, from_s: int, until_s: int) -> str:
    """Why the capacity is less than all GPUs for all the time: nodes that were not there; '' where all were."""
    gone: list[str] = []
    milli = 0
    for name, node in sorted(state.nodes.items()):
        stretches = node.stretches(from_s, until_s)
        milli += max(s.gpus_milli for s in stretches)
        gone += [f"{name} from {moment(s.a_s)} to {moment(s.b_s)}" for s in stretches if not s.state]
    if not gone:
        return ""
    whole = (
        f"{of_gpus(milli)} for {count((until_s - from_s) // HOUR_S)} hours are {gpu_hours(milli * (until_s - from_s))}"
    )
    more = f", and {len(gone) - SHOWN} more" if len(gone) > SHOWN else ""
    return f"{whole} GPU-hours; not in the cluster then: {', '.join(gone[:SHOWN])}{more}."


def tour(store: ClickHouse, state: State, preempted: str, place: wiring.Place, *, as_json: bool) -> None:
    """The waterfall, the teams, one preempted job, the book verified, and what to try next."""
    whole = waterfalls(store, state.cluster, state.kept_from_s, state.closed_until_s)
    from_s, until_s = window(state, None)
    teams = lines(store, state, from_s, until_s)
    if as_json:
        output.emit(
            {
                "watermarks": {state.cluster: output.iso(instant(state.ticked_s))},
                "waterfall": whole,
                "accounts": [line_json(line) for line in teams],
            }
        )
        return
    sampled, occupied = sum(w.sampled_gpu_ms for w in whole), sum(w.occupied_gpu_ms for w in whole)
    period = f"{moment(state.kept_from_s)} to {moment(state.closed_until_s)} UTC"
    caption = f"Samples cover {percent(sampled, occupied)} of the occupied time."
    output.show(waterfall_table(whole, f"Where the GPU time of {state.cluster} went, GPU-hours, {period}", caption))
    if missing := absences(state, state.kept_from_s, state.closed_until_s):
        output.tell(missing)
    output.say()
    output.show(team_table(teams, f"Who got what, {moment(from_s)} to {moment(until_s)} UTC, GPU-hours", ""))
    output.tell(MET)
    output.say()
    _explain(store, state, preempted)
    found = verified(store, state.seq)
    output.say(f"verify: {summary(found)}.")
    output.say()
    _next(state, preempted, place)
    if found.errors:
        raise typer.Exit(exits.FINDINGS)


def _explain(store: ClickHouse, state: State, job: str) -> None:
    known = gather(store, state.cluster, job)
    if known is not None:
        output.say("Why one job was stopped", style="bold")
        tell(replace(known, waiting=waiting(state, job)) if known.waits else known)


def _next(state: State, job: str, place: wiring.Place) -> None:
    """What to try, ready to be pasted."""
    tenure = wiring.program()
    where = "" if wiring.is_default(place) else f" --data {place}"
    output.say("Try next", style="bold")
    for command in (
        "accounts",
        "queue",
        f"explain {job}",
        f"shares show {next(iter(state.shares.revisions))[1]}",
        "report --last 7d",
        "what-if --last 7d",
        "sql 'SELECT user, sum(held_gpu_ms) / 3600000 AS gpu_hours FROM report_runs GROUP BY user'",
        "doctor",
    ):
        output.say(f"    {tenure} {command}{where}")
