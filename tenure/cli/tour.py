"""What the demo shows once it is there."""

from __future__ import annotations

from ledger.state import State
from ledger.store.clickhouse import ClickHouse
from ledger.units import instant
from tenure import wiring
from tenure.cli import output
from tenure.cli.figures import line_json, lines, team_table, waterfall_table, waterfalls, window
from tenure.cli.text import moment, percent


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
    output.say(f"Next: tenure explain {preempted} --data {place}")
