"""Every scenario of a plan."""

from pathlib import Path

import pytest

from tests.support.planning import judge

SCENARIOS = sorted(Path(__file__).parent.glob("*.txt"))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_plans(path: Path):
    judge(path.read_text("utf-8"))
