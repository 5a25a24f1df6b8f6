"""Migrations: once each, in order, forward only."""

import pytest

from ledger.store import migrate, sql
from ledger.store.errors import SchemaTooNew, StoreError
from ledger.store.protocol import Store
from tests.contract.store.rows import posting, tables_of
from tests.support.chdb import bare_store


def test_migrating_again_changes_nothing(store: Store):
    store.write("g1", tables_of(posting(1)))
    store.set_live_generation("g2")
    everything = "SELECT name, uuid FROM system.tables WHERE database = currentDatabase() ORDER BY name"
    before = store.query(everything).rows
    store.migrate()
    assert store.query(everything).rows == before
    assert store.query("SELECT count() FROM postings").rows == [(1,)]
    assert store.live_generation() == "g2"


def test_every_table_and_column_is_explained(store: Store):
    tables = store.query(
        "SELECT name FROM system.tables WHERE database = currentDatabase() AND engine != 'View' AND comment = ''"
    )
    columns = store.query(
        "SELECT table, name FROM system.columns WHERE database = currentDatabase() AND comment = '' "
        "AND table IN (SELECT name FROM system.tables WHERE database = currentDatabase() AND engine != 'View')"
    )
    assert (tables.rows, columns.rows) == ([], [])


def test_every_view_says_final(store: Store):
    replaced = store.query(
        "SELECT name FROM system.tables WHERE database = currentDatabase() AND engine = 'ReplacingMergeTree'"
    )
    tables = {str(name) for (name,) in replaced.rows}
    read = [
        (name, line.strip())
        for name, text in sql.read("views").items()
        for line in text.splitlines()
        if line.strip().startswith("FROM ") and line.split()[1].rstrip(";") in tables
    ]
    assert len(read) > 15
    assert [(name, line) for name, line in read if "FINAL" not in line] == []


def test_every_sort_key_is_explained_and_holds_its_partition(store: Store):
    texts = "\n".join(sql.read("migrations").values())
    for statement in sql.statements(texts):
        if "ENGINE =" not in statement:
            continue
        before_engine = statement.split("ENGINE =")[0].rstrip().splitlines()[-1]
        assert before_engine.startswith("-- "), f"say why this ORDER BY: {statement[:80]}"
    replaced = store.query(
        "SELECT name, partition_key, sorting_key FROM system.tables "
        "WHERE database = currentDatabase() AND engine = 'ReplacingMergeTree'"
    )
    for name, partition_key, sorting_key in replaced.rows:
        key = str(sorting_key).split(", ")
        for column in ("generation", "hour", "at"):
            assert f"({column})" not in f"({partition_key})" or column in key, name
        assert "generation" not in key or key[0] == "generation", name


def test_an_interrupted_migration_goes_on_where_it_stopped(monkeypatch: pytest.MonkeyPatch):
    with bare_store() as store:
        run = store._command

        def stops_at_runs(text: str) -> object:
            if "TABLE IF NOT EXISTS runs" in text:
                raise StoreError("the power went")
            return run(text)

        monkeypatch.setattr(store, "_command", stops_at_runs)
        with pytest.raises(StoreError, match=r"0003_runs: the power went"):
            store.migrate()
        monkeypatch.undo()
        store.migrate()
        assert store.query("SELECT count() FROM report_runs").rows == [(0,)]


def test_checkpoints_from_before_partitions_are_taken_along(monkeypatch: pytest.MonkeyPatch):
    earlier = {name: text for name, text in sql.read("migrations").items() if name < "0007"}
    with bare_store() as store:
        monkeypatch.setattr(migrate, "read", lambda folder: earlier if folder == "migrations" else {})
        store.migrate()
        store._command(
            "INSERT INTO checkpoints SELECT 'g1', 'c', 10, 'tenure.events', 0, 99, 0, 20, 30, 3600, 20, 'facts', 1, 2"
        )
        monkeypatch.undo()
        store.migrate()
        (found,) = store.checkpoints("g1").values()
    assert (found["c"].seq, found["c"].position.offset, found["c"].facts) == (10, 99, b"facts")


def test_tables_of_a_newer_tenure_are_refused_by_name(monkeypatch: pytest.MonkeyPatch):
    with bare_store() as store:
        newer = sql.read("migrations") | {"9999_of_tomorrow": "CREATE TABLE tomorrow (a Int8) ENGINE = Memory;\n"}
        monkeypatch.setattr(migrate, "read", lambda folder: newer if folder == "migrations" else sql.read(folder))
        store.migrate()
        monkeypatch.undo()
        with pytest.raises(SchemaTooNew, match="9999_of_tomorrow"):
            store.migrate()


def test_an_applied_migration_that_was_edited_is_noticed(monkeypatch: pytest.MonkeyPatch):
    with bare_store() as store:
        store.migrate()
        edited = {name: text + "-- oh\n" for name, text in sql.read("migrations").items()}
        monkeypatch.setattr(migrate, "read", lambda folder: edited if folder == "migrations" else sql.read(folder))
        with pytest.raises(StoreError, match="0001_log was applied here with another text"):
            store.migrate()


def test_views_follow_the_code(monkeypatch: pytest.MonkeyPatch):
    def with_views(text: str) -> None:
        views = sql.read("views") | {"report_zz": text}
        monkeypatch.setattr(migrate, "read", lambda folder: views if folder == "views" else sql.read(folder))

    with bare_store() as store:
        for number in (1, 2, 1):
            with_views(f"CREATE OR REPLACE VIEW report_zz AS SELECT {number} AS n;\n")
            store.migrate()
            assert store.query("SELECT n FROM report_zz").rows == [(number,)]
