"""Waiting for a store that is away: the one place where a write is tried again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from ledger.store.errors import StoreUnreachable

T = TypeVar("T")

FIRST_WAIT_S: Final = 0.2
LONGEST_WAIT_S: Final = 15.0


class Insist(Protocol):
    """How a call to the store is made: at once, or again and again."""

    def __call__(self, call: Callable[[], T]) -> T: ...


def at_once(call: Callable[[], T]) -> T:
    """No patience: whoever waits for the answer is told."""
    return call()


@dataclass(slots=True)
class Patience:
    """Tries again for `limit_s` seconds, at growing intervals, what fails because the store does not answer.

    Every write of ours may be done twice. `told` is the last trouble, '' while there is none.
    """

    limit_s: float
    sleep: Callable[[float], None]
    monotonic_s: Callable[[], float]
    told: str = ""

    def insist(self, call: Callable[[], T]) -> T:
        """The call's answer; its StoreUnreachable once patience is at its end, any other error at once."""
        until_s = self.monotonic_s() + self.limit_s
        wait_s = FIRST_WAIT_S
        while True:
            try:
                answer = call()
            except StoreUnreachable as away:
                self.told = str(away)
                if self.monotonic_s() + wait_s > until_s:
                    raise
            else:
                self.told = ""
                return answer
            self.sleep(wait_s)
            wait_s = min(2 * wait_s, LONGEST_WAIT_S)
