"""What a book says of a span, in the figures a what-if compares; of the recorded and of every play alike. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from enforcer.gather import lost_gpu_ms
from enforcer.whatif.past import CLASSES, class_under, first_asked_s
from ledger.hours import CHARGED, NODE_FIELD, REFUNDED, UNFUNDED, Sums, owed_gpu_ms
from ledger.runs import PREEMPTED
from ledger.state import State
from ledger.units import HOUR_S

CAUSES: Final = {
    PREEMPTED: "preemption",
    "node_failure": "node_failure",
    "failed": "job_failure",
    "out_of_memory": "job_failure",
    "requeued": "requeue",
}
"""What a run loses its time to, by its outcome, as in report_losses; a hold that was for nothing is no run's."""
HELD: Final = "wasted_hold"
OCCUPIED: Final = ("unfunded", "protected", "interruptible", "suspended")


@dataclass
class Account:
    """A leaf account's hours, GPU-milliseconds; `met` is min(delivered, owed) hour by hour."""

    owed: int = 0
    delivered: int = 0
    met: int = 0
    unfunded: int = 0

    @property
    def period_met(self) -> int:
        """What of the owed was delivered by the end of the span."""
        return min(self.owed, self.delivered)


@dataclass
class Pool:
    """A pool's hours, GPU-milliseconds: what there was, what of it was healthy or in use, what runs held."""

    capacity: int = 0
    available: int = 0
    occupied: int = 0


@dataclass
class Waits:
    """Jobs of a class: how long those waited that started, seconds, ascending; how many never did."""

    started_s: list[int] = field(default_factory=list)
    never: int = 0

    def part(self, percent: int) -> int | None:
        """The wait that so many of a hundred did not exceed, nearest rank; None where nobody started."""
        waits = self.started_s
        return waits[max(0, -(-len(waits) * percent // 100) - 1)] if waits else None


@dataclass
class Figures:
    """All of it. `preempted` counts runs by class, `lost` is by (account, cause)."""

    accounts: dict[tuple[str, str], Account] = field(default_factory=dict)
    pools: dict[str, Pool] = field(default_factory=dict)
    waits: dict[str, Waits] = field(default_factory=dict)
    preempted: Counter[str] = field(default_factory=Counter)
    lost: Counter[tuple[str, str]] = field(default_factory=Counter)


def figures(state: State, from_s: int, until_s: int, classes: Mapping[str, str]) -> Figures:
    """What the book says of [from, until); waits are those of the jobs named in `classes`."""
    found = Figures(waits={name: Waits() for name in CLASSES})
    for hour_s in range(from_s, until_s, HOUR_S):
        _add_hour(found, state, hour_s)
    for name in list(state.jobs):
        _add_losses(found, state, name, from_s, until_s)
    for plan in state.acts.plans.values():
        if plan.expired is not None and plan.made.asker is not None and from_s <= plan.expired.at_s < until_s:
            found.lost[plan.made.asker.account, HELD] += plan.expired.wasted_gpu_ms
    for name, class_ in classes.items():
        _add_wait(found.waits[class_], state, name, until_s)
    for waits in found.waits.values():
        waits.started_s.sort()
    found.lost = Counter({key: found.lost[key] for key in sorted(found.lost) if found.lost[key]})
    return found


def _add_hour(found: Figures, state: State, hour_s: int) -> None:
    """One hour; what corrections took all of leaves no line, as it leaves none in a book that is read back."""
    for name, pool in state.hours.get(hour_s, {}).items():
        if any(pool.nodes):
            _add_nodes(found.pools.setdefault(name, Pool()), pool.nodes)
        for account, of in pool.accounts.items():
            owed, delivered = owed_gpu_ms(of), of[CHARGED] - of[REFUNDED]
            if owed or delivered or of[UNFUNDED]:
                line = found.accounts.setdefault((name, account), Account())
                line.owed += owed
                line.delivered += delivered
                line.met += min(owed, delivered)
                line.unfunded += of[UNFUNDED]


def _add_nodes(sums: Pool, nodes: Sums) -> None:
    capacity = nodes[NODE_FIELD["capacity"]]
    sums.capacity += capacity
    sums.available += capacity - nodes[NODE_FIELD["planned"]] - nodes[NODE_FIELD["unplanned"]]
    sums.occupied += sum(nodes[NODE_FIELD[class_]] for class_ in OCCUPIED)


def _add_losses(found: Figures, state: State, name: str, from_s: int, until_s: int) -> None:
    for run in state.read(name).runs:
        cause = CAUSES.get(run.outcome)
        if cause is None or not from_s <= run.end_s < until_s:
            continue
        account = run.account if run.funded else run.terms.account
        found.lost[account, cause] += lost_gpu_ms(run, run.end_s)
        if run.outcome == PREEMPTED:
            found.preempted[class_under(run.terms, funded=run.funded)] += 1


def _add_wait(waits: Waits, state: State, name: str, until_s: int) -> None:
    """From when it could first start until it did; one that did only after the span never did."""
    derived = state.read(name) if name in state.jobs else None
    runs = derived.runs if derived is not None else ()
    if derived is None or not runs or runs[0].start_s >= until_s:
        waits.never += 1
        return
    since_s = first_asked_s(derived)
    assert since_s is not None
    waits.started_s.append(runs[0].start_s - since_s)
