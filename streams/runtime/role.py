"""What a worker does with the partitions it is given; `Worker` itself only knows Kafka's side of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, Protocol, TypeVar

from ledger.checkpoint import Partition
from streams.runtime.owner import Message
from streams.topics import Topic

T = TypeVar("T")


class Taker(Protocol):
    """What takes the records of one partition; `Owner` says what each method does. All of them block."""

    unsaved: bool
    """Something was taken that no checkpoint speaks of."""

    @property
    def unsettled(self) -> bool:
        """Nothing waits for it, but another save may have something to do."""
        ...

    @property
    def partition(self) -> Partition: ...

    @property
    def next_offset(self) -> int: ...

    def take(self, messages: Sequence[Message]) -> int | None: ...

    def save(self) -> None: ...


class Owned(NamedTuple):
    """A partition given to the worker: how many records Kafka has beyond what was taken, None until it said so."""

    taker: Taker
    behind: int | None


class Blocking(Protocol):
    """Makes a blocking call in the one thread for takers, after those asked for before."""

    def __call__(self, call: Callable[[], T]) -> Awaitable[T]: ...


class Role(Protocol):
    """A worker's work: which topics it reads, what takes a partition of them, and what it does by itself."""

    @property
    def topics(self) -> Sequence[Topic]: ...

    @property
    def trouble(self) -> str:
        """What it waits for, '' if nothing."""
        ...

    def taker(self, partition: Partition, begin: int) -> Taker:
        """What takes the partition from now on; blocks. `begin` is where Kafka's own memory would read on."""
        ...

    async def live(self, owned: Callable[[], Sequence[Owned]], blocking: Blocking) -> None:
        """What it does besides, until it is cancelled; what it raises stops the worker."""
        ...
