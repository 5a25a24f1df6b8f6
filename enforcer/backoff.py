"""How long a job waits before it is planned for again: after failed plans, and preemptions of unfunded runs. Pure.

1, 2, 4 … 60 minutes (POLICY §3, G6); two hours of running make good what was before.
"""

from __future__ import annotations

from typing import Final

from ledger.runs import PREEMPTED, DerivedRun, ran_s
from ledger.state import State
from ledger.units import HOUR_S

FAILED: Final = frozenset({"hold_expired", "refused", "taken"})
"""Why a plan is over that made room for nobody."""
FIRST_S: Final = 60
LONGEST_S: Final = HOUR_S
RESET_S: Final = 2 * HOUR_S


def not_before_s(state: State, job: str) -> int:
    """Until when a job is held back; 0 where it is not."""
    runs = state.read(job).runs
    if not runs and not state.acts.of_asker(job):
        return 0
    since_s = _made_good_s(runs, state.ticked_s)
    over = [plan.expired for plan in state.acts.of_asker(job) if plan.enforces and plan.expired is not None]
    failed = [one.at_s for one in over if one.why in FAILED and one.at_s >= since_s]
    yielded = [
        run.end_s
        for run in runs
        if not run.funded and run.outcome == PREEMPTED and since_s <= run.end_s <= state.ticked_s
    ]
    return max(_until_s(failed), _until_s(yielded))


def _until_s(instants: list[int]) -> int:
    """The end of the wait after so many, counted from the last."""
    return max(instants) + min(FIRST_S << min(len(instants) - 1, 10), LONGEST_S) if instants else 0


def _made_good_s(runs: tuple[DerivedRun, ...], at_s: int) -> int:
    """The end of the last run that ran for long, or now while it does; 0 where none did."""
    return max((min(run.end_s, at_s) for run in runs if ran_s(run, min(run.end_s, at_s)) >= RESET_S), default=0)
