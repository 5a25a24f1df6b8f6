"""What the demo shows once it is there."""

from __future__ import annotations

from dataclasses import replace

import typer

from ledger.state import State
from ledger.store.clickhouse import ClickHouse
from ledger.units import instant
from tenure import wiring
from tenure.cli import exits, output
from tenure.cli.explain import tell
from tenure.cli.explaining import gather, waiting
from tenure.cli.figures import line_json, lines, team_table, waterfall_table, waterfalls, window
from tenure.cli.text import moment, percent
from tenure.cli.verify import summary, verified


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
    output.say()
    output.show(team_table(teams, f"Who got what, {moment(from_s)} to {moment(until_s)} UTC, GPU-hours", ""))
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
    where = "" if wiring.is_default(place) else f" --data {place}"
    output.say("Try next", style="bold")
    for command in (
        "tenure accounts",
        "tenure queue",
        f"tenure explain {job}",
        f"tenure shares show {next(iter(state.shares.revisions))[1]}",
        "tenure report --last 7d",
        "tenure sql 'SELECT user, sum(held_gpu_ms) / 3600000 AS gpu_hours FROM report_runs GROUP BY user'",
        "tenure doctor",
    ):
        output.say(f"    {command}{where}")
