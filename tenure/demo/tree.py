"""The budget tree of `aurora-lab`: one lab, three programs, fifteen teams, and one program's own part."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from tenure.demo.cluster import B200, POOLS

LAB: Final = "aurora-lab"
LANGUAGE: Final = f"{LAB}/language"
VISION: Final = f"{LAB}/vision-robotics"
SCIENCE: Final = f"{LAB}/science"
OWN: Final = "."
"""An interior account's own part: what it leaves undivided."""
UNKNOWN: Final = f"{LAB}/langauge/data"
"""A spelling nobody opened an account for."""

IDLE_TEAM: Final = f"{VISION}/navigation"
BURST_TEAM: Final = f"{LANGUAGE}/posttraining"
LIMITED_TEAM: Final = f"{SCIENCE}/astronomy"
SLOT_LIMIT_GPUS: Final = 16


@dataclass(frozen=True, slots=True)
class Account:
    """An account as its directory shows it; `appetite` is funded demand over claim before scaling."""

    path: str
    title: str
    lead: str
    appetite: float = 0.0
    people: int = 0

    @property
    def program(self) -> str:
        return "/".join(self.path.split("/")[:2])

    @property
    def is_leaf(self) -> bool:
        return self.people > 0


ACCOUNTS: Final = (
    Account(LAB, "Aurora Lab", "ines.laurent"),
    Account(LANGUAGE, "Language", "marta.kovacs"),
    Account(f"{LANGUAGE}/{OWN}", "Language, program office", "marta.kovacs", 0.6, 4),
    Account(f"{LANGUAGE}/pretraining", "Pretraining", "jonas.weber", 1.9, 16),
    Account(BURST_TEAM, "Post-training", "aiko.tanaka", 1.5, 15),
    Account(f"{LANGUAGE}/reasoning", "Reasoning", "samuel.okafor", 1.7, 12),
    Account(f"{LANGUAGE}/evaluation", "Evaluation", "lucia.romano", 1.0, 10),
    Account(f"{LANGUAGE}/data", "Data", "peter.novak", 0.7, 9),
    Account(f"{LANGUAGE}/multilingual", "Multilingual", "leila.haddad", 1.0, 8),
    Account(VISION, "Vision and robotics", "david.chen"),
    Account(f"{VISION}/perception", "Perception", "nora.lindqvist", 1.2, 10),
    Account(f"{VISION}/video", "Video", "rafael.costa", 1.7, 10),
    Account(f"{VISION}/manipulation", "Manipulation", "priya.raman", 1.1, 8),
    Account(IDLE_TEAM, "Navigation", "tomas.varga", 0.9, 8),
    Account(f"{VISION}/simulation", "Simulation", "hanna.meyer", 1.4, 8),
    Account(SCIENCE, "Science", "omar.farouk"),
    Account(f"{SCIENCE}/proteins", "Proteins", "clara.jensen", 1.8, 10),
    Account(f"{SCIENCE}/climate", "Climate", "victor.almeida", 1.1, 9),
    Account(f"{SCIENCE}/materials", "Materials", "yuki.mori", 0.9, 7),
    Account(LIMITED_TEAM, "Astronomy", "elena.petrova", 1.0, 6),
)
LEAVES: Final = tuple(account for account in ACCOUNTS if account.is_leaf)


@dataclass(frozen=True, slots=True)
class Part:
    """One child's percent of its parent, as written, and its slot limit in GPUs."""

    child: str
    percent: str
    slot_limit_gpus: int | None = None


@dataclass(frozen=True, slots=True)
class ShareSet:
    """The whole division of `parent`, for one pool or for every pool without its own."""

    parent: str
    parts: tuple[Part, ...]
    gpu_type: str | None = None


def parts(**percents: str) -> tuple[Part, ...]:
    """Parts by child, an underscore standing for the hyphen of a name."""
    return tuple(Part(name.replace("_", "-"), percent) for name, percent in percents.items())


OPENING: Final = (
    ShareSet(LAB, parts(language="50", vision_robotics="30", science="20")),
    ShareSet(LAB, parts(language="55", vision_robotics="30", science="15"), B200),
    ShareSet(
        LANGUAGE,
        parts(pretraining="35", posttraining="20", reasoning="12", evaluation="10", data="10", multilingual="8"),
    ),
    ShareSet(
        VISION,
        parts(perception="25", video="25", manipulation="20", navigation="15", simulation="15"),
    ),
    ShareSet(
        SCIENCE,
        (
            *parts(proteins="35", climate="30", materials="20"),
            Part("astronomy", "15", SLOT_LIMIT_GPUS),
        ),
    ),
)

Claims = dict[tuple[str, str], float]
"""The fraction of a pool each leaf may claim, by (account, pool): for the scheduler of the demo only."""


def claims(sets: tuple[ShareSet, ...]) -> Claims:
    """Products of shares along each leaf's path, the later of two sets of one parent and pool in force."""
    by_parent = {(s.parent, s.gpu_type): s.parts for s in sets}
    return {(leaf.path, pool): float(_product(by_parent, leaf.path, pool)) for leaf in LEAVES for pool in POOLS}


def _product(by_parent: dict[tuple[str, str | None], tuple[Part, ...]], path: str, pool: str) -> Fraction:
    names = path.split("/")
    fraction = Fraction(1)
    for depth in range(1, len(names)):
        parent = "/".join(names[:depth])
        divided = by_parent.get((parent, pool)) or by_parent[parent, None]
        percents = {part.child: Fraction(part.percent) for part in divided}
        percents[OWN] = 100 - sum(percents.values(), Fraction(0))
        fraction *= percents[names[depth]] / 100
    return fraction
