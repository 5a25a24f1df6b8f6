"""Touches nothing, and says what it would do."""

from __future__ import annotations

from enforcer.orders import ACCEPTED, RUNNING, Hold, Order, Outcome, nothing_held


class Observe:
    """Where nothing is to be touched whatever the policy says: every run stays, so none ever left."""

    def preempt(self, order: Order) -> Outcome:
        """What would be told to the run."""
        return Outcome(ACCEPTED, f"Would {order.how} job {order.job} on {', '.join(order.nodes)}: {order.why}")

    def left(self, order: Order) -> Outcome:
        """Nobody was asked to leave."""
        return Outcome(RUNNING, f"Job {order.job} was not touched.")

    def kill(self, order: Order) -> Outcome:
        """What would follow the grace."""
        return Outcome(ACCEPTED, f"Would {order.how} job {order.job} by force.")

    def hold(self, hold: Hold) -> tuple[Outcome, str]:
        """What would be kept."""
        nodes = ", ".join(name for name, _ in hold.nodes)
        return Outcome(ACCEPTED, f"Would hold {nodes} for job {hold.asker_job}."), ""

    def release(self, handle: str) -> Outcome:
        """Nothing is held."""
        return nothing_held(handle)
