"""What the enforcer did, read back from the log, into the registers of plans and of the runs they order off."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from ledger import observed_jobs
from ledger.acts import Commitment, Expired, Held, Issued, Plan, PlanAsker, RunName, Settled, Victim
from ledger.events import Act, CapacityHeld, PlanCommitted, PlanExpired, PreemptionIssued, PreemptionSettled
from ledger.events.acts import Room
from ledger.horizon import beyond_horizon
from ledger.outcomes import APPLIED, REPEATED, Outcome, Refused
from ledger.rows import Plan as PlanRow
from ledger.rows import Preemption
from ledger.units import epoch_ms, epoch_s

if TYPE_CHECKING:
    from ledger.book import Book

REFUSED = "refused"
"""How an order is settled that the scheduler would not carry out: the run was never told to leave."""


def acted(book: Book, event: Act, at_s: int) -> Outcome:
    """Take one step of the protocol; what was refused once stays so."""
    acts = book.state.acts
    if event.id in acts.refused:
        return REPEATED
    outcome = _step(book, event, at_s)
    if isinstance(outcome, Refused):
        acts.refused[event.id] = at_s
        book.changed["", ""] = None
    elif outcome is APPLIED:
        book.changed["plan", event.data.plan] = None
    return outcome


def _step(book: Book, event: Act, at_s: int) -> Outcome:
    match event:
        case PlanCommitted():
            return _committed(book, event, at_s)
        case PreemptionIssued():
            return _issued(book, event, at_s)
        case PreemptionSettled():
            return _settled(book, event, at_s)
        case CapacityHeld():
            return _held(book, event, at_s)
        case PlanExpired():
            return _expired(book, event, at_s)
        case _:
            assert_never(event)


def _committed(book: Book, event: PlanCommitted, at_s: int) -> Outcome:
    state, data = book.state, event.data
    if data.plan in state.acts.plans:
        return REPEATED
    made = commitment(event, at_s)
    if made.at_s < state.horizon_s:
        return beyond_horizon(state, "what the plan was made of", made.at_s)
    refused = state.acts.judge_plan(made)
    if refused is not None:
        return refused
    plan = Plan(made, (data.sentences, data.detail))
    state.acts.put(plan)
    book.advance()
    _write_plan(book, plan)
    for victim in made.victims:
        _write_preemption(book, plan, victim.run)
    return APPLIED


def commitment(event: PlanCommitted, at_s: int) -> Commitment:
    """What a plan decides; `at_s` is the event's time."""
    data, asker = event.data, event.data.asker
    return Commitment(
        data.plan,
        data.pool,
        data.purpose,
        data.mode,
        data.seq,
        epoch_s(data.at),
        at_s,
        None if asker is None else PlanAsker(*asker.model_dump().values()),
        tuple(
            Victim(v.job, v.attempt, v.account or "", v.protection, v.rule, v.gpus_milli, v.lost_gpu_ms, v.resumable)
            for v in data.victims
        ),
        _nodes(data.hosts),
        data.rule,
        data.grace_s,
        data.hold_s,
        None if data.due is None else max(0, epoch_ms(event.time) - epoch_ms(data.due)),
    )


def _nodes(rooms: tuple[Room, ...]) -> tuple[tuple[str, int], ...]:
    return tuple((room.node, room.gpus_milli) for room in rooms)


def _issued(book: Book, event: PreemptionIssued, at_s: int) -> Outcome:
    data = event.data
    run = (data.job, data.attempt)
    known = book.state.acts.plans.get(data.plan)
    if known is not None and run in known.issued:
        return REPEATED
    plan = book.state.acts.judge_step(data.plan, run, touches=True)
    if isinstance(plan, Refused):
        return plan
    plan.issued[run] = Issued(at_s, data.how, data.grace_s)
    observed_jobs.ordered_off(book, event, run, plan.made.plan, at_s)
    _write_preemption(book, plan, run)
    return APPLIED


def _settled(book: Book, event: PreemptionSettled, at_s: int) -> Outcome:
    data = event.data
    run = (data.job, data.attempt)
    plan = book.state.acts.judge_step(data.plan, run, touches=False)
    if isinstance(plan, Refused):
        return plan
    if run in plan.settled:
        return REPEATED
    plan.settled[run] = Settled(at_s, data.outcome, data.sentence)
    if data.outcome == REFUSED and run in plan.issued:
        observed_jobs.order_withdrawn(book, event, run, plan.made.plan, plan.issued[run].at_s)
    else:
        book.advance()
    _write_preemption(book, plan, run)
    return APPLIED


def _held(book: Book, event: CapacityHeld, at_s: int) -> Outcome:
    data = event.data
    known = book.state.acts.plans.get(data.plan)
    if known is not None and known.held is not None:
        return REPEATED
    plan = book.state.acts.judge_step(data.plan, None, touches=True)
    if isinstance(plan, Refused):
        return plan
    plan.held = Held(at_s, epoch_s(data.until), data.handle, _nodes(data.nodes))
    book.advance()
    _write_plan(book, plan)
    return APPLIED


def _expired(book: Book, event: PlanExpired, at_s: int) -> Outcome:
    data = event.data
    plan = book.state.acts.judge_step(data.plan, None, touches=False)
    if isinstance(plan, Refused):
        return plan
    if plan.expired is not None:
        return REPEATED
    book.advance()
    sentences, detail = plan.told
    expired = Expired(at_s, data.why, data.wasted_gpu_ms, data.sentence)
    book.state.acts.expire(plan, expired, book.state.seq)
    _write_plan(book, plan, sentences, detail)
    return APPLIED


def _write_plan(book: Book, plan: Plan, sentences: tuple[str, ...] | None = None, detail: str | None = None) -> None:
    """The plan as it stands; its words are given where it no longer keeps them."""
    state, made, asker = book.state, plan.made, plan.made.asker
    held, expired = plan.held, plan.expired
    row = PlanRow(
        state.cluster,
        made.plan,
        made.pool,
        made.purpose,
        made.mode,
        "open" if expired is None else expired.why,
        made.rule,
        asker.job if asker else "",
        asker.account if asker else "",
        asker.pieces if asker else 0,
        asker.piece_milli if asker else 0,
        asker.min_runtime_s if asker else 0,
        len(made.victims),
        sum(v.gpus_milli for v in made.victims),
        sum(v.lost_gpu_ms for v in made.victims),
        tuple(node for node, _ in made.hosts),
        tuple(milli for _, milli in made.hosts),
        plan.told[0] if sentences is None else sentences,
        plan.told[1] if detail is None else detail,
        made.grace_s,
        made.hold_s,
        made.seq,
        made.at_s,
        made.committed_s,
        made.reaction_ms,
        held.at_s if held else None,
        held.until_s if held else None,
        held.handle if held else "",
        expired.at_s if expired else None,
        expired.wasted_gpu_ms if expired else 0,
        expired.sentence if expired else "",
        state.seq,
        state.recorded_s,
    )
    book.writer.rows[PlanRow].append(row)


def _write_preemption(book: Book, plan: Plan, run: RunName) -> None:
    state, victim = book.state, plan.victim(run)
    assert victim is not None
    issued, settled = plan.issued.get(run), plan.settled.get(run)
    row = Preemption(
        state.cluster,
        plan.made.plan,
        victim.job,
        victim.attempt,
        plan.made.mode,
        victim.account,
        victim.class_,
        victim.rule,
        victim.gpus_milli,
        victim.lost_gpu_ms,
        victim.resumable,
        issued.how if issued else "",
        issued.grace_s if issued else 0,
        issued.at_s if issued else None,
        settled.at_s if settled else None,
        settled.outcome if settled else "",
        settled.sentence if settled else "",
        state.seq,
        state.recorded_s,
    )
    book.writer.rows[Preemption].append(row)
