"""The store on ClickHouse: in this process (chDB) or a server. Only the opening of a client differs.

Writes go one at a time through one client; reads borrow a client each, so a long one keeps nobody waiting.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from queue import Empty, LifoQueue
from typing import Any, Final, NamedTuple, cast

from clickhouse_connect import get_client
from clickhouse_connect.datatypes.base import ClickHouseType
from clickhouse_connect.driver.client import Client

from ledger.archive import ArchivedEvent, DeadLetter
from ledger.checkpoint import Checkpoint, Partition, Position
from ledger.rows import TABLES, Row
from ledger.store import comparison, guard, samples
from ledger.store.cluster import SETTINGS as CLUSTER_SETTINGS
from ledger.store.cluster import Cluster, catching_up, check_shards
from ledger.store.columns import columns_of
from ledger.store.errors import StoreError, answered, translated, written
from ledger.store.migrate import migrate
from ledger.store.protocol import (
    AccountEntry,
    Limits,
    Samples,
    ShareRequest,
    Table,
    TableDifference,
    Value,
    WhatIfFigure,
    WhatIfPlan,
)
from ledger.store.readers import readable
from ledger.store.sql import read
from ledger.units import hour_ceil_s, hour_floor_s

Connect = Callable[[], Client]

logging.getLogger("clickhouse_connect").addHandler(logging.NullHandler())
"""What the driver warns of it raises too, and then it is told once, in our words."""

FIRST_GENERATION: Final = "g1"
"""The generation a new store writes and shows."""

APPEND_ROWS: Final = 50_000
"""Events per insert: too few for ClickHouse to split, so an interrupted append leaves no gap."""

WRITER_SETTINGS: Final = {
    "async_insert": 0,  # a server's profile may switch it on, and an insert must be durable when it returns
    "max_partitions_per_insert_block": 0,  # a backfill of ten years is one insert of 120 months
    "insert_deduplicate": 0,  # replicas drop a block they had before, but a row may be said again after another one
}
ANY_SIZE: Final = "max_partition_size_to_drop = 0"
"""A server refuses to drop more than 50 GB in one go: a month of a large cluster."""
READER_SETTINGS: Final = {
    "do_not_merge_across_partitions_select_final": 1,  # keys hold their partition's columns
    "join_use_nulls": 0,  # the views count on an absent row being zeros, whatever a server's profile says
    "readonly": 2,  # 2, because our own queries carry SETTINGS
}


def open_chdb(path: str, *, database: str = "tenure") -> ClickHouse:
    """The store in the folder `path`, inside this process; StoreBusy where another process has it open.

    chDB allows one folder per process: two stores may share it, under two databases or the same one.
    """

    def connect() -> Client:
        return get_client(interface="chdb", path=path, tz_mode="aware")

    return ClickHouse(connect, where=path, database=database)


def open_server(  # noqa: PLR0913 -- an address has so many parts, and a call names them
    host: str,
    *,
    port: int = 8123,
    user: str = "default",
    password: str = "",
    secure: bool = False,
    database: str = "tenure",
    cluster: str | None = None,
    timeout_s: int = 300,
) -> ClickHouse:
    """The store on a ClickHouse server, over HTTP(S); raises StoreUnreachable where it does not answer.

    With `cluster`, the server is one replica of the cluster that its configuration has under that name. A server
    that says nothing for `timeout_s` does not answer.
    """

    def connect() -> Client:
        return get_client(
            host=host,
            port=port,
            username=user,
            password=password,
            secure=secure,
            send_receive_timeout=timeout_s,
            tz_mode="aware",
            autogenerate_session_id=False,  # a session admits one query at a time
        )

    where = f"the ClickHouse server {host}:{port}"
    replicas = Cluster(cluster) if cluster else None
    return ClickHouse(connect, where=where, database=database, has_users=True, cluster=replicas)


class ClickHouse:
    """A `Store` on ClickHouse; open one with `open_chdb` or `open_server`."""

    def __init__(
        self,
        connect: Connect,
        *,
        where: str,
        database: str,
        has_users: bool = False,
        cluster: Cluster | None = None,
    ) -> None:
        self.where: Final = where
        self.database: Final = database
        self.has_users: Final = has_users
        self.cluster: Final = cluster
        self._connect: Final = connect
        self._idle: Final[LifoQueue[Client]] = LifoQueue()
        self._types: Final[dict[str, dict[str, ClickHouseType]]] = {}
        self._closed: Final = threading.Event()
        self._writing: Final = threading.Lock()
        with translated(where):
            self._writer: Final = connect()
        if cluster:
            check_shards(cluster, dict(self._name_pairs(read("queries")["cluster_shards"])), where)
        if not self._name_pairs(f"SELECT name, '' FROM system.databases WHERE name = '{database}'"):  # noqa: S608
            self._command(self._as_run(f"CREATE DATABASE IF NOT EXISTS {database}"))
        with translated(where):
            self._enter(self._writer, WRITER_SETTINGS | (CLUSTER_SETTINGS if cluster else {}))

    def migrate(self) -> None:
        with self._writing:
            there = {name for name, _ in self._name_pairs(f"SELECT name, '' FROM ({read('queries')['tables']})")}  # noqa: S608
            self._sync(*(there & {"schema_migrations", "generations"}))
            migrate(self._command, self._name_pairs, self._as_run)
            self._types.clear()
            if not self._name_pairs("SELECT generation, '' FROM generations LIMIT 1"):
                self._command(f"INSERT INTO generations VALUES ('{FIRST_GENERATION}', 1)")  # noqa: S608

    def close(self) -> None:
        self._closed.set()
        while not self._idle.empty():
            self._idle.get_nowait().close()
        self._writer.close()

    # ------------------------------------------------------------ the log

    def settle_log(self, home: str) -> None:
        self._catch_up("log_homes")
        homes = [str(name) for (name,) in self._rows("log_homes", {})]
        if not homes:
            self._insert("log_homes", {"home": [home]})
        elif homes != [home]:
            raise StoreError(
                f"the log of this book is kept in {homes[0]}, not in {home}: write there, or name another book"
            )

    def append(self, events: Sequence[ArchivedEvent]) -> None:
        for start in range(0, len(events), APPEND_ROWS):
            part = events[start : start + APPEND_ROWS]
            self._insert("events", _with_safe_text(columns_of(ArchivedEvent, part)))

    def read_events(self, topic: str, partition: int, after_offset: int, limit: int) -> list[ArchivedEvent]:
        self._catch_up("events")
        place = {"topic": topic, "partition": partition, "after": after_offset, "limit": limit}
        rows = self._rows("read_events", place, {"raw": "bytes"})
        return [ArchivedEvent(*row) for row in rows]

    def last_offset(self, topic: str, partition: int) -> int:
        self._catch_up("events")
        ((offset,),) = self._rows("last_offset", {"topic": topic, "partition": partition})
        return int(offset)

    def write_dead_letters(self, letters: Sequence[DeadLetter]) -> None:
        if letters:
            self._insert("dead_letters", _with_safe_text(columns_of(DeadLetter, letters)))

    def dead_letters(self, cluster: str | None = None, limit: int = 1_000) -> list[DeadLetter]:
        wanted = {"every_cluster": cluster is None, "cluster": cluster or "", "limit": limit}
        return [DeadLetter(*row) for row in self._rows("dead_letters", wanted, {"raw": "bytes"})]

    # ------------------------------------------------------------ the book

    def write(self, generation: str, rows: Mapping[type[Row], Sequence[Row]]) -> None:
        for row_type, of_type in rows.items():
            columns = columns_of(row_type, of_type)
            self._insert(TABLES[row_type], {"generation": [generation] * len(of_type), **columns})

    def save_checkpoint(self, generation: str, checkpoint: Checkpoint) -> None:
        at = checkpoint.position
        row = _CheckpointRow(
            generation=generation,
            cluster=checkpoint.cluster,
            seq=checkpoint.seq,
            topic=at.topic,
            partition=at.partition,
            offset=at.offset,
            index=at.index,
            recorded_s=checkpoint.recorded_s,
            ticked_s=checkpoint.ticked_s,
            closed_until_s=checkpoint.closed_until_s,
            events=checkpoint.events,
            facts=checkpoint.facts,
            facts_hash=checkpoint.facts_hash,
            log_hash=checkpoint.log_hash,
        )
        self._insert("partition_checkpoints", columns_of(_CheckpointRow, [row]))

    def checkpoints(self, generation: str) -> dict[Partition, dict[str, Checkpoint]]:
        self._catch_up("partition_checkpoints")
        found: dict[Partition, dict[str, Checkpoint]] = {}
        for row in self._rows("checkpoints", {"generation": generation}, {"facts": "bytes"}):
            checkpoint = Checkpoint(row[0], row[1], Position(*row[2:6]), *row[6:])
            found.setdefault(checkpoint.position.of, {})[checkpoint.cluster] = checkpoint
        return found

    # ------------------------------------------------------------ directory and samples

    def write_directory(self, accounts: Sequence[AccountEntry], requests: Sequence[ShareRequest]) -> None:
        self._insert("accounts", columns_of(AccountEntry, accounts))
        self._insert("share_requests", columns_of(ShareRequest, requests))

    def write_what_if(self, figures: Sequence[WhatIfFigure], plans: Sequence[WhatIfPlan]) -> None:
        """Plans first: they count once a figure of their play is there."""
        self._insert("what_if_plans", columns_of(WhatIfPlan, plans))
        self._insert("what_ifs", columns_of(WhatIfFigure, figures))

    def write_samples(self, samples_: Samples) -> None:
        if len(samples_.at_s):
            with self._writing, written(self.where):
                self._writer.raw_insert("gpu_samples", samples.COLUMNS, samples.native(samples_), fmt="Native")

    def roll_up_samples(self, generation: str, cluster: str, from_s: int, until_s: int, rolled_s: int) -> None:
        first_s, end_s = hour_ceil_s(from_s), hour_floor_s(until_s)
        self._catch_up("gpu_samples", "runs", "run_gpu_hours")
        rows = self._rows("count_samples", {"cluster": cluster, "from_s": first_s, "until_s": end_s})
        same = {"generation": generation, "cluster": cluster, "rolled_s": rolled_s}
        for begin_s, till_s in samples.spans(first_s, end_s, dict(rows)):
            with self._writing, written(self.where):
                parameters = {**same, "from_s": begin_s, "until_s": till_s}
                self._writer.command(read("queries")["roll_up_samples"], parameters=parameters)

    def expire_samples(self, before_s: int) -> None:
        ended = "toMonday(at) + INTERVAL 7 DAY <= toDate(toDateTime({before_s:Int64}, 'UTC'))"
        self._drop_partitions("gpu_samples", ended, {"before_s": before_s})

    # ------------------------------------------------------------ generations

    def live_generation(self) -> str:
        self._catch_up("generations")
        ((generation,),) = self._rows("live_generation", {})
        return str(generation)

    def set_live_generation(self, generation: str) -> None:
        self._catch_up("generations")
        with self._writing, translated(self.where):
            self._writer.command(read("queries")["set_live_generation"], parameters={"generation": generation})

    def compare_generations(
        self, a: str, b: str, examples: int = 5, settled: Mapping[str, int] | None = None
    ) -> list[TableDifference]:
        if a == b:
            return []
        self._catch_up(*TABLES.values())
        compared = (comparison.compare(self.query, table, a, b, examples, settled) for table in TABLES.values())
        return [difference for difference in compared if difference.only_in_a or difference.only_in_b]

    def drop_generation(self, generation: str) -> None:
        if generation == self.live_generation():
            raise StoreError(f"{generation} is the live generation: let the views show another one first")
        for table in (*TABLES.values(), "run_gpu_hours", "partition_checkpoints"):
            self._drop_partitions(table, "generation = {generation:String}", {"generation": generation})

    def _drop_partitions(self, table: str, condition: str, parameters: Mapping[str, Value]) -> None:
        """Drop the partitions that hold such rows, and nothing else; on a cluster the drop replicates itself."""
        self._catch_up(table)
        sql = f"SELECT DISTINCT _partition_id FROM {table} WHERE {condition}"  # noqa: S608
        partitions = self._rows(sql, parameters)
        with self._writing:
            for (partition,) in partitions:
                self._command(f"ALTER TABLE {table} DROP PARTITION ID '{partition}' SETTINGS {ANY_SIZE}")

    # ------------------------------------------------------------ reading

    def query(self, query: str, parameters: Mapping[str, Value] | None = None, *, max_rows: int = 0) -> Table:
        sql = read("queries").get(query, query)
        settings = {"max_result_rows": max_rows + 1, "result_overflow_mode": "break"} if max_rows else {}
        with self._reader() as client:
            return _table(client, sql, parameters, settings, max_rows)

    def ask(self, sql: str, parameters: Mapping[str, Value] | None = None, *, limits: Limits) -> Table:
        statement = guard.one_statement(sql)
        tables = {str(name) for (name,) in self._rows("tables", {})}
        with answered(self.where):
            client = self._connect()
            try:
                self._enter(client, guard.settings(limits))
                tree = client.raw_query(f"EXPLAIN AST {statement}", parameters=_bound(parameters))
                guard.check_tree(tree.decode(), self.database, tables)
                return _table(client, statement, parameters, {}, limits.max_rows)
            finally:
                client.close()

    # ------------------------------------------------------------ clients

    def _enter(self, client: Client, settings: Mapping[str, object]) -> None:
        """Make the client one of this database; `readonly` comes last, since it forbids further settings."""
        client.database = self.database
        for name, value in settings.items():
            client.set_client_setting(name, value)

    @contextmanager
    def _reader(self) -> Iterator[Client]:
        if self._closed.is_set():
            raise StoreError(f"the store at {self.where} is closed")
        with translated(self.where):
            try:
                client = self._idle.get_nowait()
            except Empty:
                client = self._connect()
                self._enter(client, READER_SETTINGS)
            try:
                yield client
            finally:
                if self._closed.is_set():
                    client.close()
                else:
                    self._idle.put(client)

    def _rows(self, query: str, parameters: Mapping[str, Value], formats: dict[str, str] | None = None) -> list[Any]:
        """Rows of one of our own queries; `formats` names columns to read as bytes."""
        sql = read("queries").get(query, query)
        with self._reader() as client:
            result = client.query(sql, parameters=dict(parameters), column_formats=dict(formats or {}), query_tz="UTC")
            return list(result.result_rows)

    def _name_pairs(self, sql: str) -> list[tuple[str, str]]:
        with translated(self.where):
            return [(str(a), str(b)) for a, b in self._writer.query(sql).result_rows]

    def _command(self, sql: str) -> object:
        with translated(self.where):
            return self._writer.command(sql)

    def _as_run(self, statement: str) -> str:
        """A statement that makes or changes tables, as it runs here: for readers, and on all replicas of a cluster."""
        if self.has_users:
            statement = readable(statement)
        return self.cluster.statement(statement) if self.cluster else statement

    def _catch_up(self, *tables: str) -> None:
        """Before a read that must see the latest write, whichever replica took it."""
        if self.cluster:
            with self._writing:
                self._sync(*tables)

    def _sync(self, *tables: str) -> None:
        for table in tables if self.cluster else ():
            self._command(catching_up(table))

    def _insert(self, table: str, columns: Mapping[str, Sequence[object]]) -> None:
        """One insert, column by column; types are asked of the table once."""
        if not len(next(iter(columns.values()))):
            return
        with self._writing, written(self.where):
            types = self._types.get(table) or self._described(table)
            self._writer.insert(
                table,
                list(columns.values()),
                column_names=list(columns),
                column_types=[types[name] for name in columns],
                column_oriented=True,
            )

    def _described(self, table: str) -> dict[str, ClickHouseType]:
        context = self._writer.create_insert_context(table)
        self._types[table] = dict(zip(context.column_names, context.column_types, strict=True))
        return self._types[table]


class _CheckpointRow(NamedTuple):
    """A checkpoint flat, as its table has it."""

    generation: str
    cluster: str
    seq: int
    topic: str
    partition: int
    offset: int
    index: int  # type: ignore[assignment]  # as in ArchivedEvent
    recorded_s: int
    ticked_s: int
    closed_until_s: int
    events: int
    facts: bytes
    facts_hash: int
    log_hash: int


def _with_safe_text(columns: dict[str, Sequence[object]]) -> dict[str, Sequence[object]]:
    """Text that came from outside unread may hold lone surrogates, which no UTF-8 has: escape them."""
    return {name: _safe(values) if isinstance(values[0], str) else values for name, values in columns.items()}


def _safe(values: Sequence[object]) -> Sequence[object]:
    texts = cast("Sequence[str]", values)
    if "".join(texts).isascii():
        return values
    return [text.encode("utf-8", "backslashreplace").decode() for text in texts]


def _bound(parameters: Mapping[str, Value] | None) -> dict[str, Value] | None:
    return dict(parameters) if parameters else None


def _table(
    client: Client,
    sql: str,
    parameters: Mapping[str, Value] | None,
    settings: Mapping[str, object],
    max_rows: int,
) -> Table:
    """Run a query and keep at most `max_rows` rows (0: all). Times are aware UTC whatever the host's zone."""
    result = client.query(sql, parameters=_bound(parameters), settings=dict(settings), query_tz="UTC")
    if not result.column_names:
        return _empty_table(client, sql, parameters)
    rows = [tuple(row) for row in result.result_rows]
    truncated = 0 < max_rows < len(rows)
    return Table(
        columns=tuple(result.column_names),
        types=tuple(kind.name for kind in result.column_types),
        rows=rows[:max_rows] if truncated else rows,
        truncated=truncated,
    )


def _empty_table(client: Client, sql: str, parameters: Mapping[str, Value] | None) -> Table:
    """The columns of an answer without rows, which chDB leaves out."""
    described = client.query(f"DESCRIBE (\n{sql}\n)", parameters=_bound(parameters)).result_rows
    return Table(
        columns=tuple(str(row[0]) for row in described), types=tuple(str(row[1]) for row in described), rows=[]
    )
