"""Generations: written side by side, compared, switched, dropped."""

import pytest

from ledger.rows import TABLES, Posting
from ledger.store.clickhouse import FIRST_GENERATION
from ledger.store.errors import StoreError
from ledger.store.protocol import Store
from tests.contract.store.rows import account_hour, checkpoint, make, posting, run, tables_of


def test_a_new_store_shows_the_first_generation(store: Store):
    assert store.live_generation() == FIRST_GENERATION


def test_the_views_switch_at_once(store: Store):
    for generation, amount in (("g1", 1), ("g2", 2)):
        store.write(generation, tables_of(posting(1, amount)))
        store.save_checkpoint(generation, checkpoint())
    amounts = []
    for generation in ("g1", "g2", "g1"):
        store.set_live_generation(generation)
        assert store.live_generation() == generation
        amounts.append(store.query("SELECT amount_gpu_ms FROM report_postings").rows)
    assert amounts == [[(1,)], [(2,)], [(1,)]]


def test_equal_generations_do_not_differ(store: Store):
    for generation in ("a", "b"):
        for row_type in TABLES:
            store.write(generation, {row_type: [make(row_type, cluster=f"c{n}") for n in range(3)]})
    store.write("b", {Posting: [make(Posting, cluster="c1")]})
    assert store.compare_generations("a", "b") == []


def test_a_difference_is_counted_and_shown_on_its_side(store: Store):
    common = [posting(seq) for seq in range(1, 11)]
    store.write("a", tables_of(*common, posting(11, 5), run("j1"), run("same")))
    store.write("b", tables_of(*common, posting(11, 6), posting(12), posting(13), run("j1", ended_s=None), run("same")))
    postings, runs = store.compare_generations("a", "b", examples=2)
    assert (postings.table, postings.only_in_a, postings.only_in_b) == ("postings", 1, 3)
    seq, amount = (postings.columns.index(name) for name in ("seq", "amount_gpu_ms"))
    assert [(row[seq], row[amount]) for row in postings.examples_a] == [(11, 5)]
    assert [(row[seq], row[amount]) for row in postings.examples_b] == [(11, 6), (12, 100)]
    assert (runs.table, runs.only_in_a, runs.only_in_b) == ("runs", 1, 1)
    assert store.compare_generations("a", "a") == []


def test_what_was_written_since_is_left_out_where_one_of_them_goes_on(store: Store):
    """`a` goes on: it has new rows, and rows in place of what both had. What differs before that is still found."""
    common = [posting(seq) for seq in range(1, 11)]
    store.write(
        "a", tables_of(*common, run("j1", seq=4), run("j2", seq=5, ended_s=None), posting(3, 7, account="lab/z"))
    )
    store.write("b", tables_of(*common, run("j1", seq=4), run("j2", seq=5, ended_s=None)))
    store.write("a", tables_of(posting(11), run("j2", seq=11), run("j3", seq=12), posting(1, cluster="new")))
    found = store.compare_generations("a", "b", settled={"c": 10})
    assert [(d.table, d.only_in_a, d.only_in_b) for d in found] == [("postings", 1, 0)]
    assert found[0].examples_a[0][found[0].columns.index("account")] == "lab/z"
    assert [(d.table, d.only_in_a, d.only_in_b) for d in store.compare_generations("a", "b")] == [
        ("postings", 3, 0),
        ("runs", 2, 1),
    ]


def test_a_difference_is_summed_by_account(store: Store):
    store.write("a", tables_of(posting(1, 5, account="lab/x"), posting(2, 9, account="lab/y")))
    store.write("b", tables_of(posting(3, 7, account="lab/x"), posting(4, 9, account="lab/y")))
    table = store.query("difference_by_account", {"a": "a", "b": "b"})
    assert [(d["account"], d["difference_gpu_ms"]) for d in table.dicts()] == [("lab/x", 2)]


def test_a_dropped_generation_is_gone_and_the_others_stay(store: Store):
    for generation in ("a", "b"):
        store.write(generation, tables_of(posting(1), posting(2, hour_s=0), run("j"), account_hour("lab/x", 1)))
        store.save_checkpoint(generation, checkpoint())
    store.drop_generation("a")
    left = store.query("SELECT DISTINCT generation FROM postings UNION DISTINCT SELECT DISTINCT generation FROM runs")
    assert left.rows == [("b",)]
    assert store.checkpoints("a") == {}
    assert store.checkpoints("b") != {}
    store.drop_generation("never was")


def test_the_live_generation_is_not_dropped(store: Store):
    with pytest.raises(StoreError, match="live generation"):
        store.drop_generation(store.live_generation())
