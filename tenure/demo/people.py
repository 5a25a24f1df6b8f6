"""A hundred and fifty people, each with a team and a diligence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tenure.demo.chance import Chance
from tenure.demo.tree import LEAVES


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


GIVEN: Final = _words(
    "ada amara anders aya bela bruno carmen dario dina elif emeka erik fatima felix greta hugo ida imani "
    "ivan jana jorge kaito karin kofi lena liam lin lotte malik mara mei milan nadia noah olga oskar "
    "pavel petra quinn rania rosa sami sara sven tara theo uma vera wei yara yusuf zoe"
)
FAMILY: Final = _words(
    "adeyemi ahmed baker bauer berg bianchi castro cohen danso diaz dubois eriksen evans fischer fontana "
    "garcia gupta hansen horvath ibrahim ito jones kaya keller kim klein kumar larsen lee lopez marin "
    "mbeki moreau nagy nguyen olsen ortiz park patel petit popov rao reyes rossi santos sato schmidt "
    "silva singh suzuki torres tran vogel walker wang weiss wolf yilmaz young zhang"
)


@dataclass(frozen=True, slots=True)
class Person:
    """Someone who submits jobs to one leaf account; `diligence` weighs how many."""

    user: str
    account: str
    diligence: float


def people(chance: Chance) -> tuple[Person, ...]:
    """Everybody, each leaf's lead first; a few do most of the work, as everywhere."""
    count = sum(leaf.people for leaf in LEAVES)
    pairs = chance.permutation(len(GIVEN) * len(FAMILY))[:count].tolist()
    names = iter([f"{GIVEN[p % len(GIVEN)]}.{FAMILY[p // len(GIVEN)]}" for p in pairs])
    diligence = iter(chance.lognormal(0.0, 0.8, count).tolist())
    return tuple(
        Person(leaf.lead if nth == 0 else next(names), leaf.path, next(diligence))
        for leaf in LEAVES
        for nth in range(leaf.people)
    )
