"""The facts as bytes and as one number: what a checkpoint stores, and the hash two books are compared by."""

from __future__ import annotations

import gc
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from ledger.acts import Commitment, Expired, Held, Issued, Plan, PlanAsker, Settled, Victim
from ledger.closing import still_live
from ledger.hourly import hour_book, touching
from ledger.jobs import Attempt, JobFacts
from ledger.nodes import Node
from ledger.policy import PolicyChange
from ledger.state import State
from ledger.statements import (
    End,
    Full,
    Idle,
    NodeStatement,
    Start,
    Submitted,
    Terms,
    Toggle,
    Updated,
    digest,
)
from ledger.tree import ChildShare, Grant, Revision
from ledger.units import FOREVER_S, HOUR_S
from ledger.windows import Window

MODULUS = 1 << 128

FORMAT: Final = 4
"""Of encoded facts. Another one is not read: the log is folded anew. tests/golden/facts holds one of this format."""


class OtherFormat(Exception):
    """Facts that another version of this code encoded; the sentence says what to do."""


Key = tuple[str, str]


def records(state: State) -> Iterator[tuple[Key, Any]]:
    """Every canonical record of the facts, by key."""
    for name, node in state.nodes.items():
        yield ("node", name), node.record()
    for name, job in state.jobs.items():
        yield ("job", name), job.record()
    for name, plan in state.acts.plans.items():
        yield ("plan", name), plan.record()
    yield ("", ""), _common(state)


def _common(state: State) -> tuple[Any, ...]:
    """All that is not a node, a job or a plan: few, and rarely changed."""
    return (
        "common",
        state.cluster,
        state.ticked_s,
        state.horizon_s,
        state.first_node_s,
        sorted(record for _, record in state.shares.records()),
        state.shares.root,
        [g.record() for g in state.grants],
        state.policies.record(),
        sorted((source, event_id, hex(content)) for (source, event_id), content in state.decided.items()),
        sorted(state.acts.refused.items()),
        sorted(state.windows.values()),
    )


class FactsHash:
    """The sum of the digests of all records modulo 2**128, kept as records change."""

    def __init__(self, state: State) -> None:
        """The hash of a state as it is."""
        self._state = state
        self._digests: dict[Key, int] = {}
        self.value = 0
        for key, record in records(state):
            self._put(key, digest(record))

    def _put(self, key: Key, value: int) -> None:
        self.value = (self.value - self._digests.get(key, 0) + value) % MODULUS
        if value:
            self._digests[key] = value
        else:
            self._digests.pop(key, None)

    def update(self, changed: Iterator[Key]) -> int:
        """Take in the records under these keys as they are now; returns the hash."""
        state = self._state
        for key in changed:
            kind, name = key
            if not kind:
                self._put(key, digest(_common(state)))
            else:
                holder = _holder(state, kind, name)
                self._put(key, digest(holder.record()) if holder is not None else 0)
        return self.value


def _holder(state: State, kind: str, name: str) -> Node | JobFacts | Plan | None:
    match kind:
        case "node":
            return state.nodes.get(name)
        case "job":
            return state.jobs.get(name)
        case _:
            return state.acts.plans.get(name)


def encode(state: State) -> bytes:
    """The facts and counters as compressed JSON, from which `decode` makes an equal state."""
    body = {
        "format": FORMAT,
        "seq": state.seq,
        "recorded_s": state.recorded_s,
        "common": _common(state),
        "nodes": [n.record() for n in state.nodes.values()],
        "jobs": [(j.record(), j.seq, j.recorded_s) for j in state.jobs.values()],
        "plans": [(p.record(), p.expired_seq) for p in state.acts.plans.values()],
    }
    return zlib.compress(json.dumps(body, separators=(",", ":")).encode(), 1)


def decode(data: bytes) -> State:
    """The state `encode` wrote, its caches made again. Raises OtherFormat."""
    with _without_collector():
        body = json.loads(zlib.decompress(data))
        if body.get("format") != FORMAT:
            raise OtherFormat(
                "another version of Tenure wrote this book's checkpoints: `tenure replay --switch` folds its log anew"
            )
        state = _decoded(body)
        _remake(state)
    return state


@contextmanager
def _without_collector() -> Iterator[None]:
    """A million objects are made and none is let go of: looking for garbage among them took a quarter of the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _decoded(body: dict[str, Any]) -> State:
    """The facts alone."""
    _, cluster, ticked_s, horizon_s, first_node_s, *rest = body["common"]
    shares, root, grants, policy, decided, refused, windows = rest
    state = State(cluster, seq=body["seq"], recorded_s=body["recorded_s"], ticked_s=ticked_s)
    state.horizon_s, state.first_node_s = horizon_s, first_node_s
    for _, pool, parent, revisions in shares:
        for number, effective_s, children in revisions:
            state.shares.put(pool, parent, Revision(number, effective_s, tuple(ChildShare(*c) for c in children)))
    state.shares.root = root
    state.grants = [Grant(*g[1:]) for g in grants]
    _, state.policies.opens_s, changes = policy
    state.policies.changes = [PolicyChange(at, tuple((k, v) for k, v in c)) for at, c in changes]
    state.decided = {(source, event_id): int(content, 16) for source, event_id, content in decided}
    state.windows = {name: Window(name, tuple(nodes), *span) for name, nodes, *span in windows}
    state.decided_anew()
    for _, name, statements in body["nodes"]:
        state.nodes[name] = Node(name, [NodeStatement(*s) for s in statements])
    state.nodes_forgotten()
    for record, seq, recorded_s in body["jobs"]:
        job = _job(record)
        job.seq, job.recorded_s = seq, recorded_s
        state.jobs[job.job] = job
        state.touch(job.job)
    state.acts.refused = dict(refused)
    for record, expired_seq in body["plans"]:
        state.acts.put(_plan(record, expired_seq))
    return state


def _remake(state: State) -> None:
    """Readings, the jobs still live, and the sums of every closed hour, from the facts."""
    state.read_all()
    for name in list(state.live):
        if not still_live(state.derived[name], state.closed_until_s):
            del state.live[name]
    for hour_s, jobs in touching(state, state.closed_hours(0, FOREVER_S)).items():
        state.hours[hour_s] = hour_book(state, hour_s, hour_s + HOUR_S, jobs).pools


def _placed(placements: list[Any]) -> tuple[tuple[str, int, tuple[int, ...]], ...]:
    return tuple((node, milli, tuple(indices)) for node, milli, indices in placements)


def _job(record: list[Any]) -> JobFacts:
    _, name, submitted, updated, ended, attempts = record
    job = JobFacts(name)
    job.submitted = [Submitted(s[0], s[1], s[2], s[3], Terms(*s[4])) for s in submitted]
    job.updated = [Updated(u[0], u[1], u[2], u[3], tuple((field, value) for field, value in u[4])) for u in updated]
    job.ended = [End(*e) for e in ended]
    job.attempts = {a[0]: _attempt(a) for a in attempts}
    return job


def _attempt(record: list[Any]) -> Attempt:
    name, full, starts, ends, toggles, checkpoints_s, idle, reassigned, orders = record
    return Attempt(
        name,
        full=_full(full) if full else None,
        starts=tuple(Start(s[0], s[1], s[2], s[3], _placed(s[4])) for s in starts),
        ends=tuple(End(*e) for e in ends),
        toggles=[Toggle(*t) for t in toggles],
        checkpoints_s=checkpoints_s,
        idle=Idle(*idle) if idle else None,
        reassigned=reassigned,
        orders=tuple((at_s, plan) for at_s, plan in orders),
    )


def _plan(record: list[Any], expired_seq: int) -> Plan:
    _, made, (sentences, detail), issued, settled, held, expired = record
    *head, asker, victims, hosts, rule, grace_s, hold_s, reaction_ms = [*made, None][: len(Commitment._fields)]
    return Plan(
        Commitment._make(
            (
                *head,
                PlanAsker(*asker) if asker else None,
                tuple(Victim(*v) for v in victims),
                _rooms(hosts),
                *(rule, grace_s, hold_s, reaction_ms),
            )
        ),
        (tuple(sentences), detail),
        {(job, attempt): Issued(*one) for (job, attempt), one in issued},
        {(job, attempt): Settled(*one) for (job, attempt), one in settled},
        _held(held) if held else None,
        Expired(*expired) if expired else None,
        expired_seq,
    )


def _held(record: list[Any]) -> Held:
    at_s, until_s, handle, nodes = record
    return Held(at_s, until_s, handle, _rooms(nodes))


def _rooms(nodes: list[Any]) -> tuple[tuple[str, int], ...]:
    return tuple((node, milli) for node, milli in nodes)


def _full(record: list[Any]) -> Full:
    stamp, terms, times, (placements, pauses), rest = record[:4], record[4], record[5:9], record[9:11], record[11:]
    told = tuple((since_s, until_s, releases) for since_s, until_s, releases in pauses)
    return Full._make((*stamp, Terms(*terms), *times, _placed(placements), told, *rest))
