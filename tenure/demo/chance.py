"""Chance as an argument: independent seeded streams, one per part of the demo."""

from __future__ import annotations

from typing import TypeAlias
from zlib import crc32

import numpy as np
import numpy.typing as npt

# The one place of the demo that names numpy's generator: seeded, so nothing here asks the machine.
from numpy.random import Generator, default_rng  # noqa: TID251 - see above

Chance: TypeAlias = Generator
Bools: TypeAlias = npt.NDArray[np.bool_]


def seeded(seed: int, part: str) -> Chance:
    """The stream of `part` under `seed` (not negative); drawing more in one part never moves another."""
    return default_rng([seed, crc32(part.encode())])


def odds(chance: Chance, part: float, count: int) -> Bools:
    """`count` answers, yes to `part` of them."""
    return chance.random(count) < part
