"""Job states in all spellings – words, short codes, flags, `CANCELLED by 1000`, slurmdbd's numbers – to one meaning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from ledger.events.jobs import Outcome

Phase = Literal["pending", "running", "suspended", "ended"]

ENDED: Final[Mapping[str, Outcome]] = {
    "COMPLETED": "succeeded",
    "CANCELLED": "cancelled",
    "FAILED": "failed",
    "TIMEOUT": "timeout",
    "DEADLINE": "timeout",
    "NODE_FAIL": "node_failure",
    "BOOT_FAIL": "node_failure",
    "PREEMPTED": "preempted",
    "OUT_OF_MEMORY": "out_of_memory",
}
_PHASES: Final[Mapping[str, Phase]] = {
    "PENDING": "pending",
    "RUNNING": "running",
    "SUSPENDED": "suspended",
}
REQUEUES: Final = frozenset({"REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT"})
RUNS: Final = frozenset({"CONFIGURING", "COMPLETING", "RESIZING", "SIGNALING", "STAGE_OUT", "POWER_UP_NODE"})
"""Flags under which a job holds its GPUs when no base state is written beside them."""
LEAVES: Final = frozenset({"COMPLETING", "STAGE_OUT"})
STOPS: Final = frozenset({"STOPPED"})
QUEUES: Final = frozenset({"RESV_DEL_HOLD"})
SILENT: Final = frozenset({"LAUNCH_FAILED", "RECONFIG_FAIL", "UPDATE_DB", "EXPEDITING"})
REVOKED: Final = "REVOKED"

_SPELLINGS: Final[Mapping[str, str]] = {
    "PD": "PENDING", "R": "RUNNING", "S": "SUSPENDED", "CD": "COMPLETED", "CA": "CANCELLED", "F": "FAILED",
    "TO": "TIMEOUT", "NF": "NODE_FAIL", "PR": "PREEMPTED", "BF": "BOOT_FAIL", "DL": "DEADLINE",
    "OOM": "OUT_OF_MEMORY", "CG": "COMPLETING", "CF": "CONFIGURING", "RQ": "REQUEUED", "RH": "REQUEUE_HOLD",
    "RF": "REQUEUE_FED", "RS": "RESIZING", "RV": "REVOKED", "SI": "SIGNALING", "SE": "SPECIAL_EXIT",
    "SO": "STAGE_OUT", "ST": "STOPPED", "RD": "RESV_DEL_HOLD", "LF": "LAUNCH_FAILED",
    "REQUEUE": "REQUEUED", "COMPLETE": "COMPLETED", "CANCELED": "CANCELLED", "NODE_FAILED": "NODE_FAIL",
}  # fmt: skip
_NUMBERS: Final = (
    "PENDING", "RUNNING", "SUSPENDED", "COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED",
    "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY",
)  # fmt: skip
_NUMBER_FLAGS: Final = {
    0x400: "REQUEUED",
    0x800: "REQUEUE_HOLD",
    0x1000: "SPECIAL_EXIT",
    0x2000: "RESIZING",
    0x4000: "CONFIGURING",
    0x8000: "COMPLETING",
    0x10000: "STOPPED",
    0x100000: "REVOKED",
}
_BASE_MASK: Final = 0xFF
_WORDS: Final = frozenset({*ENDED, *_PHASES, *REQUEUES, *RUNS, *STOPS, *QUEUES, *SILENT, REVOKED})


class UnknownState(ValueError):
    """A state no Slurm writes; the message names it."""


@dataclass(frozen=True, slots=True)
class State:
    """What a state says: the phase, the outcome if it ended, whether it goes back to the queue, its reason why not."""

    phase: Phase
    outcome: Outcome | None = None
    requeued: bool = False
    held: bool = False
    revoked: bool = False
    leaving: bool = False
    """Its processes are on their way out: it ended, or goes back to the queue, and old versions do not say which."""


@lru_cache(maxsize=1_024)
def state_of(text: str) -> State:
    """The state written as text: a word, a code, `CANCELLED by 1000`, `CANCELLED+`, `RUNNING,COMPLETING`, a number."""
    if text.isascii() and text.isdigit():
        return resolve(numbered(int(text)))
    words = text.upper().split(" BY ")[0].rstrip("+").replace("+", ",").split(",")
    return resolve(words)


def numbered(number: int) -> list[str]:
    """The words of slurmdbd's number: base state in the low byte, flags above. Raises UnknownState."""
    base = number & _BASE_MASK
    if base >= len(_NUMBERS):
        raise UnknownState(f"{number} is no number of a Slurm state")
    return [_NUMBERS[base], *(word for flag, word in _NUMBER_FLAGS.items() if number & flag)]


def resolve(words: Iterable[str]) -> State:
    """One meaning out of a base state and its flags. Raises UnknownState."""
    spelled = [_SPELLINGS.get(word, word) for word in (w.strip().upper() for w in words) if word]
    strange = [word for word in spelled if word not in _WORDS]
    if strange or not spelled:
        raise UnknownState(f"{','.join(strange) or 'an empty state'} is no state of a Slurm job")
    requeued = any(word in REQUEUES for word in spelled)
    held = any(word in {"REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"} for word in spelled)
    outcome = next((ENDED[word] for word in spelled if word in ENDED), None)
    leaving = any(word in LEAVES for word in spelled)
    return State(_phase(spelled, outcome), outcome, requeued, held, REVOKED in spelled, leaving)


def _phase(spelled: list[str], outcome: Outcome | None) -> Phase:
    if outcome is not None:
        return "ended"
    if any(word in STOPS for word in spelled):
        return "suspended"
    for word in spelled:
        if word in _PHASES:
            return _PHASES[word]
    return "running" if any(word in RUNS for word in spelled) else "pending"
