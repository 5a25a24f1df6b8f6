"""Demos made once per process: three days for what they say, a week for what happens in them."""

import pytest

from tenure.demo import Demo, generate

SEED = 11


@pytest.fixture(scope="session")
def short() -> Demo:
    return generate(SEED, days=3)


@pytest.fixture(scope="session")
def week() -> Demo:
    return generate(SEED, days=7)
