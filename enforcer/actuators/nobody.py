"""For a cluster that enforces, and of which nothing says how its scheduler is told: every order is refused."""

from __future__ import annotations

from typing import Final

from enforcer.orders import ACCEPTED, REFUSED, RUNNING, Hold, Order, Outcome


class Nobody:
    """Refuses what it is told, so that its plan ends and says why."""

    def __init__(self, cluster: str) -> None:
        """For that cluster."""
        self._refused: Final = Outcome(
            REFUSED, f"nothing says how {cluster} is told: write [actuators.{cluster}], or let it only observe"
        )

    def preempt(self, _: Order) -> Outcome:
        """Nobody to tell."""
        return self._refused

    def left(self, order: Order) -> Outcome:
        """Nobody was told."""
        return Outcome(RUNNING, f"Job {order.job} was not told to leave.")

    def kill(self, _: Order) -> Outcome:
        """Nobody to tell."""
        return self._refused

    def hold(self, _: Hold) -> tuple[Outcome, str]:
        """Nobody to tell."""
        return self._refused, ""

    def release(self, _: str) -> Outcome:
        """Nothing is held."""
        return Outcome(ACCEPTED, "Nothing is held.")
