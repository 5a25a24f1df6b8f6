from fractions import Fraction
from typing import Any

import pytest

from ledger.tree import EMPTY_TREE, EVERY_POOL, ChildShare, Grant, Revision, Shares, lineage

F = Fraction


def shares(*sets: tuple[str, str, int, int, dict[str, Any]]) -> Shares:
    """(pool, parent, revision, effective, {child: percent or (percent, limit)})."""
    found = Shares()
    for pool, parent, number, effective_s, children in sets:
        lines = [(c, *line) if isinstance(line, tuple) else (c, line, None) for c, line in children.items()]
        found.put(pool, parent, Revision(number, effective_s, tuple(ChildShare(*line) for line in lines)))
    return found


TWO_LEVELS = shares(
    (EVERY_POOL, "lab", 1, 0, {"a": "60", "b": "25"}),
    (EVERY_POOL, "lab/a", 1, 10, {"x": "33.333333"}),
)


def test_what_a_set_leaves_is_the_own_part():
    assert TWO_LEVELS.tree_at("h100", 5).leaves == {"lab/a": F(60, 100), "lab/b": F(1, 4), "lab/.": F(15, 100)}


def test_shares_multiply_down_the_path_exactly():
    assert TWO_LEVELS.tree_at("h100", 10).leaves == {
        "lab/a/x": F(6, 10) * F(33333333, 100000000),
        "lab/a/.": F(6, 10) * F(66666667, 100000000),
        "lab/b": F(1, 4),
        "lab/.": F(15, 100),
    }


def test_before_the_roots_first_set_there_is_no_tree():
    early = shares((EVERY_POOL, "lab", 1, 10, {"a": "60"}), (EVERY_POOL, "lab/a", 1, 0, {"x": "50"}))
    assert early.tree_at("h100", 5).leaves == {}
    assert early.tree_at("h100", 5).interior == {"lab/a"}
    assert early.tree_at("h100", 10).leaves == {"lab/a/x": F(3, 10), "lab/a/.": F(3, 10), "lab/.": F(4, 10)}


def test_the_own_part_may_be_named_and_then_the_rest_is_nobodys():
    tree = shares((EVERY_POOL, "lab", 1, 0, {"a": "50", ".": "20"})).tree_at("h100", 0)
    assert tree.leaves == {"lab/a": F(1, 2), "lab/.": F(1, 5)}


def test_an_own_part_never_has_children():
    tree = shares((EVERY_POOL, "lab", 1, 0, {"a": "50"}), (EVERY_POOL, "lab/.", 1, 0, {"x": "50"})).tree_at("p", 0)
    assert tree.leaves == {"lab/a": F(1, 2), "lab/.": F(1, 2)}


@pytest.mark.parametrize(("at", "share"), [(0, 10), (9, 10), (10, 20), (19, 20), (20, 30), (99, 30)])
def test_the_highest_revision_in_force_counts(at: int, share: int):
    found = shares(
        (EVERY_POOL, "lab", 1, 0, {"a": "10"}),
        (EVERY_POOL, "lab", 2, 50, {"a": "99"}),
        (EVERY_POOL, "lab", 3, 10, {"a": "20"}),
        (EVERY_POOL, "lab", 4, 20, {"a": "30"}),
    )
    assert found.tree_at("h100", at).leaves["lab/a"] == F(share, 100)


def test_a_pool_uses_its_own_sets_while_one_is_in_force():
    found = shares((EVERY_POOL, "lab", 1, 0, {"a": "10"}), ("b200", "lab", 1, 20, {"a": "90", "c": "1"}))
    assert found.tree_at("b200", 19).leaves["lab/a"] == F(1, 10)
    assert found.tree_at("b200", 20).leaves["lab/a"] == F(9, 10)
    assert found.tree_at("h100", 20).leaves == {"lab/a": F(1, 10), "lab/.": F(9, 10)}
    assert (found.revision("b200", "lab"), found.revision(EVERY_POOL, "lab"), found.revision("x", "lab")) == (1, 1, 0)


def test_an_account_is_its_own_part_where_it_has_children():
    tree = TWO_LEVELS.tree_at("h100", 10)
    assert [tree.own(a) for a in ("lab", "lab/a", "lab/a/x", "ghost")] == ["lab/.", "lab/a/.", "lab/a/x", "ghost"]


def test_limits_on_a_path_root_first():
    found = shares(
        (EVERY_POOL, "lab", 1, 0, {"a": ("50", 4000), "b": "50"}),
        (EVERY_POOL, "lab/a", 1, 0, {"x": ("50", 1000)}),
    )
    tree = found.tree_at("h100", 0)
    assert tree.limits_on("lab/a/x") == (("lab/a", 4000), ("lab/a/x", 1000))
    assert tree.limits_on("lab/a/.") == (("lab/a", 4000),)
    assert tree.limits_on("lab/b") == ()
    assert EMPTY_TREE.limits_on("lab/a") == ()


def test_limits_follow_the_set_in_force():
    found = shares((EVERY_POOL, "lab", 1, 0, {"a": ("50", 4000)}), (EVERY_POOL, "lab", 2, 10, {"a": "50"}))
    assert found.tree_at("h100", 9).limits_on("lab/a") == (("lab/a", 4000),)
    assert found.tree_at("h100", 10).limits_on("lab/a") == ()


def test_the_first_set_names_the_root():
    found = Shares()
    assert (found.root, found.knows("lab")) == ("", False)
    found.put(EVERY_POOL, "lab", Revision(1, 0, (ChildShare("a", "10", None),)))
    assert found.root == "lab"
    assert [found.knows(a) for a in ("lab", "lab/a", "lab/b", "a", "lab/a/x")] == [True, True, False, False, False]


def test_lineage():
    assert list(lineage("lab/a/x")) == ["lab", "lab/a", "lab/a/x"]
    assert list(lineage("lab")) == ["lab"]


def test_edges_and_records():
    assert TWO_LEVELS.edges == [0, 10]
    ((key, record), (_, second)) = TWO_LEVELS.records()
    assert key == "*\0lab"
    assert record[:3] == ("shares", "*", "lab")
    assert second[3][0].children == (ChildShare("x", "33.333333", None),)


def test_a_grant_accrues_in_whole_parts_that_add_up():
    grant = Grant("g", "h100", "lab", 100, 1800, 12_600)  # 100 over 3 h
    parts = [grant.accrued_gpu_ms(h, h + 3600) for h in range(0, 18_000, 3600)]
    assert parts == [16, 34, 33, 17, 0]
    assert sum(parts) == 100
    assert [grant.in_force(at) for at in (1799, 1800, 12_599, 12_600)] == [False, True, True, False]
    assert grant.record() == ("grant", "g", "h100", "lab", 100, 1800, 12_600)
