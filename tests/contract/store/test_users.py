"""The users of deploy/clickhouse, held by the engine itself to what they may do."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from xml.etree import ElementTree as ET

import pytest

from ledger.store.clickhouse import ClickHouse
from ledger.store.errors import StoreDenied
from ledger.store.protocol import Limits
from ledger.store.sql import statements
from tests.contract.store.rows import checkpoint, event, letter, posting, tables_of
from tests.support.chdb import ROOT, shared_store
from tests.support.clickhouse import ClickHouseServer

USERS = ROOT / "deploy" / "clickhouse" / "users.d" / "tenure.xml"
SQL = ROOT / "deploy" / "clickhouse" / "report_user.sql"
PASSWORDS = {"TENURE_CLICKHOUSE_PASSWORD": "w", "TENURE_REPORT_PASSWORD": "r"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClickHouseServer]:
    """A server with these users, and smaller limits, so that reaching them costs little."""
    users = tmp_path_factory.mktemp("users.d") / "tenure.xml"
    text = USERS.read_text()
    for limit, smaller in (("max_memory_usage>4294967296", "max_memory_usage>100000000"), ("time>60", "time>1")):
        assert limit in text
        text = text.replace(limit, smaller)
    users.write_text(text)
    with ClickHouseServer(users=users, passwords=PASSWORDS) as server:
        yield server


@pytest.fixture(scope="module")
def book(server: ClickHouseServer) -> Iterator[ClickHouse]:
    store = server.store(user="tenure", password="w")
    store.migrate()
    store.write("g1", tables_of(posting(1), posting(2)))
    store.save_checkpoint("g1", checkpoint(seq=2))
    yield store
    store.close()


class Reader:
    """What `tenure_report` gets from the server: rows, or the code of the error."""

    def __init__(self, server: ClickHouseServer) -> None:
        self._server = server

    def __call__(self, sql: str, **settings: object) -> Any:
        address = urlencode({"database": "tenure", "default_format": "JSONCompactEachRow", **settings})
        headers = {"X-ClickHouse-User": "tenure_report", "X-ClickHouse-Key": "r"}
        try:
            answer = self._server.post(f"/?{address}", sql.encode(), **headers)
        except HTTPError as error:
            with error:
                return int(error.headers["X-ClickHouse-Exception-Code"])
        return [json.loads(line) for line in answer.splitlines()]


@pytest.fixture
def report(server: ClickHouseServer, book: ClickHouse) -> Reader:
    return Reader(server)


SYNTAX, READONLY, DENIED, OUTFILE, NOT_GRANTED = 62, 164, 497, 474, 512
TOO_LONG, TOO_MUCH, TOO_MANY = 159, 241, 396


def test_a_reader_sees_every_public_view(report: Reader, book: ClickHouse):
    views = [str(name) for (name,) in book.query("tables").rows if str(name).startswith("report_")]
    assert len(views) > 10
    for view in views:
        assert isinstance(report(f"SELECT * FROM {view} LIMIT 1"), list), view
    assert report("SELECT count() FROM report_postings") == [[2]]


def test_a_reader_sees_no_table_behind_them(report: Reader, book: ClickHouse):
    names = [str(name) for (name,) in book.query("tables").rows if not str(name).startswith("report_")]
    assert len(names) > 20
    for name in names:
        assert report(f"SELECT * FROM {name} LIMIT 1") == DENIED, name
    assert report("SHOW TABLES NOT LIKE 'report_%'") == []


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT 1; SELECT 2", SYNTAX),
        ("SELECT 1; DROP VIEW report_postings", SYNTAX),
        ("SELECT * FROM report_postings WHERE seq IN (SELECT seq FROM postings)", DENIED),
        ("SELECT * FROM report_postings WHERE seq IN postings", DENIED),
        ("WITH (SELECT count() FROM postings) AS n SELECT n", DENIED),
        ("SELECT * FROM view(SELECT * FROM postings)", DENIED),
        ("SELECT * FROM loop('tenure', 'postings') LIMIT 1", DENIED),
        ("SELECT * FROM mergeTreeIndex(tenure, postings)", DENIED),
        ("SELECT * FROM file('/etc/passwd', 'LineAsString')", DENIED),
        ("SELECT * FROM url('http://127.0.0.1:1/', 'LineAsString')", DENIED),
        ("SELECT * FROM remote('127.0.0.1', 'system', 'one')", DENIED),
        ("SELECT * FROM mysql('h', 'd', 't', 'u', 'p')", DENIED),
        ("SELECT * FROM executable('x', 'TSV', 'a Int8')", DENIED),
        ("SELECT * FROM report_postings INTO OUTFILE '/tmp/x.csv'", OUTFILE),
        ("SELECT * FROM system.users", DENIED),
        ("SELECT * FROM system.grants", DENIED),
        ("SELECT * FROM system.quotas", DENIED),
        ("DESCRIBE TABLE postings", DENIED),
        ("EXPLAIN SELECT * FROM postings", DENIED),
        ("INSERT INTO generations VALUES ('x', 9)", DENIED),
        ("CREATE TABLE mine (a Int8) ENGINE = Memory", DENIED),
        ("CREATE TEMPORARY TABLE mine (a Int8)", DENIED),
        ("CREATE VIEW report_mine AS SELECT 1", DENIED),
        ("DROP VIEW report_postings", DENIED),
        ("ALTER TABLE postings DELETE WHERE 1", DENIED),
        ("SYSTEM SHUTDOWN", DENIED),
        ("SET readonly = 0", READONLY),
        ("SET max_memory_usage = 0", READONLY),
        ("SELECT 1 SETTINGS readonly = 0", READONLY),
        ("SELECT 1 SETTINGS max_execution_time = 0", READONLY),
        ("SET ROLE tenure", NOT_GRANTED),
        ("SELECT number FROM numbers(1000001)", TOO_MANY),
        ("SELECT groupArray(number) FROM numbers(100000000)", TOO_MUCH),
        ("SELECT sum(sleepEachRow(0.05)) FROM numbers(100) SETTINGS max_block_size = 1", READONLY),
        ("SELECT count() FROM numbers(1000000000000) WHERE NOT ignore(sipHash64(number))", TOO_LONG),
    ],
)
def test_a_reader_does_no_more(report: Reader, book: ClickHouse, sql: str, code: int):
    assert report(sql) == code
    assert book.query("SELECT count() FROM report_postings").rows == [(2,)]


def test_a_reader_cannot_lift_limits_by_the_address(report: Reader):
    assert report("SELECT 1", max_memory_usage=0) == READONLY
    assert report("SELECT 1", readonly=0) == READONLY


def test_the_writer_does_all_that_tenure_does_and_no_more(server: ClickHouseServer, book: ClickHouse):
    book.migrate()
    book.settle_log("here")
    book.append([event(1)])
    book.write_dead_letters([letter(1)])
    book.write("g2", tables_of(posting(1)))
    book.roll_up_samples("g1", "c", 0, 3_600, 1)
    book.expire_samples(1_000_000_000)
    book.drop_generation("g2")
    assert book.ask("SELECT count() FROM report_postings", limits=Limits()).rows == [(2,)]
    assert len(book.read_events("tenure.events", 0, -1, 10)) == 1
    with pytest.raises(Exception, match="Not enough privileges"):
        book._command("CREATE TABLE default.mine (a Int8) ENGINE = Memory")
    with pytest.raises(Exception, match="Not enough privileges"):
        book.query("SELECT * FROM file('/etc/passwd', 'LineAsString')")


@pytest.mark.parametrize(("user", "password"), [("default", ""), ("tenure", ""), ("tenure", "r"), ("nobody", "w")])
def test_nobody_else_is_let_in(server: ClickHouseServer, user: str, password: str):
    with pytest.raises(StoreDenied, match="refuses the login: check the user in its address, and the password"):
        server.store(user=user, password=password)


# ---------------------------------------------------------------- the same by SQL


def test_the_same_reader_by_sql_is_the_same():
    root = ET.fromstring(USERS.read_text())
    text = SQL.read_text()
    profile = {setting.tag: (setting.text or "").strip() for setting in root.iterfind("profiles/tenure_report/*")}
    assert {
        name: value.strip("'") for name, value in re.findall(r"^    (\w+) = (\S+?)[,;]$", text, re.MULTILINE)
    } == profile
    (grant,) = (query.text for query in root.iterfind("users/tenure_report/grants/query"))
    assert f"{grant} TO tenure_report;" in text
    quota = {limit.tag: limit.text for limit in root.iterfind("quotas/tenure_report/interval/*")}
    assert f"queries = {quota['queries']}, execution_time = {quota['execution_time']}" in text
    assert quota["duration"] == "3600"


@pytest.mark.parametrize("statement", statements(SQL.read_text()))
def test_every_statement_is_sql(statement: str):
    assert shared_store().query("SELECT formatQuery({text:String})", {"text": statement}).rows


def test_no_password_is_in_the_files():
    root = ET.fromstring(USERS.read_text())
    assert [dict(password.attrib) for password in root.iter("password")] == [{"from_env": name} for name in PASSWORDS]
    assert "from_env" in USERS.read_text()
    assert root.find("users/default").get("remove") == "remove"  # type: ignore[union-attr]
    assert Path(SQL).read_text().count("{password:String}") == 1
