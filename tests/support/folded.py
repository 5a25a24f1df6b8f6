"""A book folded event by event, its rows read as a reader of the store reads them, and held against the oracle."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from ledger import rows
from ledger.book import Book
from ledger.events import ClusterEvent, Event
from ledger.facts import FactsHash, decode, encode
from ledger.outcomes import Outcome, Refused
from ledger.showing import job_row, run_rows
from ledger.units import FOREVER_S, epoch_s, instant
from tests.oracle.logs import CLUSTER, recorded
from tests.oracle.naive import Naive

Net = dict[int, dict[tuple[str, ...], int]]
"""Net amount by hour and (pool, book, account, class, kind, node, run); zeros left out."""

KEYS: dict[type, tuple[str, ...]] = {
    rows.Posting: ("pool", "hour_s", "book", "account", "class_", "kind", "node", "run", "cause"),
    rows.AccountHour: ("pool", "account", "hour_s", "cause"),
    rows.ClusterHour: ("pool", "hour_s", "cause"),
    rows.NodeHour: ("pool", "node", "hour_s"),
    rows.OpenHour: ("pool", "account", "hour_s"),
    rows.Run: ("job", "attempt"),
    rows.Job: ("job",),
    rows.Share: ("pool", "parent", "revision", "child"),
    rows.Grant: ("grant",),
    rows.Maintenance: ("window",),
    rows.Decision: ("seq",),
    rows.Correction: ("cause",),
    rows.Remark: ("seq", "name", "subject", "event_id"),
    rows.Plan: ("plan",),
    rows.Preemption: ("plan", "job", "attempt"),
}
"""What makes a row replace another of the same table (DESIGN §7)."""

ACCOUNT_COLUMNS = tuple(name for name in rows.AccountHour._fields if name.endswith("_gpu_ms"))
CLUSTER_COLUMNS = tuple(name for name in rows.ClusterHour._fields if name.endswith("_gpu_ms"))
NODE_COLUMNS = tuple(name for name in rows.NodeHour._fields if name.endswith("_gpu_ms"))
RUN_COLUMNS = (
    *("started_s", "ended_s", "outcome", "exit_code", "funded", "funding_reason", "user", "account", "kind", "gang"),
    *("min_runtime_s", "resumable", "priority", "gpus_milli", "contract_end_s", "running_s", "suspended_s"),
    "idle_since_s",
)
"""What `Naive.runs` tells under the name of the column."""


class Folded:
    """One cluster's book and everything it wrote so far."""

    def __init__(self, *, take_every: int = 1, cluster: str = CLUSTER) -> None:
        self.book = Book(cluster)
        self.hash = FactsHash(self.book.state)
        self.accepted: list[tuple[Event, int]] = []
        self.refused: Counter[str] = Counter()
        self.remarks: Counter[str] = Counter()
        self.tables: dict[type, dict[tuple[Any, ...], Any]] = defaultdict(dict)
        self._net: dict[int, Counter[tuple[str, ...]]] = defaultdict(Counter)
        self._refused_ids: set[tuple[str, str]] = set()
        self._take_every = take_every
        self._untaken = 0

    # ------------------------------------------------------------------ folding

    def fold(self, event: ClusterEvent) -> Outcome:
        """Apply one event as it was recorded. A decision once refused stays refused when it is sent again."""
        outcome = self.book.apply(event, epoch_s(recorded(event)))
        key = (event.source, event.id)
        if isinstance(outcome, Refused):
            self.refused[outcome.name] += 1
            self._refused_ids.add(key)
        elif key not in self._refused_ids:
            self.accepted.append((event, epoch_s(recorded(event))))
        self._untaken += 1
        if self._untaken >= self._take_every:
            self.take()
        return outcome

    def fold_all(self, log: Iterable[Any]) -> Folded:
        for event in log:
            self.fold(event)
        self.take()
        return self

    def take(self) -> None:
        """Store what the book has written."""
        self._untaken = 0
        for kind, made in self.book.take().items():
            for row in made:
                key = tuple(getattr(row, name) for name in KEYS[kind])
                old = self.tables[kind].get(key)
                if isinstance(row, rows.Posting):
                    leg = (row.pool, row.book, row.account, row.class_, row.kind, row.node, row.run)
                    self._net[row.hour_s][leg] += row.amount_gpu_ms
                    assert old is None, f"a second posting under one key would replace the first: {row} after {old}"
                if isinstance(row, rows.Remark):
                    self.remarks[row.name] += 1
                assert old is None or row.seq >= old.seq, f"a row is replaced by an older one: {row} after {old}"
                self.tables[kind][key] = row

    def restart(self) -> None:
        """Go on from a checkpoint: the state is written, read, and nothing else is left."""
        self.take()
        self.hash.update(iter(self.book.changed))
        book = Book(self.book.state.cluster)
        book.resume(decode(encode(self.book.state)))
        self.book = book
        self.hash = FactsHash(book.state)

    # ------------------------------------------------------------------ reading

    def net(self) -> Net:
        """Σ postings per leg of every hour ever closed."""
        found = {hour: {leg: amount for leg, amount in legs.items() if amount} for hour, legs in self._net.items()}
        return {hour: legs for hour, legs in found.items() if legs}

    def latest(self, kind: type, *key: str) -> dict[tuple[Any, ...], Any]:
        """The latest version of each row by a part of its key."""
        found: dict[tuple[Any, ...], Any] = {}
        for row in self.tables[kind].values():
            name = tuple(getattr(row, part) for part in key)
            if name not in found or found[name].seq <= row.seq:
                found[name] = row
        return found

    def hash_from_scratch(self) -> int:
        return FactsHash(self.book.state).value

    def hash_kept(self) -> int:
        """The hash, taking in only what the book says has changed."""
        value = self.hash.update(iter(self.book.changed))
        self.book.changed.clear()
        return value

    def current(self, kind: type) -> dict[tuple[Any, ...], Any]:
        """Rows of runs or jobs as they stand, whenever they were written."""
        return {key: row._replace(seq=0, recorded_s=0) for key, row in self.tables[kind].items()}

    # ------------------------------------------------------------------ judging

    def check(self, *, at_most: int | None = None) -> None:
        """Every closed hour that is kept reads as the oracle says: postings, accounts, nodes, pools.

        `at_most` looks at so many hours from both ends: the oracle is slow.
        """
        naive = Naive(self.accepted)
        hours = naive.closed_hours()
        assert list(self.book.state.closed_hours(0, FOREVER_S)) == hours
        if at_most is not None and len(hours) > at_most:
            hours = hours[: at_most // 2] + hours[-at_most // 2 :]
        net = self.net()
        assert all(hour >= (naive.opens_s() or hour) for hour in net), "an hour before the book opened was closed"
        accounts = self.latest(rows.AccountHour, "hour_s", "pool", "account")
        clusters = self.latest(rows.ClusterHour, "hour_s", "pool")
        nodes = self.tables[rows.NodeHour]
        for hour in hours:
            when = f"{instant(hour):%d %H:%M}"
            assert net.get(hour, {}) == naive.postings(hour), f"postings of {when}"
            told = {key[1:]: _columns(row, ACCOUNT_COLUMNS) for key, row in accounts.items() if key[0] == hour}
            assert _non_zero(told) == naive.account_hours(hour), f"account_hours of {when}"
            told = {key[1:]: _columns(row, CLUSTER_COLUMNS) for key, row in clusters.items() if key[0] == hour}
            want = {(pool,): row for pool, row in _with_claims(naive, hour).items()}
            assert _non_zero(told) == _non_zero(want), f"cluster_hours of {when}"
            told = {key[:2]: _columns(row, NODE_COLUMNS) for key, row in nodes.items() if key[2] == hour}
            assert _non_zero(told) == _non_zero(naive.node_hours(hour)), f"node_hours of {when}"

    def check_runs(self) -> None:
        """Rows of runs and jobs are written again whenever they read otherwise, and runs read as the oracle says."""
        state = decode(encode(self.book.state))  # what is cached in the book itself may be what is wrong
        runs, jobs = self.current(rows.Run), self.current(rows.Job)
        naive = Naive(self.accepted).runs()
        assert set(runs) == set(naive)
        for name, facts in state.jobs.items():
            now = state.derived[name]
            assert jobs[name,] == job_row(state, facts, now)._replace(seq=0, recorded_s=0)
            for run in run_rows(state, facts, now):
                assert runs[run.job, run.attempt] == run._replace(seq=0, recorded_s=0)
        for key, run in runs.items():
            want = naive[key]
            assert {name: getattr(run, name) for name in RUN_COLUMNS} == {name: want[name] for name in RUN_COLUMNS}
            assert dict(zip(run.placed_nodes, run.placed_gpus_milli, strict=True)) == want["placements"]
            assert run.ledger_account == (want["booked_account"] if want["funded"] else "")
            assert set(run.flags) - {"unknown_node"} == want["flags"]


def folded(log: Iterable[Any], *, take_every: int = 1) -> Folded:
    return Folded(take_every=take_every).fold_all(log)


def _columns(row: Any, names: Sequence[str]) -> dict[str, int]:
    return {name: getattr(row, name) for name in names}


def _non_zero(table: dict[Any, dict[str, int]]) -> dict[Any, dict[str, int]]:
    return {key: row for key, row in table.items() if any(row.values())}


def _with_claims(naive: Naive, hour: int) -> dict[str, dict[str, int]]:
    return naive.cluster_hours(hour)


def told(log: Iterable[Any]) -> str:
    """The log, one event a line, to be read when a property fails."""
    lines = []
    for event in log:
        data = event.data.model_dump(exclude={"cluster"}, exclude_none=True, mode="json")
        when = f"{recorded(event):%d %H:%M:%S} {event.time:%d %H:%M:%S.%f}"
        lines.append(f"{when} {event.type[7:-3]} {event.source}/{event.id} {data}")
    return "\n".join(lines)
