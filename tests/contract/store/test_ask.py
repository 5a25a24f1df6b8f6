"""SQL that somebody typed: answered from the public views, within limits, and kept away from all else."""

from pathlib import Path

import pytest

from ledger.store.errors import QueryRefused, QueryTooLarge
from ledger.store.protocol import Limits, Store
from tests.contract.store.rows import checkpoint, posting, run, tables_of

LIMITS = Limits(max_execution_s=1, max_rows=5)


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT 1", [(1,)]),
        ("select 1 as c; -- done;\n", [(1,)]),
        ("WITH x AS (SELECT number AS n FROM numbers(3)) SELECT sum(n) FROM x", [(3,)]),
        ("(SELECT 1) UNION ALL (SELECT 1)", [(1,), (1,)]),
        ("SELECT 1 INTERSECT SELECT 1", [(1,)]),
        ("SELECT 'a;b', 'it''s', 'it\\'s', `c;d` FROM (SELECT 7 AS `c;d`)", [("a;b", "it's", "it's", 7)]),
        ("FROM report_postings SELECT sum(amount_gpu_ms)", [(100,)]),
        ("SELECT count() FROM report_runs AS r WHERE r.job IN ('j') AND 1 IN (SELECT number FROM numbers(3))", [(1,)]),
        ("SELECT job FROM report_runs WHERE job IN (SELECT job FROM report_jobs)", []),
        ("SELECT count() AS runs, 1 AS events, 'accounts' FROM report_postings", [(1, 1, "accounts")]),
        ("SELECT hour FROM report_postings LIMIT 0", []),
    ],
)
def test_a_select_over_the_views_is_answered(store: Store, sql: str, rows: list[object]):
    store.write("g1", tables_of(posting(1), run("j")))
    store.save_checkpoint("g1", checkpoint())
    assert store.ask(sql, limits=LIMITS).rows == rows


@pytest.mark.parametrize(
    "sql",
    [
        "",
        ";",
        "-- nothing",
        "SELEC 1",
        "SELECT nosuch FROM report_runs",
        "SELECT * FROM report_nosuch",
        "SELECT {missing:String}",
        "SELECT intDiv(1, 0)",
        "SELECT 1; SELECT 2",
        "SELECT 1; DROP TABLE postings",
        "SELECT 1 FORMAT JSON",
        "SELECT 1 SETTINGS max_execution_time = 0",
        "SELECT 1 SETTINGS readonly = 0",
        "SET readonly = 0",
        "INSERT INTO postings (run) SELECT 'x'",
        "CREATE TABLE t (a Int8) ENGINE = Memory",
        "ALTER TABLE postings DELETE WHERE 1",
        "DROP TABLE postings",
        "SHOW TABLES",
        "EXPLAIN SELECT 1",
        "SELECT * FROM postings",
        "SELECT * FROM `postings`",
        "SELECT webhooks FROM accounts",
        "SELECT * FROM system.tables",
        "SELECT * FROM information_schema.tables",
        "SELECT 1 WHERE 'x' IN accounts",
        "SELECT 1 WHERE ('x', 1) NOT IN accounts",
        "SELECT 1 WHERE 'x' IN system.databases",
        "SELECT * FROM accounts WHERE 1 IN (WITH accounts AS (SELECT 1) SELECT * FROM accounts)",
        "SELECT (SELECT count() FROM accounts)",
        "SELECT * FROM (SELECT * FROM view(SELECT * FROM accounts))",
        "SELECT * FROM merge(currentDatabase(), '.*')",
        "SELECT * FROM viewExplain('EXPLAIN', '', (SELECT 1 FROM accounts))",
        "SELECT * FROM file('/etc/hostname', 'RawBLOB')",
        "SELECT * FROM url('http://127.0.0.1:1/', 'RawBLOB')",
        "SELECT * FROM remote('127.0.0.1', 'system', 'one')",
        "SELECT * FROM python(os)",
        "SELECT * FROM executable('ls', 'TSV', 'a String')",
        "SELECT file('/etc/hostname')",
        "SELECT `file`('/etc/hostname')",
        "SELECT \"FILE\"('/etc/hostname')",
        "SELECT arrayMap(x -> file(x), ['/etc/hostname'])",
        "SELECT joinGet('postings', 'run', 1)",
        "SELECT dictGet('d', 'x', 1)",
        "SELECT hasColumnInTable(currentDatabase(), 'accounts', 'webhooks')",
        "SELECT sleepEachRow(1)",
        "SELECT 1 AS `a\n TableIdentifier`",
        "SELECT $$a$$",
    ],
)
def test_anything_else_is_refused(store: Store, sql: str):
    with pytest.raises(QueryRefused) as refused:
        store.ask(sql, limits=LIMITS)
    assert "DB::Exception" not in str(refused.value)
    assert store.query("SELECT count() FROM postings").rows == [(0,)]


def test_the_tables_of_this_very_database_are_refused_by_their_full_name(store: Store):
    ((database,),) = store.query("SELECT currentDatabase()").rows
    with pytest.raises(QueryRefused):
        store.ask(f"SELECT * FROM {database}.accounts", limits=LIMITS)
    assert store.ask(f"SELECT * FROM {database}.report_runs", limits=LIMITS).rows == []


def test_no_file_is_written(store: Store, tmp_path: Path):
    target = tmp_path / "out"
    for sql in (f"SELECT 1 INTO OUTFILE '{target}'", f"SELECT 1 INTO\nOUTFILE '{target}' TRUNCATE"):
        with pytest.raises(QueryRefused):
            store.ask(sql, limits=LIMITS)
    assert not target.exists()


def test_a_table_named_by_a_parameter_is_refused_too(store: Store):
    with pytest.raises(QueryRefused):
        store.ask("SELECT * FROM {t:Identifier}", {"t": "accounts"}, limits=LIMITS)


def test_parameters_are_bound_not_pasted(store: Store):
    odd = "x' OR 1 = 1 -- \\ \t\n é"
    table = store.ask(
        "SELECT {odd:String} AS odd, {many:Array(Int64)} AS many", {"odd": odd, "many": [1, 2]}, limits=LIMITS
    )
    assert table.rows == [(odd, [1, 2])]


def test_more_rows_than_the_limit_are_cut_off_and_it_says_so(store: Store):
    exactly = store.ask("SELECT number FROM numbers(5)", limits=LIMITS)
    more = store.ask("SELECT number FROM numbers(1000000)", limits=LIMITS)
    assert (len(exactly.rows), exactly.truncated) == (5, False)
    assert (len(more.rows), more.truncated) == (5, True)


def test_a_query_without_end_is_ended(store: Store):
    with pytest.raises(QueryTooLarge):
        store.ask("SELECT count() FROM numbers(1000000000000)", limits=LIMITS)


def test_a_query_that_takes_all_memory_is_ended(store: Store):
    small = Limits(max_memory_bytes=50_000_000)
    with pytest.raises(QueryTooLarge):
        store.ask("SELECT groupArray(number) FROM numbers(100000000)", limits=small)


def test_an_empty_answer_still_has_its_columns(store: Store):
    table = store.ask("SELECT job, started_at FROM report_runs", limits=LIMITS)
    assert table.columns == ("job", "started_at")
    assert table.types == ("String", "DateTime('UTC')")


def test_our_own_queries_cannot_write_either(store: Store):
    with pytest.raises(QueryRefused, match="readonly"):
        store.query("INSERT INTO postings (run) SELECT 'x'")


def test_rows_of_our_own_queries_can_be_limited(store: Store):
    table = store.query("SELECT number FROM numbers(10)", max_rows=3)
    assert (table.rows, table.truncated) == ([(0,), (1,), (2,)], True)
