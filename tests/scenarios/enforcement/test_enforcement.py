"""Every scenario of enforcement over time."""

from pathlib import Path

import pytest

from tests.support.played import WrongPlay, judge

SCENARIOS = sorted(Path(__file__).parent.glob("*.txt"))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_enforcement(path: Path):
    judge(path.read_text("utf-8").splitlines(), path.name)


def test_a_wrong_line_is_named():
    with pytest.raises(WrongPlay, match="s:3: expect preemptions 1: it is 0"):
        judge(["nodes n1 8", "for 1h", "expect preemptions 1"], "s")
