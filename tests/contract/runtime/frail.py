"""A store that lets its writer die between any two of its writes."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, Protocol

from ledger.rows import TABLES, Row
from ledger.store.protocol import Store


class Die(Protocol):
    """Ends the writer; is told which write it had just done."""

    def __call__(self, after: str, /) -> None: ...


@dataclass(slots=True)
class Fault:
    """When the writer dies: after the first write named in `after`, or after the `step`-th of all."""

    die: Die
    after: Collection[str] = ()
    step: int = -1
    done: list[str] = field(default_factory=list)
    """Names of the writes so far."""

    def wrote(self, name: str) -> None:
        """Count a write, and perhaps die of it."""
        self.done.append(name)
        if name in self.after or len(self.done) == self.step:
            self.die(name)


class Frail:
    """The store, with a fault that is asked after each write that wrote something; tables are written one by one."""

    def __init__(self, store: Store, fault: Fault) -> None:
        self._store = store
        self._fault = fault

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def _then(self, name: str, write: Callable[..., None], *arguments: Any) -> None:
        write(*arguments)
        self._fault.wrote(name)

    def append(self, events: list[Any]) -> None:
        if events:
            self._then("append", self._store.append, events)

    def write(self, generation: str, tables: dict[type[Row], list[Any]]) -> None:
        for kind, made in tables.items():
            if made:
                self._then(f"write {TABLES[kind]}", self._store.write, generation, {kind: made})

    def write_dead_letters(self, letters: list[Any]) -> None:
        if letters:
            self._then("write dead_letters", self._store.write_dead_letters, letters)

    def write_directory(self, accounts: list[Any], requests: list[Any]) -> None:
        if accounts or requests:
            self._then("write accounts", self._store.write_directory, accounts, requests)

    def write_samples(self, samples: Any) -> None:
        self._then("write gpu_samples", self._store.write_samples, samples)

    def save_checkpoint(self, generation: str, checkpoint: Any) -> None:
        self._then(f"checkpoint {checkpoint.cluster!r}", self._store.save_checkpoint, generation, checkpoint)

    def roll_up_samples(self, *arguments: Any) -> None:
        self._then("sum samples", self._store.roll_up_samples, *arguments)
