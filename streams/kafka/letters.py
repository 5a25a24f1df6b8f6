"""Dead letters told to their topic, once they are kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from ledger.archive import DeadLetter
from ledger.store.protocol import Store
from streams.kafka.producer import Publisher
from streams.letters import records
from streams.topics import DEAD_LETTERS

Tell = Callable[[Sequence[DeadLetter]], None]


def tell(publisher: Publisher, letters: Sequence[DeadLetter]) -> None:
    """Send letters to their topic; returns once they are kept there."""
    publisher.put_all(DEAD_LETTERS.name, ((letter.cluster, part) for letter in letters for part in records(letter)))


def telling(store: Store, tell: Tell) -> Store:
    """The store, which tells of dead letters whenever it has kept some.

    A crash in between has them told again after the restart, since there is no checkpoint behind them.
    """
    return cast("Store", _Telling(store, tell))


class _Telling:
    def __init__(self, store: Store, tell: Tell) -> None:
        self._store = store
        self._tell = tell

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 -- the rest is the store's own
        return getattr(self._store, name)

    def write_dead_letters(self, letters: Sequence[DeadLetter]) -> None:
        self._store.write_dead_letters(letters)
        if letters:
            self._tell(letters)
