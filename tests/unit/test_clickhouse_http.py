"""The endpoint that stands in for a ClickHouse server answers as one does, where the client looks."""

import gzip
import json
import subprocess
import time
import zlib
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode

import pytest
from clickhouse_connect import get_client
from clickhouse_connect.driver.exceptions import DatabaseError
from clickhouse_connect.driver.external import ExternalData

from tests.support.clickhouse import ClickHouseServer


@pytest.fixture(scope="module")
def server() -> Iterator[ClickHouseServer]:
    with ClickHouseServer(password="secret") as server:
        yield server


class Said:
    def __init__(self, connection: HTTPConnection) -> None:
        answer = connection.getresponse()
        self.status, self.body, self.headers = answer.status, answer.read(), dict(answer.getheaders())

    @property
    def code(self) -> int:
        return int(self.headers["X-ClickHouse-Exception-Code"])


class Wire:
    """Requests as they are, on one connection that is kept."""

    def __init__(self, server: ClickHouseServer) -> None:
        self.connection = HTTPConnection(server.host, server.port, timeout=30)

    def __call__(self, method: str, body: bytes = b"", path: str = "/", **given: str) -> Said:
        address = urlencode({"password": "secret"} | {k: v for k, v in given.items() if "_Header_" not in k})
        headers = {k.removeprefix("_Header_").replace("_", "-"): v for k, v in given.items() if "_Header_" in k}
        self.connection.request(method, f"{path}?{address}", body, headers)
        return Said(self.connection)


@pytest.fixture
def wire(server: ClickHouseServer) -> Iterator[Wire]:
    wire = Wire(server)
    yield wire
    wire.connection.close()


def test_it_says_that_it_is_there(wire: Wire):
    assert wire("GET", path="/ping").body == b"Ok.\n"
    assert wire("GET", path="/nowhere").status == 404


def test_a_query_stands_in_the_address_or_in_the_body_or_in_both(wire: Wire):
    assert wire("POST", b"SELECT 1").body == b"1\n"
    assert wire("GET", query="SELECT 1").body == b"1\n"
    assert wire("POST", b"1, 2", query="SELECT").body == b"1\t2\n"
    assert wire("POST", b"").code == 62


def test_formats_parameters_and_settings(wire: Wire):
    assert wire("POST", b"SELECT 1 AS a FORMAT JSONEachRow").body == b'{"a":1}\n'
    assert wire("POST", b"SELECT 1 AS a", default_format="JSONEachRow").body == b'{"a":1}\n'
    told = wire("POST", b"SELECT {n:Int64} AS n, {t:String} AS t", param_n="-3", param_t="a\\tb", default_format="CSV")
    assert told.body == b'-3,"a\tb"\n'
    assert told.headers["X-ClickHouse-Format"] == "CSV"
    assert wire("POST", b"SELECT getSetting('max_threads')", max_threads="3").body == b"3\n"
    assert wire("POST", b"SELECT getSetting('max_threads') = 3").body == b"0\n"


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("SELECT FROM WHERE", 400, 62),
        ("SELECT 1; SELECT 2", 400, 62),
        ("SELECT nope", 404, 47),
        ("SELECT * FROM nope", 404, 60),
        ("SELECT throwIf(1)", 500, 395),
        ("SELECT * FROM numbers(10) INTO OUTFILE '/tmp/no'", 500, 474),
        ("SELECT 1 SETTINGS nope = 1", 404, 115),
    ],
)
def test_an_error_has_its_status_code_and_words(wire: Wire, query: str, status: int, code: int):
    told = wire("POST", query.encode())
    assert (told.status, told.code) == (status, code)
    assert told.body.startswith(b"Code: %d. DB::Exception: " % code)
    assert b"(version " in told.body
    assert wire("POST", b"SELECT 1").body == b"1\n"  # on the same connection


def test_unknown_settings_and_databases_are_errors(wire: Wire):
    assert wire("POST", b"SELECT 1", nope="1").code == 115
    assert wire("POST", b"SELECT 1", database="nope").code == 81


def test_a_get_changes_nothing(wire: Wire):
    assert wire("GET", query="CREATE TABLE by_get (a Int8) ENGINE = Memory").code == 164


def test_rows_go_in_behind_the_statement(wire: Wire):
    wire("POST", b"CREATE OR REPLACE TABLE t (a Int32, `format` String) ENGINE = MergeTree ORDER BY a")
    for body, query in (
        (b"INSERT INTO t VALUES (1, 'x; y'), (2, 'FORMAT CSV')", ""),
        (b'{"a":3,"format":"z"}', "INSERT INTO t FORMAT JSONEachRow"),
        (b"INSERT INTO t (a, `format`) FORMAT TSV\n4\tw\n", ""),
        (b"INSERT INTO t SELECT 5, 'v'", ""),
    ):
        told = wire("POST", body, query=query) if query else wire("POST", body)
        assert told.status == 200, told.body
    assert wire("POST", b"SELECT count(), sum(a) FROM t").body == b"5\t15\n"
    told = wire("POST", b"INSERT INTO t FORMAT TSV\n6\tu\n7\tu\n")
    assert json.loads(told.headers["X-ClickHouse-Summary"])["written_rows"] == "2"
    assert wire("POST", b"INSERT INTO t FORMAT TSV\nnot a number\t1\n").code == 27
    wire("POST", b"INSERT INTO t VALUES (8, 'x'); DROP TABLE t")
    assert wire("POST", b"SELECT countIf(a != 8) FROM t").body == b"7\n"


@pytest.mark.parametrize(("encoding", "unpack"), [("gzip", gzip.decompress), ("deflate", zlib.decompress)])
def test_answers_are_packed_when_both_are_asked_for(wire: Wire, encoding: str, unpack):
    packed = wire("POST", b"SELECT 1", enable_http_compression="1", _Header_Accept_Encoding=encoding)
    assert packed.headers["Content-Encoding"] == encoding
    assert unpack(packed.body) == b"1\n"
    assert "Content-Encoding" not in wire("POST", b"SELECT 1", _Header_Accept_Encoding=encoding).headers


def test_who_logs_in_is_checked(server: ClickHouseServer, wire: Wire):
    assert wire("POST", b"SELECT 1", password="guess").status == 403
    assert wire("POST", b"SELECT 1", user="nobody").code == 516
    told = wire(
        "POST", b"SELECT 1", password="", _Header_X_ClickHouse_User="default", _Header_X_ClickHouse_Key="secret"
    )
    assert told.body == b"1\n"


def test_sessions_keep_what_is_set_and_admit_one_query_at_a_time(wire: Wire, server: ClickHouseServer):
    wire("POST", b"CREATE TEMPORARY TABLE mine AS SELECT 7 AS a", session_id="s")
    assert wire("POST", b"SELECT a FROM mine", session_id="s").body == b"7\n"
    assert wire("POST", b"SELECT a FROM mine", session_id="other").code == 60
    other = Wire(server)
    address = urlencode({"password": "secret", "session_id": "s", "query": "SELECT sleep(1)"})
    other.connection.request("POST", f"/?{address}")
    time.sleep(0.3)
    assert wire("POST", b"SELECT 1", session_id="s").code == 373
    assert Said(other.connection).status == 200
    other.connection.close()


def test_tables_may_come_with_a_query(server: ClickHouseServer):
    client = get_client(host=server.host, port=server.port, password="secret")
    came = ExternalData(file_name="people", data=b"1\tada\n2\tbo\n", fmt="TSV", structure=["id UInt8", "name String"])
    found = client.query("SELECT name FROM people WHERE id = {id:UInt8}", parameters={"id": 2}, external_data=came)
    assert found.result_rows == [("bo",)]
    client.close()


def test_an_answer_without_rows_has_its_columns(server: ClickHouseServer):
    client = get_client(host=server.host, port=server.port, password="secret")
    empty = client.query("SELECT 1 AS a, 'x' AS b WHERE 0")
    assert (empty.column_names, empty.result_rows) == (("a", "b"), [])
    with pytest.raises(DatabaseError, match="UNKNOWN_IDENTIFIER"):
        client.query("SELECT nope")
    client.close()


def test_it_ends_when_it_is_told_to_and_with_its_parent(tmp_path: Path):
    with ClickHouseServer() as other:
        process = other.process
        other.stop()
        assert process.returncode == 0
    code = (
        "from tests.support.clickhouse import ClickHouseServer\n"
        "import os, sys\n"
        "server = ClickHouseServer(sys.argv[1]).start()\n"
        "print(server.process.pid, flush=True)\n"
        "os._exit(0)\n"
    )
    from tests.support.chdb import run_python

    pid = run_python(code, str(tmp_path)).stdout.strip()
    for _ in range(50):
        if subprocess.run(["kill", "-0", pid], capture_output=True, check=False).returncode:
            break
        time.sleep(0.2)
    else:
        raise AssertionError(f"{pid} outlived its parent")
