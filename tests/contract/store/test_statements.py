"""Statements: of a period, and as they were known at an instant."""

from typing import Any

import pytest

from ledger.rows import Row
from ledger.store.protocol import Store, Table
from tests.contract.store.rows import HOUR_S, account_hour, checkpoint, cluster_hour, posting, tables_of


def ask(store: Store, name: str, **given: Any) -> Table:
    wide = {"from_s": 0, "until_s": 2**31, "known_at_s": 2**31, "cluster": "", "account": ""}
    return store.query(name, wide | given)


def amounts(table: Table, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in columns) for row in table.dicts()]


def three_versions(store: Store) -> None:
    """lab/a's hour closes at owed 100, is corrected to 80 at +1 h and to 60 at +2 h, which no checkpoint covers."""
    for seq, owed, hours in ((1, 100, 0), (2, 80, 1), (3, 60, 2)):
        recorded_s = HOUR_S + 3600 * hours
        hour = account_hour("lab/a", seq, owed_gpu_ms=owed, charged_gpu_ms=50, recorded_s=recorded_s)
        leg = posting(seq, (100, -20, -20)[seq - 1], account="lab/a", recorded_s=recorded_s)
        store.write("g1", tables_of(hour, leg))
    store.save_checkpoint("g1", checkpoint(seq=2))


def test_a_statement_is_as_known_at_an_instant(store: Store):
    three_versions(store)
    known = {}
    for known_at_s in (HOUR_S - 1, HOUR_S, HOUR_S + 3599, HOUR_S + 3600, HOUR_S + 7200):
        table = ask(store, "statement_account_hours", known_at_s=known_at_s, account="lab/a")
        known[known_at_s - HOUR_S] = [owed for (owed,) in amounts(table, "owed_gpu_ms")]
    assert known == {-1: [], 0: [100], 3599: [100], 3600: [80], 7200: [80]}


def test_postings_too_are_as_known_at_an_instant(store: Store):
    three_versions(store)
    known = {}
    for known_at_s in (HOUR_S - 1, HOUR_S, HOUR_S + 3600, HOUR_S + 7200):
        known[known_at_s - HOUR_S] = amounts(ask(store, "statement_postings", known_at_s=known_at_s), "amount_gpu_ms")
    assert known == {-1: [], 0: [(100,)], 3600: [(80,)], 7200: [(80,)]}


def test_a_period_is_half_open(store: Store):
    hours = [account_hour("lab/a", n + 1, hour_s=HOUR_S + 3600 * n, owed_gpu_ms=10**n) for n in range(4)]
    legs = [posting(n + 1, 10**n, hour_s=HOUR_S + 3600 * n) for n in range(4)]
    store.write("g1", tables_of(*hours, *legs))
    store.save_checkpoint("g1", checkpoint(seq=9))
    period = {"from_s": HOUR_S + 3600, "until_s": HOUR_S + 3 * 3600}
    table = ask(store, "statement_account_hours", account="lab/a", **period)
    assert amounts(table, "owed_gpu_ms", "hours") == [(110, 2)]
    assert amounts(ask(store, "statement_postings", **period), "amount_gpu_ms") == [(110,)]


def test_a_statement_is_of_one_account_and_all_below_it(store: Store):
    leaves = [
        account_hour(name, seq, owed_gpu_ms=10**seq) for seq, name in enumerate(("lab/a/x", "lab/a/.", "lab/ab"), 1)
    ]
    store.write("g1", tables_of(*leaves, account_hour("lab/a/x", 4, cluster="d", owed_gpu_ms=7)))
    for cluster in ("c", "d"):
        store.save_checkpoint("g1", checkpoint(cluster, seq=9))
    everything = amounts(ask(store, "statement_account_hours", cluster="c"), "account", "owed_gpu_ms")
    assert everything == [
        ("lab", 1110),
        ("lab/a", 110),
        ("lab/a/.", 100),
        ("lab/a/x", 10),
        ("lab/ab", 1000),
    ]
    below = amounts(ask(store, "statement_account_hours", account="lab/a"), "cluster", "account", "owed_gpu_ms")
    assert below == [
        ("c", "lab/a", 110),
        ("c", "lab/a/.", 100),
        ("c", "lab/a/x", 10),
        ("d", "lab/a", 7),
        ("d", "lab/a/x", 7),
    ]


def test_the_commitment_is_that_of_the_last_hour(store: Store):
    hours = [account_hour("lab/a", n + 1, hour_s=HOUR_S + 3600 * n, commitment_gpu_ms=10**n) for n in range(3)]
    store.write("g1", tables_of(*hours, account_hour("lab/b", 4, commitment_gpu_ms=5)))
    store.save_checkpoint("g1", checkpoint(seq=9))
    table = ask(store, "statement_account_hours")
    assert amounts(table, "account", "commitment_gpu_ms") == [("lab", 100), ("lab/a", 100), ("lab/b", 0)]


LATER = {"hour_s": HOUR_S + 3600}


@pytest.mark.parametrize("last", [account_hour("lab/b", 2, **LATER), cluster_hour(2, pool="b200", **LATER)])
def test_the_last_hour_is_the_clusters_whoever_has_a_row_in_it(store: Store, last: Row):
    """What lab/a was bound by at the end of an earlier hour is past, asked of alone or with the others."""
    store.write("g1", tables_of(account_hour("lab/a", 1, commitment_gpu_ms=5), last))
    store.save_checkpoint("g1", checkpoint(seq=9))
    for account in ("", "lab/a"):
        table = ask(store, "statement_account_hours", account=account)
        found = dict(amounts(table, "account", "commitment_gpu_ms"))
        assert found["lab/a"] == 0
        table = ask(store, "statement_account_hours", account=account, until_s=HOUR_S + 3600)
        assert dict(amounts(table, "account", "commitment_gpu_ms"))["lab/a"] == 5
