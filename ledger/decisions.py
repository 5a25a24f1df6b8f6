"""Decisions: whether one can be taken, and what it changes. Taken in log order, each (source, id) once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, assert_never

from ledger.change import Change
from ledger.corrections import correct_claims, correct_job, grants_in
from ledger.events import GrantMade, MaintenancePlanned, PolicySet, RunReassigned, ShareDecided, SharesSet
from ledger.outcomes import RefusalName, Refused
from ledger.policy import PolicyChange
from ledger.rows import Decision as DecisionRow
from ledger.rows import Grant as GrantRow
from ledger.rows import Maintenance as MaintenanceRow
from ledger.rows import Share as ShareRow
from ledger.state import NOTHING, State
from ledger.tree import EVERY_POOL, OWN_PART, ChildShare, Grant, Revision
from ledger.units import FOREVER_S, GPU_HOUR_MS, epoch_s, instant
from ledger.windows import Window

if TYPE_CHECKING:
    from ledger.book import Book

DecisionEvent = SharesSet | GrantMade | PolicySet | MaintenancePlanned | RunReassigned | ShareDecided


JUDGED: Final[frozenset[RefusalName]] = frozenset(
    {
        "stale_revision",
        "shares_over_100",
        "shares_of_own_part",
        "unknown_parent",
        "effective_in_a_closed_hour",
        "beyond_horizon",
        "already_open",
    }
)
"""How `judge` refuses: the book remembers the decision's id, and passes over whatever comes under it again."""


def judge(state: State, event: DecisionEvent) -> Refused | None:
    """Why a decision cannot be taken, the first that holds; None if it can."""
    match event:
        case SharesSet():
            return _judge_shares(state, event)
        case GrantMade():
            return _judge_grant(state, event)
        case PolicySet():
            return _judge_policy(state, event)
        case MaintenancePlanned() | RunReassigned() | ShareDecided():
            return None
        case _:
            assert_never(event)


def effective_s(event: SharesSet) -> int:
    """When the set comes into force."""
    return epoch_s(event.data.effective_at or event.time)


def _judge_shares(state: State, event: SharesSet) -> Refused | None:
    data = event.data
    pool = data.gpu_type or EVERY_POOL
    known = state.shares.revision(pool, data.parent)
    if data.expected_revision != known:
        return Refused(
            "stale_revision",
            f"it was made against revision {data.expected_revision} of {data.parent}, which is at {known}; "
            "look at the present shares and decide again",
        )
    total = sum(c.share_percent for c in data.children)
    if total > 100:  # noqa: PLR2004 -- percent
        return Refused(
            "shares_over_100",
            f"the shares of {data.parent} sum to {total} percent; lower them to at most 100",
        )
    if data.parent.endswith(f"/{OWN_PART}"):
        return Refused("shares_of_own_part", f"{data.parent} is an own part and has no children; name its parent")
    if state.shares.root and not state.shares.knows(data.parent):
        return Refused(
            "unknown_parent",
            f"{data.parent} has no share of its own yet; first give it one in the shares of its parent "
            f"(the root is {state.shares.root})",
        )
    if not state.shares.root and "/" in data.parent:
        return Refused(
            "unknown_parent",
            f"no shares are set yet, so begin at the root: set those of {data.parent.partition('/')[0]} first",
        )
    return _judge_effective(state, event)


def _judge_effective(state: State, event: SharesSet) -> Refused | None:
    at_s = effective_s(event)
    if at_s >= state.closed_until_s or not state.closed_hours(at_s, FOREVER_S):
        return None
    if not event.data.backdated:
        return Refused(
            "effective_in_a_closed_hour",
            f"it would be in force from {instant(at_s):%Y-%m-%d %H:%M} UTC, and hours up to "
            f"{instant(state.closed_until_s):%Y-%m-%d %H:%M} UTC are closed; say `backdated` with a reason, "
            "or take effect later",
        )
    if at_s < state.horizon_s:
        return Refused(
            "beyond_horizon",
            f"it would be in force from {instant(at_s):%Y-%m-%d %H:%M} UTC, before the first hour still kept "
            f"({instant(state.kept_from_s):%Y-%m-%d %H:%M} UTC)",
        )
    return None


def _judge_grant(state: State, event: GrantMade) -> Refused | None:
    since_s = epoch_s(event.data.since)
    if since_s < state.horizon_s and state.closed_hours(since_s, FOREVER_S):
        return Refused(
            "beyond_horizon",
            f"the grant begins {instant(since_s):%Y-%m-%d %H:%M} UTC, before the first hour still kept "
            f"({instant(state.kept_from_s):%Y-%m-%d %H:%M} UTC); let it begin later",
        )
    return None


def _judge_policy(state: State, event: PolicySet) -> Refused | None:
    opens_at = event.data.opens_at
    if opens_at is None or not state.hours:
        return None
    if state.policies.opens_s == epoch_s(opens_at):
        return None
    return Refused(
        "already_open",
        f"hours of the book from {instant(min(state.hours)):%Y-%m-%d %H:%M} UTC on are closed; "
        "an opening can only be set before the first hour is closed",
    )


def carry_out(book: Book, event: DecisionEvent) -> None:
    """Change the facts, post what that changes of closed hours, and tell people."""
    match event:
        case SharesSet():
            _set_shares(book, event)
        case GrantMade():
            _make_grant(book, event)
        case PolicySet():
            _set_policy(book, event)
        case MaintenancePlanned():
            _plan_window(book, event)
        case RunReassigned():
            _reassign(book, event)
        case ShareDecided():
            _answer(book, event)
        case _:
            assert_never(event)


def _tell(book: Book, event: DecisionEvent, kind: str, subject: str, detail: str) -> None:
    state, data = book.state, event.data
    row = DecisionRow(
        state.cluster,
        kind,
        subject,
        detail,
        data.author,
        data.reason,
        epoch_s(event.time),
        state.seq,
        state.recorded_s,
    )
    book.writer.rows[DecisionRow].append(row)


def _set_shares(book: Book, event: SharesSet) -> None:
    state, data = book.state, event.data
    from_s = effective_s(event)
    pool = data.gpu_type or EVERY_POOL
    children = tuple(ChildShare(c.child, str(c.share_percent), c.slot_limit_milli) for c in data.children)
    revision = Revision(data.expected_revision + 1, from_s, children)
    _with_corrections(book, event, from_s, lambda: state.shares.put(pool, data.parent, revision))
    book.writer.rows[ShareRow] += [
        ShareRow(
            state.cluster,
            data.gpu_type or "",
            data.parent,
            revision.revision,
            child.child,
            child.percent,
            child.slot_limit_milli,
            from_s,
            data.backdated,
            data.author,
            data.reason,
            state.seq,
            state.recorded_s,
        )
        for child in children
    ]


def _make_grant(book: Book, event: GrantMade) -> None:
    state, data = book.state, event.data
    since_s, until_s = epoch_s(data.since), epoch_s(data.until)
    grant = Grant(event.id, data.gpu_type, data.account, data.amount_gpu_ms, since_s, until_s)
    _with_corrections(book, event, since_s, lambda: state.grants.append(grant))
    row = GrantRow(
        state.cluster,
        data.gpu_type,
        data.account,
        event.id,
        data.amount_gpu_ms,
        since_s,
        until_s,
        data.author,
        data.reason,
        state.seq,
        state.recorded_s,
    )
    book.writer.rows[GrantRow].append(row)
    detail = f"{data.amount_gpu_ms / GPU_HOUR_MS:g} GPU-hours of {data.gpu_type}"
    _tell(book, event, "grant", data.account, detail)


def _set_policy(book: Book, event: PolicySet) -> None:
    state, data = book.state, event.data
    at_s = epoch_s(event.time)
    changes = data.model_dump(exclude={"cluster", "opens_at", "author", "reason"}, exclude_none=True)

    def put() -> None:
        if changes:
            state.policies.changes.append(PolicyChange(at_s, tuple(sorted(changes.items()))))
        if data.opens_at is not None:
            state.policies.opens_s = epoch_s(data.opens_at)

    _with_corrections(book, event, at_s, put)
    book.close_missing(event)
    told = changes if data.opens_at is None else changes | {"opens_at": f"{data.opens_at:%Y-%m-%dT%H:%M:%SZ}"}
    _tell(book, event, "policy", state.cluster, ", ".join(f"{k}={v}" for k, v in sorted(told.items())))


def _plan_window(book: Book, event: MaintenancePlanned) -> None:
    """Nothing closed changes, whenever the window is: it says what people mean to do."""
    state, data = book.state, event.data
    since_s, until_s = epoch_s(data.since), epoch_s(data.until)
    window = Window(data.window, tuple(sorted(set(data.nodes))), since_s, until_s)
    if data.cancelled:
        state.windows.pop(data.window, None)
    else:
        state.windows[data.window] = window
    row = MaintenanceRow(
        state.cluster,
        *window,
        data.cancelled,
        data.author,
        data.reason,
        state.seq,
        state.recorded_s,
    )
    book.writer.rows[MaintenanceRow].append(row)
    span = f"{instant(since_s):%Y-%m-%d %H:%M} to {instant(until_s):%Y-%m-%d %H:%M} UTC"
    number = len(window.nodes)
    told = f"{number} node{'s' if number != 1 else ''}, {span}"
    _tell(book, event, "maintenance", data.window, f"cancelled ({told})" if data.cancelled else told)


def _answer(book: Book, event: ShareDecided) -> None:
    data = event.data
    share = f" at {data.share_percent} percent" if data.share_percent is not None else ""
    _tell(book, event, "share_decided", data.account, f"{data.decision}{share} ({data.request})")


def _with_corrections(book: Book, event: DecisionEvent, from_s: int, put: Callable[[], None]) -> None:
    """Carry out a change that is in force from an instant on: read again whom it touches, correct closed hours."""
    state = book.state
    state.read_all()
    before = grants_in(state, state.closed_hours(from_s, FOREVER_S))
    put()
    state.decided_anew()
    change = Change()
    for name in book.read_again_from(from_s):
        old = state.derived[name]
        state.touch(name)
        if state.read(name) != old:
            facts = state.jobs[name]
            book.mark_row(facts)
            correct_job(state, change, name, old, demand=False)
    correct_claims(state, change, before)
    change.write(book.writer, event)


def _reassign(book: Book, event: RunReassigned) -> None:
    state, data = book.state, event.data
    state.read_all()
    facts = state.job(data.job)
    old = state.derived.get(data.job, NOTHING)
    facts.attempt(data.attempt).reassigned = data.account
    book.mark(facts)
    state.read(data.job)
    change = Change()
    correct_job(state, change, data.job, old)
    change.write(book.writer, event)
    _tell(book, event, "reassigned", f"{data.job}/{data.attempt}", f"to {data.account}")
