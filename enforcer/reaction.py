"""Since when a plan could have been made, told in it: how fast the enforcer is follows from its log.

An asker is due once its delay and its back-off are over and those who yield have banked their contracts. Who was due
and was looked at in vain is due anew when the facts change, or, where only time passed, at the tick that showed it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from enforcer.gates import may_ask_s
from enforcer.plan import Plan
from enforcer.rules import Rules
from enforcer.snapshot import Unit
from ledger.state import State


def due_s(plan: Plan, rules: Rules) -> int:
    """When the asker and those who yield to it were ready for it."""
    asker = plan.asker
    return max(may_ask_s(asker, rules), asker.not_before_s, ready_s(victim.unit for victim in plan.victims))


def ready_s(units: Iterable[Unit]) -> int:
    """When all of them might yield; unfunded work may from its start on."""
    return max((max(unit.started_s, unit.contract_end_s) for unit in units), default=0)


@dataclass(slots=True)
class Passes:
    """When everybody was last looked at with nobody left to plan for, and since when facts are others."""

    _ticked_s: int | None = None
    _seq: int = -1
    _changed_ms: int | None = None

    def begin(self, state: State, now_ms: int) -> None:
        """A look begins. To a new enforcer all before the tick it finds counts as looked at by another."""
        if self._ticked_s is None:
            self._ticked_s = state.ticked_s or now_ms // 1000
        elif self._changed_ms is None and state.seq != self._seq:
            self._changed_ms = now_ms

    def end(self, state: State) -> None:
        """Everybody was looked at, and nobody is left to plan for."""
        self._ticked_s, self._seq, self._changed_ms = state.ticked_s, state.seq, None

    def due_ms(self, ready_s: int, at_s: int) -> int:
        """Since when a plan made at a tick was due, whose asker and victims were ready at an instant."""
        if self._ticked_s is None or ready_s > self._ticked_s:
            return ready_s * 1000
        return at_s * 1000 if self._changed_ms is None else min(self._changed_ms, at_s * 1000)
