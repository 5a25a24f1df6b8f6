"""What leaders decide during the month: requests, answers, revisions of shares, grants.

All of it is written down here, not drawn: a story should be the same under every seed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

from tenure.demo.cluster import B200, H100
from tenure.demo.span import Span
from tenure.demo.tree import (
    LAB,
    LANGUAGE,
    OPENING,
    SCIENCE,
    SLOT_LIMIT_GPUS,
    VISION,
    Claims,
    Part,
    ShareSet,
    claims,
    parts,
)

Moment = tuple[int, int]
"""(day, hour) of the thirty-day story."""


@dataclass(frozen=True, slots=True)
class Revision:
    """A `shares.set`: in force from `effective`, or at once; a `stale` one will be refused."""

    shares: ShareSet
    at: Moment
    author: str
    reason: str
    expected_revision: int
    effective: Moment | None = None
    backdated: bool = False
    stale: bool = False


@dataclass(frozen=True, slots=True)
class Review:
    """A lead's request and the answer of whoever divides the parent's share."""

    request: str
    account: str
    asked: str
    asked_at: Moment
    author: str
    plea: str
    decision: Literal["approved", "amended", "refused"]
    decided_at: Moment
    given: str | None
    decider: str
    answer: str


@dataclass(frozen=True, slots=True)
class Grant:
    """GPU-hours beside the shares, accruing evenly over [since, until)."""

    grant: str
    account: str
    gpu_type: str
    gpu_h: int
    at: Moment
    since: Moment
    until: Moment
    author: str
    reason: str


REVIEWS: Final = (
    Review(
        "R-101",
        f"{SCIENCE}/proteins",
        "40",
        (5, 9),
        "clara.jensen",
        "Docking campaign: fold 40,000 complexes before the end of the month.",
        "approved",
        (6, 10),
        "40",
        "omar.farouk",
        "Climate agreed to lend five points; carried out by revision 2 of aurora-lab/science.",
    ),
    Review(
        "R-102",
        f"{LANGUAGE}/reasoning",
        "20",
        (8, 11),
        "samuel.okafor",
        "Long-context rollouts need a second 64-GPU gang.",
        "amended",
        (9, 14),
        "15",
        "marta.kovacs",
        "15 now, more after the pretraining run; carried out by revision 2 of aurora-lab/language.",
    ),
    Review(
        "R-103",
        f"{VISION}/navigation",
        "40",
        (11, 10),
        "tomas.varga",
        "We plan a large sweep when we are back.",
        "refused",
        (12, 15),
        None,
        "david.chen",
        "Nothing was submitted this week; ask again with demand in the queue.",
    ),
)

REVISIONS: Final = (
    Revision(
        ShareSet(
            SCIENCE,
            (
                *parts(proteins="40", climate="25", materials="20"),
                Part("astronomy", "15", SLOT_LIMIT_GPUS),
            ),
        ),
        (6, 10),
        "omar.farouk",
        "R-101: proteins lead the docking campaign",
        expected_revision=1,
    ),
    Revision(
        ShareSet(
            LANGUAGE,
            parts(
                pretraining="32",
                posttraining="20",
                reasoning="15",
                evaluation="10",
                data="10",
                multilingual="8",
            ),
        ),
        (9, 14),
        "marta.kovacs",
        "R-102: reasoning gets 15, not 20",
        expected_revision=1,
        effective=(10, 0),
    ),
    Revision(
        ShareSet(
            SCIENCE,
            (
                *parts(proteins="45", climate="22.5", materials="17.5"),
                Part("astronomy", "15", SLOT_LIMIT_GPUS),
            ),
        ),
        (14, 9),
        "clara.jensen",
        "from a page opened last week",
        expected_revision=1,
        stale=True,
    ),
    Revision(
        ShareSet(
            VISION,
            parts(perception="22", video="30", manipulation="20", navigation="13", simulation="15"),
        ),
        (18, 11),
        "david.chen",
        "agreed on Thursday, entered today",
        expected_revision=1,
        effective=(16, 12),
        backdated=True,
    ),
    Revision(
        ShareSet(LAB, parts(language="48", vision_robotics="31", science="21")),
        (20, 16),
        "ines.laurent",
        "half-time review of the programs",
        expected_revision=1,
        effective=(21, 0),
    ),
    Revision(
        ShareSet(LAB, parts(language="52.5", vision_robotics="31.25", science="16.25"), B200),
        (20, 17),
        "ines.laurent",
        "half-time review of the programs, B200",
        expected_revision=1,
        effective=(21, 0),
    ),
)

GRANTS: Final = (
    Grant(
        "G-7",
        f"{SCIENCE}/proteins",
        H100,
        1_200,
        (7, 9),
        (8, 0),
        (13, 0),
        "ines.laurent",
        "Director's reserve for the docking campaign",
    ),
    Grant(
        "G-8",
        f"{LANGUAGE}/posttraining",
        B200,
        900,
        (18, 9),
        (19, 0),
        (23, 0),
        "ines.laurent",
        "Conference deadline",
    ),
)


def claims_over_time(span: Span) -> list[tuple[int, Claims]]:
    """(epoch second, claims from then on) as a scheduler learns of them: a back-dated set when entered."""
    known: tuple[ShareSet, ...] = OPENING
    timeline = [(span.opens_s, claims(known))]
    accepted = [replace(r, at=r.effective) if r.effective and not r.backdated else r for r in REVISIONS if not r.stale]
    for revision in sorted(accepted, key=lambda r: r.at):
        known = (*known, revision.shares)
        timeline.append((span.at(*revision.at), claims(known)))
    return timeline
