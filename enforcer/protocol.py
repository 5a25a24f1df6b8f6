"""What the enforcer does next, as events: steps of open plans, new plans, drains and maintenance (POLICY §5). Pure.

Plans are made at the last tick, timers run by `now_s`: who carries this out ticks when capacity changed, and at
`next_s`. The events are written, read back, and `due` is asked again; only what was accepted is carried out. While the
pool is known to be another one than at the tick, no plan is made, and `next_s` is now: a tick has to come first.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from enforcer import drains, steps, windows, writing
from enforcer.gather import snapshots
from enforcer.pace import pace_of
from enforcer.plan import plan
from enforcer.reaction import due_s
from enforcer.rules import Rules, mode_of
from ledger.acts import ENFORCE, PAUSED
from ledger.events import Act
from ledger.state import State
from ledger.units import FOREVER_S

AT_ONCE: Final = 5
"""Plans of one look in a pool. The next look makes more, and what is due meanwhile does not wait for all of them."""


class Due(NamedTuple):
    """What is to be written now, and when to look again if nothing happens before (None: not by time alone).

    `complete`: everybody who asks was looked at, and nobody is left to plan for.
    """

    acts: list[Act]
    next_s: int | None
    complete: bool = False


def due(state: State, now_s: int, rules: Rules) -> Due:
    """Everything that is due; steps of open plans before new ones, which are made once there are none."""
    carried: list[Act] = []
    for one in state.acts.open():
        carried += steps.next_steps(state, one, now_s)
    times = [at_s for one in state.acts.open() if (at_s := steps.next_due_s(state, one, now_s)) is not None]
    if carried or state.policy_at(now_s).enforcement == PAUSED:
        return Due(carried, min(times, default=None), complete=not carried)
    turn_s = _next_turn_s(state, min(rules.delay_s, rules.debug_delay_s))
    if turn_s <= now_s:
        return Due([], now_s)
    made, later = _plans(state, now_s, rules)
    return Due(made, min([*times, *later, *([turn_s] if turn_s < FOREVER_S else [])], default=None), complete=not made)


def _next_turn_s(state: State, delay_s: int) -> int:
    """When the pool will be another one than at the tick, as far as is known: a plan of then may cost somebody for
    nothing, or be late. Who began to wait since then may ask after the shortest delay.
    """
    at_s = state.ticked_s
    found = [*state.edges_in(at_s, FOREVER_S)[:1], *windows.turns_s(state)]
    for name in list(state.live):
        read = state.read(name)
        for run in read.runs:
            found += (run.start_s, run.end_s)
            found += (edge_s for a_s, b_s, _ in run.pauses for edge_s in (a_s, b_s))
        found += (wait.a_s + delay_s for wait in read.waits if wait.asks and wait.a_s > at_s)
    return min((turn_s for turn_s in found if turn_s > at_s), default=FOREVER_S)


def _plans(state: State, now_s: int, rules: Rules) -> tuple[list[Act], list[int]]:
    """New plans at the last tick, and when those may ask who only have to wait."""
    mode = mode_of(state.policy_at(now_s))
    made: list[Act] = []
    later: list[int] = []
    for snapshot in snapshots(state).values():
        pace = pace_of(snapshot, rules)
        emptied = [
            writing.draining(state, snapshot, node, units, mode, now_s)
            for node, units in drains.to_leave(state, snapshot, pace)
        ]
        made += emptied
        if pace.until_s is not None:
            later.append(pace.until_s)
        if emptied and mode == ENFORCE:  # what they hold must not be planned with: the next look knows better
            continue
        plans, refused = plan(snapshot, rules, AT_ONCE)
        made += [writing.committed(state, snapshot, one, mode, now_s, due_s(one, rules)) for one in plans]
        later += [refusal.until_s for refusal in refused if refusal.until_s is not None]
        if made and rules.max_orders_per_hour:  # counted for all pools together, once they are read back
            break
    return made, later
