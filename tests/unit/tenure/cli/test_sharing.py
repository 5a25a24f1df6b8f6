"""What a set of shares would change, before it is decided."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from ledger.book import Book
from ledger.events import ClockTicked, NodeObserved, SharesSet
from ledger.events.decisions import ChildShare, ClockTickedData, SharesSetData
from ledger.events.nodes import NodeObservedData
from ledger.state import State
from ledger.tree import ChildShare as Kept
from ledger.tree import Revision
from ledger.units import DAY_S, epoch_s
from tenure.cli.exits import Stop
from tenure.cli.sharing import latest, parts, preview, wanted

T0 = datetime(2026, 3, 2, tzinfo=UTC)
BEFORE = Revision(1, 0, (Kept("a", "60", 16_000), Kept("b", "40", None)))


def state() -> State:
    """Ten healthy GPUs, divided 60 to 40."""
    book = Book("c")
    node = NodeObservedData(cluster="c", node="n", gpu_type="H100", gpus_milli=10_000, state="available")
    book.apply(NodeObserved(id="n", source="t", time=T0, data=node), epoch_s(T0))
    children = (ChildShare(child="a", share_percent=Decimal(60)), ChildShare(child="b", share_percent=Decimal(40)))
    shares = SharesSetData(cluster="c", parent="lab", children=children, author="x", expected_revision=0)
    book.apply(SharesSet(id="s", source="t", time=T0, data=shares), epoch_s(T0))
    later = T0.replace(hour=2)
    book.apply(ClockTicked(id="k", source="t", time=later, data=ClockTickedData(cluster="c", at=later)), epoch_s(later))
    return book.state


def test_children_not_named_keep_what_they_have():
    assert {c.child: c.share_percent for c in wanted(BEFORE, ["b=30", "d=10"], [])} == {
        "a": Decimal(60),
        "b": Decimal(30),
        "d": Decimal(10),
    }
    assert [c.child for c in wanted(BEFORE, [], ["a"])] == ["b"]
    assert [c.child for c in wanted(None, ["a=1"], [])] == ["a"]


@pytest.mark.parametrize(
    ("named", "limit"), [("a=50", 16_000), ("a=50/8", 8_000), ("a=50/0.5", 500), ("a=50/none", None)]
)
def test_a_slot_limit_stays_unless_another_is_named(named: str, limit: int | None):
    assert wanted(BEFORE, [named], [])[0].slot_limit_milli == limit


@pytest.mark.parametrize("named", ["a", "a=", "a=x", "a=5/y", "=5", "a b=5", "a=101"])
def test_what_is_no_share_is_refused_with_an_example(named: str):
    with pytest.raises(Stop, match="write CHILD=PERCENT"):
        wanted(BEFORE, [named], [])


def test_nobody_is_removed_who_is_not_there():
    with pytest.raises(Stop, match="has no share there"):
        wanted(BEFORE, [], ["z"])


def test_a_preview_shows_gains_and_losses_a_day():
    now = state()
    seen = preview(now, "", "lab", wanted(latest(now, "", "lab"), ["b=30"], []), epoch_s(T0) + DAY_S)
    assert seen.revision == 2
    assert seen.total_percent == 90
    day = 10_000 * DAY_S
    was = {c.child: c.before_gpu_ms["H100"] for c in seen.changes}
    will = {c.child: c.after_gpu_ms["H100"] for c in seen.changes}
    assert was == {".": 0, "a": day * 6 // 10, "b": day * 4 // 10}
    assert will == {".": day // 10, "a": day * 6 // 10, "b": day * 3 // 10}


def test_a_preview_leaves_the_book_as_it_is():
    now = state()
    preview(now, "", "lab", wanted(None, ["a=1"], []), epoch_s(T0) + DAY_S)
    assert now.shares.revision("*", "lab") == 1
    assert latest(now, "", "lab") is not None
    assert latest(now, "H100", "lab") is None


def test_parts_add_up_to_the_whole():
    found = {part.account: part for part in parts(state())}
    assert found.keys() == {"lab", "lab/.", "lab/a", "lab/b"}
    assert found["lab"].of_all["H100"] == 1
    assert found["lab/a"].percent == {"H100": "60"}
    assert found["lab/a"].revision == 1
    assert found["lab"].revision is None
