import pytest

from ledger.nodes import Node, Stretch
from ledger.statements import NodeStatement
from ledger.units import FOREVER_S


def said(at: int, state: str = "available", milli: int = 4000, gpu_type: str = "h100", id: str = "i") -> NodeStatement:
    removed = state == "removed"
    sized = (0, "") if removed else (milli, gpu_type)
    return NodeStatement(at * 1_000_000, "s", id, at, state, *sized, "")


def node(*statements: NodeStatement) -> Node:
    found = Node("n")
    for statement in statements:
        found.put(statement)
    return found


def test_before_its_first_statement_it_has_nothing_but_its_type():
    assert node(said(10)).stretches(0, 20) == [
        Stretch(0, 10, 0, "", "h100"),
        Stretch(10, 20, 4000, "available", "h100"),
    ]


def test_it_is_cut_where_statements_change_it():
    found = node(said(5), said(10, "draining", 2000), said(15, "removed"), said(17, gpu_type="b200"), said(30))
    assert found.stretches(8, 20) == [
        Stretch(8, 10, 4000, "available", "h100"),
        Stretch(10, 15, 2000, "draining", "h100"),
        Stretch(15, 17, 0, "", "h100"),
        Stretch(17, 20, 4000, "available", "b200"),
    ]
    assert found.stretches(30, 40) == [Stretch(30, 40, 4000, "available", "h100")]
    assert found.stretches(20, 30) == [Stretch(20, 30, 4000, "available", "b200")]


def test_of_two_statements_in_one_second_the_greater_holds_from_that_second_on():
    early, late = said(10, "down", id="a"), said(10, id="b")
    for order in ((early, late), (late, early)):
        assert node(*order).stretches(10, 20) == [Stretch(10, 20, 4000, "available", "h100")]


@pytest.mark.parametrize(
    ("state", "healthy", "unavailability"),
    [("available", 4000, ""), ("draining", 0, "planned"), ("planned_down", 0, "planned"), ("down", 0, "unplanned")],
)
def test_health(state: str, healthy: int, unavailability: str):
    (stretch,) = node(said(0, state)).stretches(0, 10)
    assert (stretch.healthy_milli, stretch.unavailability) == (healthy, unavailability)


def test_a_removed_node_keeps_its_type_and_has_no_capacity():
    found = node(said(5), said(10, "removed"))
    assert found.stretches(10, 20) == [Stretch(10, 20, 0, "", "h100")]
    assert node(said(10, "removed")).stretches(10, 20) == [Stretch(10, 20, 0, "", "")]


def test_its_types_over_time():
    found = node(said(5), said(10, "removed"), said(15), said(20, gpu_type="b200"))
    assert found.types() == ((5, "h100"), (20, "b200"))
    assert [found.type_at(at) for at in (0, 5, 12, 19, 20, 99)] == ["h100"] * 4 + ["b200"] * 2
    assert node(said(5, "removed"), said(10)).type_at(0) == "h100"
    assert node(said(5, "removed")).types() == ()


def test_a_repeat_is_nothing_new():
    found = node(said(5))
    assert not found.put(said(5))
    assert found.put(said(5, id="j"))


def test_when_a_statement_stops_being_in_force():
    found = node(said(5), said(20), said(30))
    assert found.next_after(said(10)) == 20
    assert found.next_after(said(20)) == 30
    assert found.next_after(said(40)) == FOREVER_S


def test_what_is_superseded_is_forgotten_but_not_the_word_in_force():
    found = node(said(5), said(10), said(20))
    assert found.forget_before(15)
    assert [s.at_s for s in found.statements] == [10, 20]
    assert not found.forget_before(15)
    assert found.forget_before(20)
    assert [s.at_s for s in found.statements] == [20]


def test_a_removal_is_forgotten_only_with_the_type_before_it():
    found = node(said(5), said(7), said(10, "removed"), said(20, "removed", id="j"))
    assert found.forget_before(15)
    assert [s.at_s for s in found.statements] == [7, 10, 20]
    assert found.types() == ((7, "h100"),)


@pytest.mark.parametrize(("at", "gone"), [(3, True), (9, True), (10, True), (12, False), (16, False)])
def test_superseded_before_an_instant(at: int, gone: bool):
    assert node(said(10), said(20)).superseded_before(said(at, id="h"), 15) is gone


def test_its_record():
    assert node(said(5)).record() == ("node", "n", [said(5)])
