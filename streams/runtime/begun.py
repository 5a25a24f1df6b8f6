"""Await something without a task where it needs no waiting: its first step is made at once, by whoever awaits it.

Not for what asks which task it runs in, such as `asyncio.timeout`: the rest may be awaited by another one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Coroutine, Generator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Begun(Awaitable[T], Generic[T]):
    """A coroutine whose first step is made; raises what that raises. Where it is not `done`, await the rest of it."""

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        """Make the first step, inside the task that is running."""
        self._coroutine = coroutine
        self.done = False
        try:
            self._waits_for = coroutine.send(None)
        except StopIteration as end:
            self.done = True
            self.result: T = end.value

    def __await__(self) -> Generator[Any, Any, T]:
        """The rest: first what it waits for already, then whatever follows."""
        while not self.done:
            thrown: BaseException | None = None
            try:
                yield self._waits_for
            except BaseException as wrong:  # noqa: BLE001 -- whatever is thrown in is for the coroutine
                thrown = wrong
            try:
                self._waits_for = self._coroutine.throw(thrown) if thrown else self._coroutine.send(None)
            except StopIteration as end:
                self.done = True
                self.result = end.value
        return self.result
