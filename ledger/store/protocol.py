"""The store as the rest of Tenure sees it. One implementation serves chDB and ClickHouse servers alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ledger.archive import ArchivedEvent, DeadLetter
from ledger.checkpoint import Checkpoint, Partition
from ledger.rows import Row
from ledger.units import DAY_S

Value = object
"""A cell of a result: str, int, float, bool, aware UTC datetime, bytes, None; lists and dicts of them."""


@dataclass(frozen=True, slots=True)
class Table:
    """The answer to a query, row by row. `types` are ClickHouse's, parallel to `columns`.

    `truncated` says that there were more rows than were asked for.
    """

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: list[tuple[Value, ...]]
    truncated: bool = False

    def dicts(self) -> list[dict[str, Value]]:
        """Each row under its column names."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


@dataclass(frozen=True, slots=True)
class Limits:
    """What a reader may take: seconds of time, rows of result, bytes of memory."""

    max_execution_s: int = 30
    max_rows: int = 100_000
    max_memory_bytes: int = 4 << 30


@dataclass(frozen=True, slots=True)
class TableDifference:
    """Rows of one table that two generations do not share, compared in every column but `generation`."""

    table: str
    only_in_a: int
    only_in_b: int
    columns: tuple[str, ...]
    examples_a: list[tuple[Value, ...]]
    examples_b: list[tuple[Value, ...]]


SAMPLES_KEPT_S: Final = 90 * DAY_S
"""How long samples are worth keeping: `expire_samples` is called with the last tick less this."""


@dataclass(frozen=True, slots=True)
class Samples:
    """Samples of GPUs, one array per column, all of one length.

    `cluster` and `node` are places in `clusters` and `nodes`, as `coded` makes them, since there are millions of
    samples and few names. `gpu` is an index, `at_s` epoch seconds at which the interval of `interval_s` seconds
    starts. NaN in `sm_active_pct`, `memory_used_mib` and `power_w` means not sampled, and a negative `xid` means none.
    """

    clusters: tuple[str, ...]
    cluster: NDArray[np.uint16]
    nodes: tuple[str, ...]
    node: NDArray[np.uint16]
    gpu: NDArray[np.uint16]
    at_s: NDArray[np.int64]
    interval_s: NDArray[np.uint32]
    utilization_pct: NDArray[np.float32]
    sm_active_pct: NDArray[np.float32]
    memory_used_mib: NDArray[np.float32]
    power_w: NDArray[np.float32]
    xid: NDArray[np.int32]


def coded(names: Sequence[str]) -> tuple[tuple[str, ...], NDArray[np.uint16]]:
    """Each name once, and the place of each in that."""
    places = {name: place for place, name in enumerate(dict.fromkeys(names))}
    return tuple(places), np.array([places[name] for name in names], np.uint16)


class AccountEntry(NamedTuple):
    """The directory's latest statement of an account. `occurred_us`: microseconds since 1970 UTC."""

    account: str
    title: str
    leads: tuple[str, ...]
    webhooks: tuple[str, ...]
    labels: dict[str, str]
    closed: bool
    occurred_us: int


class ShareRequest(NamedTuple):
    """A request for another share of the parent, percent as exact decimal text; `pool` '' for every type."""

    request: str
    cluster: str
    pool: str
    account: str
    share_percent: str
    author: str
    reason: str
    occurred_us: int


class WhatIfFigure(NamedTuple):
    """A figure of a span as it was recorded, or as it plays without or with enforcement."""

    cluster: str
    since_s: int
    until_s: int
    policy: str
    side: str
    pool: str
    account: str
    figure: str
    subject: str
    amount: int
    seq: int
    recorded_us: int


class WhatIfPlan(NamedTuple):
    """A plan that enforcement would have made in a span; the tuples of victims are parallel."""

    cluster: str
    since_s: int
    until_s: int
    policy: str
    plan: str
    pool: str
    committed_s: int
    job: str
    account: str
    gpus_milli: int
    rule: str
    lost_gpu_ms: int
    state: str
    victims: tuple[str, ...]
    victim_accounts: tuple[str, ...]
    victim_classes: tuple[str, ...]
    seq: int
    recorded_us: int


class Store(Protocol):
    """Keeps the log, the book's rows and the checkpoints. Every method may raise a StoreError.

    Order of writing is the caller's: append, then rows, then checkpoint. What a method wrote is durable when
    it returns (samples excepted), and writing the same again changes nothing. Threads may share a store.
    """

    def migrate(self) -> None:
        """Bring the tables and views up to this code; raise SchemaTooNew where they are ahead of it."""
        ...

    def close(self) -> None:
        """Let go of the database. Further calls fail."""
        ...

    def settle_log(self, home: str) -> None:
        """Say who gives out places of this log; StoreError where it is somebody else, before anything is written."""
        ...

    def append(self, events: Sequence[ArchivedEvent]) -> None:
        """Write records of the log under the places they carry."""
        ...

    def read_events(self, topic: str, partition: int, after_offset: int, limit: int) -> list[ArchivedEvent]:
        """The next events by (offset, index): `limit`, and the rest of a batched record it would cut."""
        ...

    def last_offset(self, topic: str, partition: int) -> int:
        """The greatest offset written, -1 for none."""
        ...

    def write_dead_letters(self, letters: Sequence[DeadLetter]) -> None:
        """Keep what was not taken; the last word on a place in the log holds."""
        ...

    def dead_letters(self, cluster: str | None = None, limit: int = 1_000) -> list[DeadLetter]:
        """The latest dead letters, latest first; of every cluster by default ('' is the letters of none)."""
        ...

    def write(self, generation: str, rows: Mapping[type[Row], Sequence[Row]]) -> None:
        """Write rows of the fold, one insert per table; one of the same key and a lower seq is replaced."""
        ...

    def save_checkpoint(self, generation: str, checkpoint: Checkpoint) -> None:
        """Say that everything up to the checkpoint's position is written."""
        ...

    def checkpoints(self, generation: str) -> dict[Partition, dict[str, Checkpoint]]:
        """The checkpoint furthest into the log, by partition and cluster."""
        ...

    def write_directory(self, accounts: Sequence[AccountEntry], requests: Sequence[ShareRequest]) -> None:
        """Keep statements of the directory; the latest `occurred_us` holds."""
        ...

    def write_what_if(self, figures: Sequence[WhatIfFigure], plans: Sequence[WhatIfPlan]) -> None:
        """Keep what a span would have been; of one span and policy the latest `recorded_us` holds."""
        ...

    def write_samples(self, samples: Samples) -> None:
        """Keep samples; one sent twice is one. Not synced to disk: a power cut may lose the last seconds."""
        ...

    def roll_up_samples(self, generation: str, cluster: str, from_s: int, until_s: int, rolled_s: int) -> None:
        """Sum the samples of closed hours in [from_s, until_s) by run, GPU and hour, replacing earlier sums.

        The rule is in sql/queries/roll_up_samples.sql. `rolled_s`, an instant that never decreases, tells
        which sum is the later.
        """
        ...

    def expire_samples(self, before_s: int) -> None:
        """Forget samples of weeks that ended by `before_s`; their sums stay."""
        ...

    def live_generation(self) -> str:
        """The generation the views show."""
        ...

    def set_live_generation(self, generation: str) -> None:
        """Let the views show another generation."""
        ...

    def compare_generations(
        self, a: str, b: str, examples: int = 5, settled: Mapping[str, int] | None = None
    ) -> list[TableDifference]:
        """What two generations do not share, table by table; tables that agree are left out.

        With `settled`, a seq by cluster, only what neither has written since: one of them may be going on.
        """
        ...

    def drop_generation(self, generation: str) -> None:
        """Forget a generation's rows and checkpoints; the live one is refused."""
        ...

    def query(self, query: str, parameters: Mapping[str, Value] | None = None, *, max_rows: int = 0) -> Table:
        """Answer a named query (a file in sql/queries) or SQL of our own, up to `max_rows` (0: all).

        Parameters are bound by the database, `{name:Type}` in the text. Nothing can be written.
        """
        ...

    def ask(self, sql: str, parameters: Mapping[str, Value] | None = None, *, limits: Limits) -> Table:
        """Answer SQL that somebody typed: one SELECT over the `report_*` views, within limits.

        Raises QueryRefused for anything else, QueryTooLarge for more than the limits allow. More rows than
        `limits.max_rows` are cut off, and the table says so.
        """
        ...
