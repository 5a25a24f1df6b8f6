"""What the demo says beside its tables."""

from tenure.cli.tour import absences
from tests.support.folded import folded
from tests.support.said import node, opens, s, say, tick


def test_capacity_that_was_not_there_is_told_by_node():
    gone = say("node.removed", "10:00", node="m")
    book = folded([opens("08:00"), node("07:00", gpus=4), node("09:00", "m", 2), gone, tick("11:05")])
    told = absences(book.book.state, s("08:00"), s("11:00"))
    assert told == (
        "6 GPUs for 3 hours are 18.0 GPU-hours; not in the cluster then: m from 2026-03-02 08:00 to 2026-03-02 09:00, "
        "m from 2026-03-02 10:00 to 2026-03-02 11:00."
    )
    assert absences(book.book.state, s("09:00"), s("10:00")) == ""
