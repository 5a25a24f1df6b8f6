"""What holds of a server: it goes away and comes back, answers get lost, and its clock stands in some zone."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from subprocess import PIPE, Popen

import numpy as np
import pytest
from clickhouse_connect import get_client

from ledger.rows import Posting
from ledger.store.clickhouse import APPEND_ROWS, ClickHouse
from ledger.store.errors import QueryRefused, StoreDenied, StoreError, StoreFull, StoreUnreachable
from ledger.store.protocol import Limits, Samples
from tests.contract.store.rows import HOUR_S, cause, checkpoint, event, posting, tables_of
from tests.support.chdb import ROOT
from tests.support.clickhouse import STORES, ClickHouseServer


@pytest.fixture(scope="module")
def server() -> Iterator[ClickHouseServer]:
    with ClickHouseServer() as server:
        yield server


@pytest.fixture
def store(server: ClickHouseServer, request: pytest.FixtureRequest) -> Iterator[ClickHouse]:
    store = server.store(database=f"db_{abs(hash(request.node.nodeid))}")
    store.migrate()
    yield store
    store.close()


def postings(store: ClickHouse) -> int:
    ((count,),) = store.query("SELECT count() FROM postings FINAL").rows
    assert isinstance(count, int)
    return count


# ---------------------------------------------------------------- away and back


CALLS: list[Callable[[ClickHouse], object]] = [
    lambda store: store.write("g1", tables_of(posting(2))),
    lambda store: store.append([event(2)]),
    lambda store: store.save_checkpoint("g1", checkpoint(seq=2)),
    lambda store: store.checkpoints("g1"),
    lambda store: store.query("SELECT count() FROM report_postings"),
    lambda store: store.ask("SELECT count() FROM report_postings", limits=Limits()),
    lambda store: store.migrate(),
]


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_store_outlives_its_server(server: ClickHouseServer, store: ClickHouse, end: str):
    store.write("g1", tables_of(posting(1)))
    getattr(server, end)()
    try:
        for call in CALLS:
            with pytest.raises(StoreUnreachable, match=r"127\.0\.0\.1:\d+ does not answer: Connection refused$"):
                call(store)
    finally:
        server.start()
    assert postings(store) == 1
    for call in CALLS:
        call(store)
    assert postings(store) == 2


def test_what_was_acknowledged_survives_a_kill_in_the_middle_of_writing(server: ClickHouseServer, store: ClickHouse):
    written: list[int] = []

    def write() -> None:
        try:
            for number in range(1, 100_000):
                store.append([event(number)])
                store.write("g1", tables_of(*(posting(number * 10 + n) for n in range(10))))
                written.append(number)
        except StoreUnreachable:
            pass

    writer = threading.Thread(target=write)
    writer.start()
    time.sleep(1)
    server.kill()
    writer.join()
    server.start()
    assert written
    seqs = {row[0] for row in store.query("SELECT seq FROM postings FINAL").rows}
    assert {number * 10 + n for number in written for n in range(10)} <= seqs
    assert {row[0] for row in store.query("SELECT offset FROM events FINAL").rows} >= set(written)


@pytest.mark.parametrize("fault", ["lose", "cut"])
def test_an_insert_whose_answer_is_lost_counts_once(server: ClickHouseServer, store: ClickHouse, fault: str):
    server.fault(fault, text="`postings`")
    store.write("g1", tables_of(posting(1), posting(2)))
    server.fault(fault, text="`postings`", times=2)
    with pytest.raises(StoreUnreachable, match="does not answer"):
        store.write("g1", tables_of(posting(3)))
    store.write("g1", tables_of(posting(3)))
    assert postings(store) == 3


@pytest.mark.parametrize("fault", ["lose", "cut"])
def test_a_statement_whose_answer_is_lost_may_be_said_again(server: ClickHouseServer, store: ClickHouse, fault: str):
    server.fault(fault, text="INSERT INTO generations")
    with pytest.raises(StoreUnreachable, match="does not answer"):
        store.set_live_generation("g2")
    store.set_live_generation("g2")
    assert store.live_generation() == "g2"


def test_half_an_answer_is_none(server: ClickHouseServer, store: ClickHouse):
    store.write("g1", tables_of(*(posting(n, cause=cause(n)) for n in range(1, 50_000))))
    server.fault("tear", text="FROM postings", times=9)
    with pytest.raises(StoreUnreachable):
        store.query("SELECT * FROM postings")
    server.restart()
    assert len(store.query("SELECT * FROM postings").rows) == 49_999


def test_a_server_that_says_nothing_does_not_answer(server: ClickHouseServer):
    server.timeout_s = 1
    store = server.store("silent")
    server.timeout_s = 300
    server.pause()
    try:
        with pytest.raises(StoreUnreachable, match="does not answer"):
            store.query("SELECT 1")
    finally:
        server.resume()
    assert store.query("SELECT 1").rows == [(1,)]
    store.close()


# ---------------------------------------------------------------- what it says


@pytest.mark.parametrize(
    ("code", "error", "words"),
    [
        (243, StoreFull, "no space left for the ClickHouse server"),
        (252, StoreUnreachable, "cannot do it now: as the test wishes"),
        (241, StoreUnreachable, "cannot do it now: as the test wishes"),
        (242, StoreUnreachable, "cannot do it now"),
        (999, StoreUnreachable, "cannot do it now"),
        (210, StoreUnreachable, "does not answer"),
        (516, StoreDenied, "refuses the login"),
        (49, StoreError, "as the test wishes"),
    ],
)
def test_an_error_of_the_server_has_its_place(
    server: ClickHouseServer, store: ClickHouse, code: int, error: type[StoreError], words: str
):
    server.fault("refuse", code=code, text="`postings`")
    with pytest.raises(StoreError, match=words) as caught:
        store.write("g1", tables_of(posting(1)))
    assert type(caught.value) is error
    assert not any(
        noise in str(caught.value) for noise in ("Code:", "DB::Exception", "http://", "version", "exception")
    )
    store.write("g1", tables_of(posting(1)))


def test_a_wrong_query_is_told_as_in_this_process(store: ClickHouse):
    with pytest.raises(QueryRefused, match=r"^Unknown expression identifier `nope`. In scope SELECT nope"):
        store.query("SELECT nope")
    with pytest.raises(QueryRefused, match=r"^syntax error near "):
        store.query("SELECT FROM WHERE")


# ---------------------------------------------------------------- size


def test_large_inserts_arrive_whole(store: ClickHouse):
    many = APPEND_ROWS + 1
    store.append([event(n, raw=b"%d\x00\xff" % n * 20) for n in range(many)])
    assert store.last_offset("tenure.events", 0) == many - 1
    assert store.query("SELECT count(), uniqExact(raw) FROM events").rows == [(many, many)]
    rows = [posting(n, amount_gpu_ms=-n, cause=cause(2**128 - n)) for n in range(1, 100_001)]
    store.write("g1", {Posting: rows})
    total = store.query("SELECT sum(amount_gpu_ms), min(cause), max(cause) FROM postings").rows
    assert total == [(-sum(range(100_001)), cause(2**128 - 100_000), cause(2**128 - 1))]


def test_a_day_of_samples_arrives_whole(store: ClickHouse):
    number = 300_000
    place = np.arange(number)
    store.write_samples(
        Samples(
            clusters=("c", "d"),
            cluster=(place % 2).astype(np.uint16),
            nodes=tuple(f"n{n}" for n in range(100)),
            node=(place % 100).astype(np.uint16),
            gpu=(place % 8).astype(np.uint16),
            at_s=HOUR_S + place,
            interval_s=np.full(number, 60, np.uint32),
            utilization_pct=(place % 101).astype(np.float32),
            sm_active_pct=np.where(place % 3, np.nan, 50).astype(np.float32),
            memory_used_mib=np.full(number, np.nan, np.float32),
            power_w=np.full(number, 700.5, np.float32),
            xid=np.where(place % 1000, -1, 79).astype(np.int32),
        )
    )
    found = store.query(
        "SELECT count(), uniqExact(node), toUnixTimestamp(max(at)), sum(utilization_pct), count(sm_active_pct), "
        "count(memory_used_mib), sum(power_w), sum(xid) FROM gpu_samples"
    ).rows
    expected = (number, 100, HOUR_S + number - 1, float((place % 101).sum()), 100_000, 0, 700.5 * number, 79 * 300)
    assert found == [expected]


def test_a_parameter_too_long_for_an_address_is_bound_all_the_same(store: ClickHouse):
    text = 'it\'s \\ a\t"long"\n{story:String} – ' * 1_000
    assert store.query("SELECT {text:String} AS told", {"text": text}).rows == [(text,)]
    answered = store.ask(
        "SELECT count() FROM report_postings WHERE cluster != {text:String}", {"text": text}, limits=Limits()
    )
    assert answered.rows == [(0,)]


@pytest.mark.parametrize("compression", ["lz4", "zstd", "gzip", False])
def test_every_compression_the_client_knows_is_understood(server: ClickHouseServer, compression: str | bool):
    client = get_client(host=server.host, port=server.port, compress=compression, autogenerate_session_id=False)
    client.command("CREATE OR REPLACE TABLE packed (a UInt64, b String) ENGINE = MergeTree ORDER BY a")
    rows = [(n, "x" * (n % 50)) for n in range(20_000)]
    client.insert("packed", rows, column_names=["a", "b"])
    assert [tuple(row) for row in client.query("SELECT * FROM packed ORDER BY a").result_rows] == rows
    client.close()


# ---------------------------------------------------------------- zones


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kathmandu"])
def test_times_are_utc_whatever_the_zone_of_the_server(zone: str):
    with ClickHouseServer(zone=zone) as server:
        store = server.store()
        store.migrate()
        assert store.query("SELECT timezone()").rows == [(zone,)]
        store.write("g1", tables_of(posting(1)))
        store.append([event(1)])
        store.save_checkpoint("g1", checkpoint(seq=1))
        asked = "SELECT hour, toString(hour), toDateTime('2023-11-14 23:00:00', 'UTC'), fromUnixTimestamp(1700002800)"
        hour = datetime(2023, 11, 14, 23, tzinfo=UTC)
        (row,) = store.query(f"{asked} FROM report_postings").rows
        assert row == (hour, "2023-11-14 23:00:00", hour, hour)
        assert all(str(value.tzinfo) == "UTC" for value in row if isinstance(value, datetime))
        assert store.read_events("tenure.events", 0, -1, 1) == [event(1)]
        assert [c["c"] for c in store.checkpoints("g1").values()] == [checkpoint(seq=1)]
        store.close()


# ---------------------------------------------------------------- several processes

WRITES = """
import sys
from ledger.store.clickhouse import open_server
from tests.contract.store.rows import event, posting, tables_of
store = open_server("127.0.0.1", port=int(sys.argv[1]), database=sys.argv[2])
store.migrate()
for n in range(20):
    store.append([event(n * 50 + k, partition=int(sys.argv[3])) for k in range(50)])
    store.write("g1", tables_of(*(posting(n * 50 + k + 1, cluster="c" + sys.argv[3]) for k in range(50))))
store.close()
"""


def test_processes_share_a_book():
    """They make its tables at once, too."""
    with ClickHouseServer() as server:
        command = [sys.executable, "-W", "error", "-c", WRITES, str(server.port), "tenure"]
        workers = [Popen([*command, str(n)], cwd=ROOT, stderr=PIPE, text=True) for n in range(3)]
        for worker in workers:
            _, errors = worker.communicate(timeout=100)
            assert worker.returncode == 0, errors
        store = server.store()
        assert store.query("SELECT cluster, count() FROM postings FINAL GROUP BY cluster ORDER BY cluster").rows == [
            (f"c{n}", 1_000) for n in range(3)
        ]
        assert [store.last_offset("tenure.events", n) for n in range(3)] == [999] * 3
        store.close()


def test_a_closed_store_says_so():
    with STORES.bare() as store:
        other = STORES._open(store.database)
        other.migrate()
        other.close()
        with pytest.raises(StoreError, match="is closed"):
            other.last_offset("t", 0)
