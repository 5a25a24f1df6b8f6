"""What the enforcer does next, as events: steps of open plans, new plans, drains (POLICY §5). Pure.

Plans are made at the last tick, timers run by `now_s`: who carries this out ticks when capacity changed, and at
`next_s`. The events are written, read back, and `due` is asked again; only what was accepted is carried out. While a
run is known to have begun or ended since the tick, no plan is made, and `next_s` is now: a tick has to come first.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from enforcer import drains, steps, writing
from enforcer.gather import snapshots
from enforcer.plan import plan
from enforcer.rules import Rules
from ledger.events import Act
from ledger.events.acts import Mode
from ledger.state import State
from ledger.units import FOREVER_S

PAUSED: Final = "paused"
AT_ONCE: Final = 5
"""Plans of one look in a pool. The next look makes more, and what is due meanwhile does not wait for all of them."""


class Due(NamedTuple):
    """What is to be written now, and when to look again if nothing happens before (None: not by time alone)."""

    acts: list[Act]
    next_s: int | None


def due(state: State, now_s: int, rules: Rules) -> Due:
    """Everything that is due; steps of open plans before new ones, which are made once there are none."""
    carried: list[Act] = []
    for one in state.acts.open():
        carried += steps.next_steps(state, one, now_s)
    times = [at_s for one in state.acts.open() if (at_s := steps.next_due_s(one)) is not None]
    if carried or state.policy_at(now_s).enforcement == PAUSED:
        return Due(carried, min(times, default=None))
    if _moved_on(state):
        return Due([], now_s)
    made, later = _plans(state, now_s, rules)
    return Due(made, min([*times, *later], default=None))


def _moved_on(state: State) -> bool:
    """Whether a run is known to have begun or ended since the tick: a plan of then may cost somebody for nothing."""
    at_s = state.ticked_s
    return any(
        run.start_s > at_s or at_s < run.end_s < FOREVER_S for name in list(state.live) for run in state.read(name).runs
    )


def _plans(state: State, now_s: int, rules: Rules) -> tuple[list[Act], list[int]]:
    """New plans at the last tick, and when those may ask who only have to wait."""
    mode: Mode = "enforce" if state.policy_at(now_s).enforcement == "enforce" else "observe"
    made: list[Act] = []
    later: list[int] = []
    for snapshot in snapshots(state).values():
        emptied = [
            writing.draining(state, snapshot, node, runs, mode, now_s)
            for node, runs in drains.to_leave(state, snapshot)
        ]
        made += emptied
        if emptied and mode == "enforce":  # what they hold must not be planned with: the next look knows better
            continue
        plans, refused = plan(snapshot, rules, AT_ONCE)
        made += [writing.committed(state, snapshot, one, mode, now_s) for one in plans]
        later += [refusal.until_s for refusal in refused if refusal.until_s is not None]
    return made, later
