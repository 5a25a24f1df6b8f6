"""The facts of what the enforcer did: plans with their registers, and what may be done next under them. Pure.

Plans are taken in log order, and the first wins: whoever wrote it, one enforcer acts. An order to a run is kept at the
run (`ledger.jobs.Attempt.orders`), for it changes how the run reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from ledger.outcomes import Refused

ENFORCE: Final = "enforce"
OBSERVE: Final = "observe"
PAUSED: Final = "paused"

RunName = tuple[str, str]
"""(job, attempt)."""


class Victim(NamedTuple):
    """A run a plan orders off. `account` is '' where no budget pays for it."""

    job: str
    attempt: str
    account: str
    class_: str
    rule: str
    gpus_milli: int
    lost_gpu_ms: int
    resumable: bool

    @property
    def run(self) -> RunName:
        """Its name."""
        return self.job, self.attempt


class PlanAsker(NamedTuple):
    """For whom room is made."""

    job: str
    account: str
    pieces: int
    piece_milli: int
    min_runtime_s: int
    apart: bool


class Commitment(NamedTuple):
    """What was decided, `seq` and `at_s` those of the facts it was made of; `committed_s` is when it was written.

    `reaction_ms` is how long after it could have been; None where nobody said.
    """

    plan: str
    pool: str
    purpose: str
    mode: str
    seq: int
    at_s: int
    committed_s: int
    asker: PlanAsker | None
    victims: tuple[Victim, ...]
    hosts: tuple[tuple[str, int], ...]
    rule: str
    grace_s: int
    hold_s: int
    reaction_ms: int | None = None


class Issued(NamedTuple):
    """The run was ordered off."""

    at_s: int
    how: str
    grace_s: int


class Settled(NamedTuple):
    """What came of the order."""

    at_s: int
    outcome: str
    sentence: str


class Held(NamedTuple):
    """Room is kept for the asker."""

    at_s: int
    until_s: int
    handle: str
    nodes: tuple[tuple[str, int], ...]


class Expired(NamedTuple):
    """The plan is over."""

    at_s: int
    why: str
    wasted_gpu_ms: int
    sentence: str


@dataclass(slots=True)
class Plan:
    """A plan and how far it is carried out; `told` is (sentences, detail), kept while it is open.

    `expired_seq` is the number of events that had changed facts once it was over.
    """

    made: Commitment
    told: tuple[tuple[str, ...], str] = ((), "")
    issued: dict[RunName, Issued] = field(default_factory=dict)
    settled: dict[RunName, Settled] = field(default_factory=dict)
    held: Held | None = None
    expired: Expired | None = None
    expired_seq: int = 0

    @property
    def enforces(self) -> bool:
        """Whether it is to be carried out, and not only told."""
        return self.made.mode == ENFORCE

    def victim(self, run: RunName) -> Victim | None:
        """The run as the plan names it."""
        return next((v for v in self.made.victims if v.run == run), None)

    def record(self) -> tuple[Any, ...]:
        """Canonical record."""
        issued = [(run, self.issued[run]) for run in sorted(self.issued)]
        settled = [(run, self.settled[run]) for run in sorted(self.settled)]
        made = self.made if self.made.reaction_ms is not None else self.made[:-1]  # as before there was one
        return ("plan", made, self.told, issued, settled, self.held, self.expired)


@dataclass(slots=True)
class Acts:
    """Every plan of a cluster still kept, by name, in log order; `refused` are ids that count no more, with when."""

    plans: dict[str, Plan] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    _open: dict[str, Plan] = field(default_factory=dict)
    _of_asker: dict[str, list[Plan]] = field(default_factory=dict)

    def open(self) -> Iterator[Plan]:
        """Plans that are not over, in log order."""
        yield from self._open.values()

    def of_asker(self, job: str) -> list[Plan]:
        """The plans made for a job, in log order."""
        return self._of_asker.get(job, [])

    def open_for(self, job: str) -> Plan | None:
        """The plan that is being carried out, or observed, for a job."""
        return next((plan for plan in reversed(self.of_asker(job)) if plan.expired is None), None)

    def ordering(self, run: RunName) -> Plan | None:
        """The open plan by which a run has to leave."""
        return next((p for p in self._open.values() if p.enforces and p.victim(run) is not None), None)

    def put(self, plan: Plan) -> None:
        """One more plan."""
        name, asker = plan.made.plan, plan.made.asker
        self.plans[name] = plan
        if plan.expired is None:
            self._open[name] = plan
        if asker is not None:
            self._of_asker.setdefault(asker.job, []).append(plan)

    def expire(self, plan: Plan, expired: Expired, seq: int) -> None:
        """The plan is over; its words are told and need not be kept."""
        plan.expired, plan.expired_seq, plan.told = expired, seq, ((), "")
        del self._open[plan.made.plan]

    def forget_before(self, horizon_s: int) -> list[str]:
        """Let go of plans that were over before an instant; returns their names."""
        for event_id in [event_id for event_id, at_s in self.refused.items() if at_s < horizon_s]:
            del self.refused[event_id]
        gone = [n for n, p in self.plans.items() if p.expired is not None and p.expired.at_s < horizon_s]
        for name in gone:
            asker = self.plans.pop(name).made.asker
            if asker is not None:
                left = [p for p in self._of_asker[asker.job] if p.made.plan != name]
                self._of_asker[asker.job] = left
                if not left:
                    del self._of_asker[asker.job]
        return gone

    # -- what may be done next

    def judge_plan(self, made: Commitment) -> Refused | None:
        """Why a plan cannot be taken: somebody was faster, or it was made of facts that no longer hold."""
        asker = made.asker
        if asker is not None and (known := self.open_for(asker.job)) is not None:
            sentence = f"{asker.job} has the open plan {known.made.plan}; wait until that is over"
            return Refused("already_planned", sentence)
        for victim in made.victims:
            known = self.ordering(victim.run)
            if known is not None:
                return Refused(
                    "already_ordered",
                    f"{victim.job}/{victim.attempt} has to leave by plan {known.made.plan} already; "
                    "plan anew without it",
                )
        last = self.of_asker(asker.job)[-1:] if asker is not None else []
        if any(made.seq < plan.expired_seq for plan in last):
            return Refused(
                "stale_plan",
                f"it was made after {made.seq} events, and {last[0].made.plan} was over after {last[0].expired_seq}; "
                "plan anew from the present facts",
            )
        return None

    def judge_step(self, name: str, run: RunName | None, *, touches: bool) -> Refused | Plan:
        """The plan under which a step is taken, or why it cannot be. `touches`: runs or nodes are touched by it."""
        plan = self.plans.get(name)
        if plan is None:
            return Refused("unknown_plan", f"no plan {name} was accepted, or it is long over; commit a plan first")
        if run is not None and plan.victim(run) is None:
            return Refused("not_a_victim", f"plan {name} does not name {run[0]}/{run[1]}; commit a plan that does")
        if touches and not plan.enforces:
            return Refused("plan_closed", f"plan {name} only observes, so nothing is touched by it")
        if touches and plan.expired is not None:
            return Refused("plan_closed", f"plan {name} is over ({plan.expired.why}), so nothing is touched by it")
        return plan
