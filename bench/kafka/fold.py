"""What every peer does with an event: the same decoding and the same fold, and a record of its job for its own state.

With an address of a store the rows are written there as well, by our own code. More than that our worker does, and none
of them: every event into the archive, dead letters, checkpoints of the facts.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from ledger.book import Book
from ledger.events import ClockTicked
from ledger.outcomes import Refused
from ledger.store.clickhouse import FIRST_GENERATION, ClickHouse, open_server
from ledger.units import epoch_s
from streams.batches import split
from streams.intake import AnyEvent, cluster_of, read
from streams.runtime.collector import calm

ROWS_EVERY = 500
"""Events between two times that rows are taken from the book: taking them for each event would cost more."""
WRITE_EVERY = 20_000
"""Events between two writes, as in our worker when it catches up."""

Said = tuple[str, dict[str, str]]
"""A key, and the record that a peer keeps under it."""


class Fold:
    """One cluster's book; rows are made and counted, and written if there is a store."""

    def __init__(self, store: str = "") -> None:
        calm()
        self.book = Book("")
        self.events = 0
        self.rows = 0
        self._store = _opened(store) if store else None

    def record(self, value: bytes) -> Iterator[Said]:
        """Fold the events of a record, one at a time."""
        for raw in split(value):
            yield self.event(raw)

    def event(self, raw: bytes) -> Said:
        """Fold one event."""
        event = read(raw)
        if isinstance(event, Refused):
            raise TypeError(event.sentence)
        if not self.events:
            self.book = Book(cluster_of(event))
        assert event.recordedtime is not None
        outcome = self.book.apply(event, epoch_s(event.recordedtime), last_tick=False)  # type: ignore[arg-type]
        self.events += 1
        if self.events % (WRITE_EVERY if self._store else ROWS_EVERY) == 0:
            self.take()
        return _about(event), {"type": event.type, "at": event.time.isoformat(), "outcome": type(outcome).__name__}

    def take(self) -> None:
        """Take the rows that are due; to be called at the end too."""
        rows = self.book.take()
        self.rows += sum(map(len, rows.values()))
        if self._store:
            self._store.write(FIRST_GENERATION, rows)


def _opened(address: str) -> ClickHouse:
    at = urlsplit(address)
    store = open_server(at.hostname or "", port=at.port or 0, database=at.path.strip("/"))
    store.migrate()
    return store


def _about(event: AnyEvent) -> str:
    return str(getattr(event.data, "job", "") or ("clock" if isinstance(event, ClockTicked) else event.id))
