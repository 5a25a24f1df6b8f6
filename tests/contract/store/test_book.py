"""Rows of the fold: each type as its table has it, replaced or kept as its key says."""

from datetime import UTC, datetime

import pytest

from ledger.checkpoint import Partition, Position
from ledger.rows import TABLES, Grant, Job, NodeHour, Posting, Row, Run
from ledger.store.columns import INSTANTS, column_name
from ledger.store.errors import StoreError
from ledger.store.protocol import Store
from tests.contract.store.rows import (
    HOUR_S,
    account_hour,
    checkpoint,
    cluster_hour,
    make,
    posting,
    run,
    tables_of,
)


def stored(value: object, field: str) -> object:
    """A field's value as a query gives it back."""
    if field in INSTANTS and isinstance(value, int):
        return datetime.fromtimestamp(value, UTC)
    if isinstance(value, tuple):
        return [list(v) if isinstance(v, tuple) else v for v in value]
    return value


@pytest.mark.parametrize("row_type", TABLES, ids=TABLES.values())
def test_each_row_comes_back_as_it_went_in(store: Store, row_type: type[Row]):
    full = {
        name: HOUR_S + 1 if name.endswith("_s") else 3
        for name, value in zip(row_type._fields, make(row_type), strict=True)
        if value is None
    }
    rows = [make(row_type, cluster="a"), make(row_type, cluster="b", **full)]
    store.write("g", {row_type: rows})
    columns = ", ".join(f"`{column_name(field)}`" for field in row_type._fields)
    read = store.query(f"SELECT generation, {columns} FROM {TABLES[row_type]} FINAL ORDER BY cluster")
    expected = [("g", *(stored(v, f) for f, v in zip(row_type._fields, row, strict=True))) for row in rows]
    assert read.rows == expected


@pytest.mark.parametrize("row_type", TABLES, ids=TABLES.values())
def test_a_table_has_the_columns_of_its_row_type_and_each_is_explained(store: Store, row_type: type[Row]):
    described = store.query(
        "SELECT name, comment FROM system.columns WHERE database = currentDatabase() AND table = {table:String} "
        "ORDER BY position",
        {"table": TABLES[row_type]},
    )
    assert [name for name, _ in described.rows] == ["generation", *map(column_name, row_type._fields)]
    assert all(comment for _, comment in described.rows)
    units = {"gpu_ms": "GPU-milliseconds", "milli": "milli-GPUs"}
    for name, comment in described.rows:
        for suffix, unit in units.items():
            assert not str(name).endswith(f"_{suffix}") or unit in str(comment), name


def count(store: Store, table: str, final: str = "FINAL") -> int:
    ((number,),) = store.query(f"SELECT count() FROM {table} {final}").rows
    return int(str(number))


@pytest.mark.parametrize("row_type", TABLES, ids=TABLES.values())
def test_writing_the_same_again_changes_nothing(store: Store, row_type: type[Row]):
    rows = {row_type: [make(row_type, cluster=f"c{n}") for n in range(5)]}
    store.write("g", rows)
    store.write("g", rows)
    assert count(store, TABLES[row_type]) == 5


@pytest.mark.parametrize("row_type", [Run, Job, NodeHour])
def test_the_higher_seq_replaces_whatever_the_order_of_writing(store: Store, row_type: type[Row]):
    for seq in (5, 9, 7):
        store.write("g", {row_type: [make(row_type, seq=seq)]})
    assert store.query(f"SELECT seq FROM {TABLES[row_type]} FINAL").rows == [(9,)]


def test_corrections_stand_beside_what_they_correct(store: Store):
    store.write("g", tables_of(posting(1), posting(2, -100), account_hour("lab/a", 1), account_hour("lab/a", 2)))
    store.write("g", tables_of(cluster_hour(1), cluster_hour(2)))
    assert [count(store, t) for t in ("postings", "account_hours", "cluster_hours")] == [2, 2, 2]


def test_a_sum_right_after_a_rewrite_is_not_too_high(store: Store):
    rows = tables_of(*(posting(seq, 10, run=f"j{seq}/1") for seq in range(1, 101)))
    for _ in range(3):
        store.write("g1", rows)
    store.save_checkpoint("g1", checkpoint(seq=100))
    assert store.query("SELECT sum(amount_gpu_ms) FROM report_postings").rows == [(1000,)]


def test_no_rows_are_no_insert(store: Store):
    store.write("g", {Posting: [], Run: []})
    store.write("g", {})
    assert count(store, "postings", "") == 0


def test_one_insert_may_span_more_months_than_clickhouse_likes(store: Store):
    months = [posting(n + 1, hour_s=HOUR_S - n * 31 * 86_400) for n in range(150)]
    store.write("g", tables_of(*months))
    assert count(store, "postings") == 150


def test_an_instant_out_of_range_is_kept_as_the_nearest_and_stops_nobody(store: Store):
    store.write("g", tables_of(make(Job, eligible_from_s=253_402_300_799, submitted_s=-1)))
    store.write("g", tables_of(make(Grant, since_s=0, until_s=1 << 40)))
    assert store.query("SELECT eligible_from, submitted_at FROM jobs FINAL").rows == [
        (datetime(2106, 2, 7, 6, 28, 15, tzinfo=UTC), datetime(1970, 1, 1, tzinfo=UTC))
    ]


def test_amounts_keep_all_their_digits(store: Store):
    store.write("g", tables_of(posting(1, 2**63 - 1), posting(2, -(2**63))))
    assert store.query("SELECT amount_gpu_ms FROM postings FINAL ORDER BY seq").rows == [(2**63 - 1,), (-(2**63),)]


def test_text_is_kept_as_it_is(store: Store):
    odd = 'Grünfeld\'s \\ "job"\n\t\x00 {a:String} %s'
    store.write("g", tables_of(run(odd)))
    assert store.query("SELECT job FROM runs FINAL WHERE job = {job:String}", {"job": odd}).rows == [(odd,)]


# ---------------------------------------------------------------- checkpoints


def test_the_checkpoint_comes_back_whole(store: Store):
    point = checkpoint("c", position=Position("tenure.events", 3, 2**40, 17), log_hash=0)
    none = checkpoint("", facts=b"")
    store.save_checkpoint("g", point)
    store.save_checkpoint("g", none)
    assert store.checkpoints("g") == {
        Partition("tenure.events", 3): {"c": point},
        Partition("tenure.events", 0): {"": none},
    }
    assert store.checkpoints("other") == {}


def test_every_partition_has_a_checkpoint_of_its_records_of_no_cluster(store: Store):
    first, second = checkpoint(""), checkpoint("", position=Position("tenure.events", 1, 7, 0))
    store.save_checkpoint("g", first)
    store.save_checkpoint("g", second)
    assert {partition.number: found[""] for partition, found in store.checkpoints("g").items()} == {0: first, 1: second}


def test_a_log_has_one_home(store: Store):
    """Two that give out places would give the same place twice."""
    store.settle_log("here")
    store.settle_log("here")
    with pytest.raises(StoreError, match="kept in here, not in kafka abc"):
        store.settle_log("kafka abc")


def test_the_checkpoint_furthest_into_the_log_holds(store: Store):
    for events, seq in ((20, 10), (30, 10), (25, 11)):
        store.save_checkpoint("g", checkpoint(events=events, seq=seq))
    assert store.checkpoints("g")[Partition("tenure.events", 0)]["c"] == checkpoint(events=30, seq=10)


def test_a_checkpoint_of_an_earlier_place_never_replaces_a_later_one(store: Store):
    """Not even where it counts as many records: a writer may have slept through its own replacement."""
    later = checkpoint("", position=Position("tenure.events", 0, 90, 0))
    store.save_checkpoint("g", later)
    store.save_checkpoint("g", checkpoint("", position=Position("tenure.events", 0, 40, 0)))
    assert store.checkpoints("g")[Partition("tenure.events", 0)][""] == later


def test_of_equal_checkpoints_the_last_written_holds(store: Store):
    store.save_checkpoint("g", checkpoint(facts=b"old"))
    store.save_checkpoint("g", checkpoint(facts=b"new"))
    assert store.checkpoints("g")[Partition("tenure.events", 0)]["c"].facts == b"new"
