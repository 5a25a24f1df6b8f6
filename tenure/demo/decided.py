"""What people and the clock say: policy, accounts, shares, requests, answers, grants, ticks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ledger.units import GPU_HOUR_MS, GPU_MILLI, HOUR_S
from tenure.demo.cluster import CLUSTER
from tenure.demo.reviews import GRANTS, REVIEWS, REVISIONS, Grant, Review, Revision
from tenure.demo.span import Span
from tenure.demo.tree import ACCOUNTS, OPENING, ShareSet
from tenure.demo.wire import CLOCK, PEOPLE, Fields, Statement, iso

WINDOW_H: Final = 168
HORIZON_H: Final = 35 * 24
MAX_CONTRACT_S: Final = 8 * HOUR_S
GRACE_S: Final = 5 * 60
"""An hour is closed this long after its end."""
DIRECTOR: Final = ACCOUNTS[0].lead


def decided(span: Span) -> Iterator[Statement]:
    """Everything decided, entered the moment it is said: people write straight into the log."""
    yield from _opening(span)
    for revision in REVISIONS:
        yield _revision(span, revision)
    for review in REVIEWS:
        yield from _review(span, review)
    for grant in GRANTS:
        yield _grant(span, grant)


def ticks(span: Span) -> Iterator[Statement]:
    """Five minutes past every hour, the last of them closing the last hour of the span."""
    for end_s in range(span.opens_s + HOUR_S, span.ends_s + HOUR_S, HOUR_S):
        at = iso(end_s + GRACE_S)
        data: Fields = {"cluster": CLUSTER, "at": at}
        yield Statement(end_s + GRACE_S, "clock.ticked", CLOCK, f"{CLUSTER}/{at}", CLUSTER, data, lag_s=0)


def revision_id(revision: Revision) -> str:
    """The id under which a revision is entered; a stale one must not take that of the set it did not see."""
    nth = _shares_id(revision.shares, revision.expected_revision)
    return f"{nth}/stale" if revision.stale else nth


def opening_s(span: Span) -> int:
    """When the policy is entered: a quarter of an hour before the book opens."""
    return span.opens_s - HOUR_S // 4


def _opening(span: Span) -> Iterator[Statement]:
    """Policy, accounts and first shares, entered before the book opens and in force from then on."""
    at_s = opening_s(span)
    policy: Fields = {
        "cluster": CLUSTER,
        "opens_at": iso(span.opens_s),
        "window_h": WINDOW_H,
        "horizon_h": HORIZON_H,
        "max_min_runtime_s": MAX_CONTRACT_S,
        "ranking": "sliding",
        "author": DIRECTOR,
        "reason": "GPU time instead of GPUs, from September",
    }
    yield _said(at_s, "policy.set", "policy/1", CLUSTER, policy)
    for nth, account in enumerate(ACCOUNTS):
        opened: Fields = {"account": account.path, "title": account.title, "leads": [account.lead]}
        yield _said(at_s + 60 + nth, "account.opened", f"account/{account.path}", account.path, opened)
    for nth, shares in enumerate(OPENING):
        data = _shares(shares) | {
            "author": DIRECTOR,
            "reason": "opening division",
            "expected_revision": 0,
            "effective_at": iso(span.opens_s),
        }
        yield _said(at_s + 120 + nth, "shares.set", _shares_id(shares, 0), shares.parent, data)


def _revision(span: Span, revision: Revision) -> Statement:
    data = _shares(revision.shares) | {
        "author": revision.author,
        "reason": revision.reason,
        "expected_revision": revision.expected_revision,
    }
    if revision.effective is not None:
        data["effective_at"] = iso(span.at(*revision.effective))
    if revision.backdated:
        data["backdated"] = True
    return _said(span.at(*revision.at), "shares.set", revision_id(revision), revision.shares.parent, data)


def _review(span: Span, review: Review) -> Iterator[Statement]:
    """The request, then the answer, a few seconds after the shares that carry it out."""
    asked: Fields = {
        "request": review.request,
        "cluster": CLUSTER,
        "account": review.account,
        "share_percent": review.asked,
        "author": review.author,
        "reason": review.plea,
    }
    yield _said(span.at(*review.asked_at), "share.requested", f"request/{review.request}", review.account, asked)
    decided: Fields = {
        "cluster": CLUSTER,
        "request": review.request,
        "account": review.account,
        "decision": review.decision,
        "author": review.decider,
        "reason": review.answer,
    }
    if review.given is not None:
        decided["share_percent"] = review.given
    at_s = span.at(*review.decided_at) + 10
    yield _said(at_s, "share.decided", f"decision/{review.request}", review.account, decided)


def _grant(span: Span, grant: Grant) -> Statement:
    data: Fields = {
        "cluster": CLUSTER,
        "account": grant.account,
        "gpu_type": grant.gpu_type,
        "amount_gpu_ms": span.lasting(grant.gpu_h * GPU_HOUR_MS),
        "since": iso(span.at(*grant.since)),
        "until": iso(span.at(*grant.until)),
        "author": grant.author,
        "reason": grant.reason,
    }
    return _said(span.at(*grant.at), "grant.made", f"grant/{grant.grant}", grant.account, data)


def _shares(shares: ShareSet) -> Fields:
    children: list[Fields] = []
    for part in shares.parts:
        child: Fields = {"child": part.child, "share_percent": part.percent}
        if part.slot_limit_gpus is not None:
            child["slot_limit_milli"] = part.slot_limit_gpus * GPU_MILLI
        children.append(child)
    data: Fields = {"cluster": CLUSTER, "parent": shares.parent, "children": children}
    return data if shares.gpu_type is None else data | {"gpu_type": shares.gpu_type}


def _shares_id(shares: ShareSet, expected: int) -> str:
    pool = shares.gpu_type or "every pool"
    return f"shares/{shares.parent}/{pool}/{expected + 1}"


def _said(at_s: int, kind: str, statement_id: str, subject: str, data: Fields) -> Statement:
    return Statement(at_s, kind, PEOPLE, statement_id, subject, data, lag_s=0)
