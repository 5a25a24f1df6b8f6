"""How an event was taken. A refusal is a name and a sentence a person can act on; it is data, never an exception."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

RefusalName = Literal[
    "not_utf8",
    "not_json",
    "not_an_event",
    "end_before_start",
    "wrong_topic",
    "from_the_future",
    "clock_not_set",
    "beyond_horizon",
    "stale_revision",
    "shares_over_100",
    "unknown_parent",
    "shares_of_own_part",
    "effective_in_a_closed_hour",
    "already_open",
    "already_planned",
    "already_ordered",
    "stale_plan",
    "unknown_plan",
    "plan_closed",
    "not_a_victim",
]
"""Why an event went to the dead letters."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The event changed nothing and goes to the dead letters."""

    name: RefusalName
    sentence: str


@dataclass(frozen=True, slots=True)
class Applied:
    """The event changed facts."""


@dataclass(frozen=True, slots=True)
class Repeated:
    """The event said nothing new."""


Outcome = Refused | Applied | Repeated

APPLIED: Final = Applied()
REPEATED: Final = Repeated()

Doubt = tuple[str, str, str]
"""What a person should look at though the event was taken: (name, subject, sentence)."""

BEFORE_OPENING: Final = "before_opening"
"""The remark on a run that was over before the book opens."""


def id_reused(source: str, event_id: str) -> Doubt:
    """One id, two contents."""
    return (
        "id_reused",
        event_id,
        (
            f"two different contents came under the id {event_id} of {source}; both are in the archive, "
            "the greater stamp is believed: give each statement an id of its own"
        ),
    )


def decided_before(source: str, event_id: str) -> Doubt:
    """One id, two contents, and it is a decision's."""
    return (
        "id_reused",
        event_id,
        (
            f"two different contents came under the id {event_id} of {source}; both are in the archive, and of a "
            "decision the first counts, also one that was refused: send a corrected decision under a new id"
        ),
    )
