"""One cluster's enforcer: says what is to be written to the log, and carries out what it reads back from there.

Nothing is touched but what the log has accepted, so whoever owns the cluster's partition may change at any time: the
next one finds the same open plans and goes on. Every call to a scheduler may be made again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from enforcer import writing
from enforcer.orders import ACCEPTED, GONE, LEFT, REFUSED, UNREACHABLE, Actuator, Hold, Order, Outcome
from enforcer.protocol import due
from enforcer.reaction import Passes
from enforcer.rules import rules_of
from enforcer.steps import graced_s, runs_on
from ledger.acts import ENFORCE, Issued, Plan, RunName
from ledger.events import Act, CapacityHeld, PlanCommitted
from ledger.state import State
from ledger.units import HOUR_S, epoch_s, instant_ms

LOG: Final = logging.getLogger(__name__)
FOLLOWED_S: Final = HOUR_S
"""So long after a plan is over its scheduler is asked whether those it ordered off left: some requeue only then."""
READ_BACK_S: Final = 10
"""After so long what was written and did not come back is written again, under the same id."""
AGAIN_S: Final = 5
"""Between two calls to a scheduler that did not answer, or to kill what is still there."""


class Look(NamedTuple):
    """What is to be written now, whether a tick has to come first, and when to look again (None: when something comes).

    With acts in it, look again as soon as they were read back.
    """

    acts: list[Act]
    tick: bool
    next_s: int | None


@dataclass(slots=True)
class Told:
    """What a scheduler was told of a run."""

    again_s: int
    accepted: bool = False
    left: bool = False


@dataclass(slots=True)
class Enforcer:
    """Over an actuator. What it remembers spares calls and is never needed: a new one makes them again."""

    actuator: Actuator
    _written: dict[str, int] = field(default_factory=dict)
    _told: dict[tuple[str, RunName], Told] = field(default_factory=dict)
    _handles: dict[str, str] = field(default_factory=dict)
    """Of holds made and not let go of, by plan; '' where the scheduler could not hold."""
    _let_go: set[str] = field(default_factory=set)
    _passes: Passes = field(default_factory=Passes)
    _idle: tuple[int, int | None] | None = None
    """After so many events nothing was due, until then."""

    def look(self, state: State, now_ms: int) -> Look:
        """Carry out the open plans as far as they go, and say what is due. Blocks while a scheduler answers."""
        now_s = now_ms // 1000
        self._passes.begin(state, now_ms)
        if self._idle is not None and self._idle[0] == state.seq and (self._idle[1] is None or now_s < self._idle[1]):
            return Look([], tick=False, next_s=self._idle[1])
        look = self._look(state, now_s)
        self._idle = None if look.acts or look.tick else (state.seq, look.next_s)
        return look

    def _look(self, state: State, now_s: int) -> Look:
        acts = list(self._carried_out(state, now_s))
        self._release(state, now_s)
        found = due(state, now_s, rules_of(state.policy_at(now_s)))
        acts += [self._filled_in(state, act) for act in found.acts]
        if found.complete:
            self._passes.end(state)
        new = [act for act in acts if self._written.get(act.id, -READ_BACK_S) + READ_BACK_S <= now_s]
        self._written = {id_: at_s for id_, at_s in self._written.items() if at_s + READ_BACK_S > now_s}
        self._written.update(dict.fromkeys((act.id for act in new), now_s))
        tick = not acts and found.next_s is not None and found.next_s <= now_s and state.ticked_s < now_s
        times = [max(told.again_s, now_s + 1) for told in self._told.values() if not told.left] + (
            [found.next_s] if found.next_s is not None else []
        )
        if len(new) < len(acts):  # written, and not read back yet
            times.append(now_s + 1)
        return Look(new, tick, min(times, default=None))

    # ------------------------------------------------------------ orders

    def _carried_out(self, state: State, now_s: int) -> Iterator[Act]:
        """Orders that were read back, to the scheduler; what it refuses is to be written.

        Nobody is told to leave, and no force is used, while enforcement is off or paused. A scheduler that does not
        answer is left alone until the next look, lest all the others be waited for as well.
        """
        enforced = state.policy_at(now_s).enforcement == ENFORCE
        orders = {(plan.made.plan, run): (plan, order) for plan, run, order in _followed(state, now_s)}
        self._told = {key: self._told.get(key) or Told(now_s) for key in orders}
        for (name, run), (plan, order) in orders.items():
            told = self._told[name, run]
            if told.left or now_s < told.again_s:
                continue
            named = _order(state.cluster, plan, run, order)
            ended = run in plan.settled or not runs_on(state, run, now_s)
            if plan.expired is not None or ended or told.accepted:
                forced = enforced and plan.expired is None and not ended
                outcome = self._see_off(named, told, graced_s(state, order, now_s), now_s, forced=forced)
                if plan.expired is not None:  # who does not say so at once is asked ever less often
                    told.again_s = max(told.again_s, 2 * now_s - plan.expired.at_s)
            elif not enforced:
                continue
            else:
                self._hold(state.cluster, plan, order.at_s + order.grace_s + plan.made.hold_s)
                outcome = self.actuator.preempt(named)
                told.accepted = outcome.name in {ACCEPTED, GONE}
                told.again_s = now_s + AGAIN_S
                if outcome.name == REFUSED:
                    yield writing.settled(state, plan, run, "refused", outcome.sentence, now_s)
            if outcome.name == UNREACHABLE:
                break

    def _see_off(self, order: Order, told: Told, graced_s: int, now_s: int, *, forced: bool) -> Outcome:
        """Ask until the scheduler says that it left, which some only carry through then; force it after its grace."""
        told.again_s = min(now_s + AGAIN_S, graced_s) if now_s < graced_s else now_s + AGAIN_S
        outcome = self.actuator.left(order)
        told.left = outcome.name == LEFT
        return self.actuator.kill(order) if forced and not told.left and now_s >= graced_s else outcome

    # ------------------------------------------------------------ room

    def _hold(self, cluster: str, plan: Plan, until_s: int) -> None:
        """Before anybody leaves, lest somebody slip in between; again after a restart. Some schedulers cannot."""
        made = plan.made
        if made.asker is not None and made.plan not in self._handles:
            outcome, handle = self.actuator.hold(Hold(cluster, made.plan, made.asker.job, made.hosts, until_s))
            if outcome.name != UNREACHABLE:
                self._handles[made.plan] = handle if outcome.name == ACCEPTED else ""
            if outcome.name == REFUSED:
                LOG.warning("%s, plan %s: its room is kept from nobody. %s", cluster, made.plan, outcome.sentence)

    def _filled_in(self, state: State, act: Act) -> Act:
        """A hold is written with the name the scheduler has for it, a plan with when it was due."""
        if isinstance(act, PlanCommitted):
            ready_s = epoch_s(act.data.due or act.data.at)
            due = instant_ms(self._passes.due_ms(ready_s, epoch_s(act.data.at)))
            return act.model_copy(update={"data": act.data.model_copy(update={"due": due})})
        if not isinstance(act, CapacityHeld):
            return act
        self._hold(state.cluster, state.acts.plans[act.data.plan], epoch_s(act.data.until))
        handle = self._handles.get(act.data.plan, "")
        return act.model_copy(update={"data": act.data.model_copy(update={"handle": handle})})

    def _release(self, state: State, now_s: int) -> None:
        """Room kept under plans that are over: what this enforcer made, and what one before it wrote down."""
        plans = state.acts.plans
        over = {name for name in self._handles if name not in plans or plans[name].expired is not None}
        for name, plan in plans.items():
            held = plan.held
            if plan.expired is not None and held is not None and held.until_s > now_s and name not in self._let_go:
                self._handles.setdefault(name, held.handle)
                over.add(name)
        for name in over:
            handle = self._handles[name]
            if not handle or self.actuator.release(handle).name != UNREACHABLE:
                self._let_go.add(name)
                del self._handles[name]
        self._let_go &= plans.keys()


def _followed(state: State, now_s: int) -> Iterator[tuple[Plan, RunName, Issued]]:
    """Orders whose runs are to be gone: of open plans, and then for a while of those that are over."""
    over = (plan for plan in state.acts.plans.values() if plan.expired and now_s < plan.expired.at_s + FOLLOWED_S)
    for plan in (*state.acts.open(), *over):
        if plan.enforces:
            for run, order in plan.issued.items():
                if run not in plan.settled or plan.settled[run].outcome != REFUSED:
                    yield plan, run, order


def _order(cluster: str, plan: Plan, run: RunName, order: Issued) -> Order:
    made = plan.made
    asker = made.asker
    why = f"{asker.job} of {asker.account} needs its room" if asker is not None else "its node is drained"
    return Order(
        cluster,
        made.plan,
        *run,
        how="requeue" if order.how == "requeue" else "cancel",
        grace_s=order.grace_s,
        nodes=tuple(name for name, _ in made.hosts),
        why=f"Tenure, plan {made.plan}: {why}.",
    )
