"""A book nobody reads rows of: it keeps hours and facts, and writes nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ledger.book import Book
from ledger.events import ClusterEvent
from ledger.hours import Sums
from ledger.postings import Legs
from ledger.rows import Row
from ledger.state import State
from ledger.writer import Writer


class QuietWriter(Writer):
    """Takes everything and keeps nothing."""

    def post(self, hour_s: int, cause: bytes, legs: Legs) -> None: ...

    def accounts(self, hour_s: int, cause: bytes, touched: Iterable[tuple[str, str]]) -> None: ...

    def pools(self, hour_s: int, cause: bytes, touched: Iterable[str]) -> None: ...

    def node(self, hour_s: int, node: str, sums: dict[str, Sums]) -> None: ...

    def open_hour(self, hour_s: int, until_s: int, pool: str, account: str, sums: Sums) -> None: ...

    def correction(self, event: ClusterEvent, cause: bytes, since_s: int, until_s: int, moved_gpu_ms: int) -> None: ...


class QuietBook(Book):
    """The fold without its rows."""

    def resume(self, state: State) -> None:
        """Go on from a state."""
        super().resume(state)
        self.writer = QuietWriter(state)

    def take(self) -> dict[type[Row], list[Any]]:
        """No row, ever."""
        self._rows_due.clear()
        self.changed.clear()
        self.writer.rows.clear()
        return {}
