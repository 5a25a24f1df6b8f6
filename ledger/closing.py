"""Closing hours: f of an hour is posted once, when a tick passes its end; before that it is provisional."""

from __future__ import annotations

from collections.abc import Iterable

from ledger.hourly import hour_book, node_sums
from ledger.state import Derived, State
from ledger.statements import cause_of
from ledger.units import FOREVER_S, HOUR_S
from ledger.writer import Writer


def close_cause(cluster: str, hour_s: int) -> bytes:
    """The cause of an hour's first postings: that it was closed."""
    return cause_of("close", f"{cluster}/{hour_s}", 0)


def close_hour(state: State, writer: Writer, hour_s: int, cause: bytes, jobs: Iterable[str]) -> None:
    """Post f of an hour that has no postings yet; `jobs` are all that may touch it."""
    book = hour_book(state, hour_s, hour_s + HOUR_S, jobs)
    state.hours[hour_s] = book.pools
    state.revised += 1
    for node, legs in book.nodes.items():
        writer.post(hour_s, cause, legs)
        writer.node(hour_s, node, node_sums(legs))
    writer.post(hour_s, cause, book.budget)
    writer.accounts(
        hour_s,
        cause,
        [(p, a) for p, pool in book.pools.items() for a, sums in pool.accounts.items() if any(sums)],
    )
    writer.pools(hour_s, cause, book.pools)


def close_through(state: State, writer: Writer, from_s: int) -> None:
    """Close every hour from one on that the watermark has passed, as the tick's own cause."""
    for hour_s in state.closed_hours(from_s, FOREVER_S):
        close_hour(state, writer, hour_s, close_cause(state.cluster, hour_s), list(state.live))
        _settle(state, hour_s + HOUR_S)


def _settle(state: State, until_s: int) -> None:
    """Jobs that can touch no hour from `until_s` on need no look at the next closing."""
    for name in list(state.live):
        if not still_live(state.read(name), until_s):
            del state.live[name]


def still_live(derived: Derived, until_s: int) -> bool:
    """Whether a job, as far as it is known, touches an hour from `until_s` on."""
    return any(r.end_s > until_s for r in derived.runs) or any(w.b_s > until_s for w in derived.waits)


def write_open_hours(state: State, writer: Writer) -> None:
    """The hours not yet closed, up to the watermark: provisional, replaced at each tick."""
    opens = state.opens_s
    if opens is None:
        return
    hour_s = max(state.closed_until_s, opens)
    while hour_s < state.ticked_s:
        until_s = min(hour_s + HOUR_S, state.ticked_s)
        book = hour_book(state, hour_s, until_s, list(state.live))
        for pool, found in book.pools.items():
            for account, sums in found.accounts.items():
                if any(sums):
                    writer.open_hour(hour_s, until_s, pool, account, sums)
        hour_s += HOUR_S


def horizon_s(state: State) -> int:
    """Where the watermark puts the horizon: before it, hours are no longer kept."""
    return state.closed_until_s - state.policy_at(state.ticked_s).horizon_h * HOUR_S


def move_horizon(state: State, facts_dropped: dict[str, None], nodes_changed: dict[str, None]) -> None:
    """Let go of what is older than the horizon: hours, superseded node statements, jobs that are over.

    Names of what is to leave or has changed are added to the two dictionaries; jobs are the caller's to forget,
    whose rows may still be due.
    """
    moved_s = horizon_s(state)
    if moved_s <= state.horizon_s:
        return
    state.horizon_s = moved_s
    opens = state.opens_s
    if opens is None or moved_s <= opens:
        return
    for hour_s in [h for h in state.hours if h < moved_s]:
        del state.hours[hour_s]
    dropped = [name for name, node in state.nodes.items() if node.forget_before(moved_s)]
    if dropped:
        nodes_changed.update(dict.fromkeys(dropped))
        state.nodes_forgotten()
    facts_dropped.update({n: None for n in state.jobs if n not in state.live and _over(state, n, moved_s)})


def _over(state: State, name: str, horizon_s: int) -> bool:
    """Whether nothing the job can still say touches a kept hour."""
    facts = state.jobs[name]
    derived = state.read(name)
    if any(r.end_s >= horizon_s for r in derived.runs) or any(w.b_s >= horizon_s for w in derived.waits):
        return False
    if derived.queued_since is not None:
        return False  # held: it waits for nobody's capacity, but it may start
    told = [s.at_s for s in facts.submitted] + [u.at_s for u in facts.updated] + [e.at_s for e in facts.ended]
    for attempt in facts.attempts.values():
        if attempt.reassigned is not None and attempt.started_s() is None:
            return False
        told += attempt.instants() + [t.at_s for t in attempt.toggles] + attempt.checkpoints_s
        told += [at_s for at_s, _ in attempt.orders]
        told += [attempt.idle.time_us // 1_000_000] if attempt.idle is not None else []
    return all(at < horizon_s for at in told)
