"""`verify` believes a book that nobody touched, and none in which a stored row was changed, deleted or inserted."""

import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from itertools import islice
from typing import Any, NamedTuple

import pytest

from ledger.checkpoint import Checkpoint, Partition
from ledger.rows import TABLES
from ledger.store.clickhouse import ClickHouse
from ledger.units import epoch_us
from streams.replay import Replayed, replay
from streams.runtime.embedded import LOG, Embedded
from streams.runtime.owner import Message, Owner
from streams.runtime.patience import Patience
from streams.verify import SCRATCH, Report, verify
from streams.verify import _of_partition as of_partition
from tests.contract.runtime.feeds import DIRECTORY, NOW, clock, seeded, told
from tests.contract.runtime.frail import Fault, Frail
from tests.contract.runtime.kept import KEYS
from tests.support.chdb import fresh_store

LINES = seeded(4, hours=6, nodes=2, jobs=6)
LOG_FAULTS = {"log_hash", "log_count", "log_gap", "misfiled"}
CHECKPOINT = {"checkpoint", "facts_hash", "log_hash", "log_count"}
AT_ONCE = "SETTINGS mutations_sync = 2"


class Tampering(NamedTuple):
    """How one logical row of a table is changed, and what makes a copy of it another row."""

    table: str
    change: str
    other: str
    where: str = "1"


LAST_TICK = "seq = (SELECT max(seq) FROM open_hours WHERE cluster = 'north')"
OF_THE_FOLD = (
    Tampering("postings", "amount_gpu_ms = amount_gpu_ms + 1", "concat(account, 'x') AS account"),
    Tampering("account_hours", "claim_gpu_ms = claim_gpu_ms + 1", "concat(account, 'x') AS account"),
    Tampering("cluster_hours", "idle_gpu_ms = idle_gpu_ms + 1", "concat(pool, 'x') AS pool"),
    Tampering("node_hours", "idle_gpu_ms = idle_gpu_ms + 1", "concat(node, 'x') AS node"),
    Tampering("open_hours", "demand_gpu_ms = demand_gpu_ms + 1", "concat(account, 'x') AS account", LAST_TICK),
    Tampering("runs", "user = 'eve'", "concat(attempt, 'x') AS attempt"),
    Tampering("jobs", "account = 'lab/eve'", "concat(job, 'x') AS job"),
    Tampering("shares", "share_percent = '99'", "revision + 7 AS revision"),
    Tampering("grants", "amount_gpu_ms = amount_gpu_ms + 1", "concat(grant, 'x') AS grant"),
    Tampering("maintenance", "reason = 'none'", "concat(window, 'x') AS window"),
    Tampering("decisions", "author = 'eve'", "concat(subject, 'x') AS subject"),
    Tampering("corrections", "event_id = 'another'", "seq + 1000 AS seq"),
    Tampering("remarks", "sentence = 'all is well'", "concat(subject, 'x') AS subject"),
    Tampering("plans", "sentences = []", "concat(plan, 'x') AS plan"),
    Tampering("preemptions", "outcome = 'left'", "concat(attempt, 'x') AS attempt"),
)
OF_THE_LOG = (
    (Tampering("events", "raw = concat(raw, ' ')", "`offset` + 1000 AS `offset`"), LOG_FAULTS),
    (Tampering("dead_letters", "reason = 'none'", "`offset` + 1000 AS `offset`"), {"dead_letters"}),
    (Tampering("accounts", "title = 'mine'", "concat(account, 'x') AS account"), {"accounts"}),
    (Tampering("share_requests", "share_percent = '99'", "concat(request, 'x') AS request"), {"share_requests"}),
    (Tampering("partition_checkpoints", "facts_hash = facts_hash + 1", "concat(cluster, 'x') AS cluster"), CHECKPOINT),
)
TOUCHED = (*TABLES.values(), "events", "dead_letters", "accounts", "share_requests", "partition_checkpoints")


@pytest.fixture(scope="module")
def book() -> Iterator[ClickHouse]:
    """A small book, with a copy of every table beside it."""
    with fresh_store() as store:
        Embedded(store, clock).ingest(LINES)
        for table in TOUCHED:
            store._command(f"CREATE TABLE kept_{table} AS {table}")
            store._command(f"INSERT INTO kept_{table} SELECT * FROM {table}")
        yield store
        for table in TOUCHED:
            store._command(f"DROP TABLE kept_{table} SYNC")


@contextmanager
def tampered(store: ClickHouse, *statements: str) -> Iterator[None]:
    """The book after these statements; afterwards it is as it was."""
    try:
        for statement in statements:
            store._command(statement)
        yield
    finally:
        for table in TOUCHED:
            if any(f" {table} " in statement for statement in statements):
                store._command(f"TRUNCATE TABLE {table}")
                store._command(f"INSERT INTO {table} SELECT * FROM kept_{table}")


def changed(table: str, change: str, where: str) -> str:
    return f"ALTER TABLE {table} UPDATE {change} WHERE {where} {AT_ONCE}"


def deleted(table: str, where: str) -> str:
    return f"ALTER TABLE {table} DELETE WHERE {where} {AT_ONCE}"


def copied(table: str, other: str, where: str) -> str:
    """A copy of rows that differs from them."""
    return f"INSERT INTO {table} SELECT * REPLACE ({other}) FROM (SELECT * FROM kept_{table} WHERE {where})"


def columns(store: ClickHouse, table: str) -> list[str]:
    asked = "SELECT name FROM system.columns WHERE database = currentDatabase() AND table = {table:String}"
    return [str(name) for (name,) in store.query(asked, {"table": table}).rows]


def row_of(store: ClickHouse, table: str, where: str = "1") -> str:
    """A condition that one logical row fulfils."""
    digest = f"sipHash128(tuple({', '.join(f'`{name}`' for name in columns(store, table))}))"
    found = store.query(f"SELECT hex(max({digest})), count() FROM {table} WHERE {where}").rows[0]
    assert found[1], f"there is no row in {table}"
    return f"{digest} = unhex('{found[0]}')"


def errors(report: Report) -> set[str]:
    return {finding.name for finding in report.errors}


# ---------------------------------------------------------------------- one row of each table


def test_every_table_is_tampered_with(book: ClickHouse):
    assert {t.table for t in OF_THE_FOLD} == set(TABLES.values())
    assert {t.table for t, _ in OF_THE_LOG} | set(TABLES.values()) == set(TOUCHED)


REPLACEABLE = [
    tampering
    for row_type, table in TABLES.items()
    for tampering in OF_THE_FOLD
    if tampering.table == table and "seq" not in KEYS[row_type] and table != "open_hours"
]
"""A row of a higher seq replaces another of its key; among provisional hours it makes all others stale."""


def tamper(book: ClickHouse, how: str, tampering: Tampering) -> str:
    table = tampering.table
    row = row_of(book, table, tampering.where)
    column, _, value = tampering.change.partition(" = ")
    match how:
        case "changed":
            return changed(table, tampering.change, row)
        case "deleted":
            return deleted(table, row)
        case "inserted":
            return copied(table, tampering.other, row)
        case _:
            return copied(table, f"{value} AS {column}, seq + 1 AS seq", row)


@pytest.mark.parametrize(
    ("how", "too_many", "missing"),
    [("changed", 1, 1), ("deleted", 0, 1), ("inserted", 1, 0), ("replaced by a higher seq", 1, 1)],
)
def test_a_row_of_every_table_of_the_fold_is_missed_or_one_too_many(
    book: ClickHouse, how: str, too_many: int, missing: int
):
    """One row in each table; every table has a finding of its own that counts what is wrong there and nothing more."""
    tamperings = REPLACEABLE if how.startswith("replaced") else OF_THE_FOLD
    with tampered(book, *(tamper(book, how, tampering) for tampering in tamperings)):
        report = verify(book)
    told = f"is not what the log comes to: {too_many} rows too many or changed, {missing} missing"
    for tampering in tamperings:
        sentences = [f.sentence for f in report.errors if f.name == tampering.table]
        assert [one for one in sentences if one.startswith(f"{tampering.table} {told}")], sentences


@pytest.mark.parametrize("how", ["changed", "deleted", "inserted"])
@pytest.mark.parametrize(("tampering", "names"), OF_THE_LOG, ids=[t.table for t, _ in OF_THE_LOG])
def test_a_row_of_the_log_the_dead_letters_and_the_checkpoints(
    book: ClickHouse, how: str, tampering: Tampering, names: set[str]
):
    with tampered(book, tamper(book, how, tampering)):
        report = verify(book)
    assert errors(report) & names, report.findings
    assert all(finding.sentence and finding.count > 0 for finding in report.errors)


def test_an_example_shows_the_row_that_is_wrong(book: ClickHouse):
    (tampering,) = (t for t in OF_THE_FOLD if t.table == "runs")
    with tampered(book, tamper(book, "changed", tampering)):
        (finding,) = verify(book).errors
    assert finding.name == "runs"
    assert "user eve" in finding.examples[0]


# ---------------------------------------------------------------------- an untouched book


def test_an_untouched_book_is_believed_and_left_as_it_was(book: ClickHouse):
    report = verify(book)
    assert report.errors == []
    assert report.events == len(LINES)
    assert report.anchor.keys() == {"", "north", "south"}
    kept = book.checkpoints(book.live_generation())[LOG]
    assert report.anchor["north"] == (f"{kept['north'].log_hash:032x}", f"{kept['north'].facts_hash:032x}")
    for table in TABLES.values():
        assert book.query(f"SELECT DISTINCT generation FROM {table}").rows == [(book.live_generation(),)]
    assert book.checkpoints(SCRATCH) == {}


def test_faults_of_the_data_are_warnings():
    """Random logs are full of them: unknown nodes, late ends, runs that overlap others."""
    with fresh_store() as store:
        Embedded(store, clock).ingest(seeded(20, jobs=15))
        report = verify(store)
        over = store.query("SELECT count() FROM node_hours FINAL WHERE overbooked_gpu_ms > 0").rows
    assert report.errors == []
    counts = {finding.name: finding.count for finding in report.warnings}
    assert counts.keys() >= {"overbooked", "placement_over_node", "unknown_node"}
    assert [(counts["overbooked"],)] == over
    assert counts["overbooked"] > 0


@pytest.mark.parametrize("tampering", [None, OF_THE_FOLD[0]], ids=["untouched", "a posting changed"])
def test_a_book_that_is_written_meanwhile_is_judged_up_to_its_checkpoints(tampering: Tampering | None):
    with fresh_store() as store:
        writer = Embedded(store, clock)
        writer.ingest(LINES[: len(LINES) // 2])
        if tampering is not None:
            store._command(tamper(store, "changed", tampering))
        rest = iter(LINES[len(LINES) // 2 :])

        def goes_on(_: int) -> None:
            writer.ingest(islice(rest, 50))

        goes_on(0)
        report = verify(store, goes_on, going_on=True)
        assert len(list(rest)) < len(LINES) // 2 - 50, "nothing was written while it looked"
        assert errors(report) == (set() if tampering is None else {"postings"}), report.errors
        assert report.events < len(LINES)


def test_clusters_half_saved_are_left_out_and_named():
    with fresh_store() as store:
        Embedded(store, clock).ingest(LINES[: len(LINES) // 2])
        frail: Any = Frail(store, Fault(die, {"checkpoint 'north'"}))
        with pytest.raises(Died):
            Embedded(frail, clock).ingest(LINES[len(LINES) // 2 :])
        assert "log_count" in errors(verify(store))
        report = verify(store, going_on=True)
        assert errors(report) == set(), report.errors
        assert [f.examples for f in report.warnings if f.name == "half_saved"] == [("north",)]


def test_partitions_that_nobody_has_checkpointed_yet_are_not_judged():
    """One was never folded to its end: letters and titles of it are there, and no checkpoint."""
    directory = Partition("tenure.directory", 0)
    with fresh_store() as store:
        Embedded(store, clock).ingest(LINES)
        Owner(store, directory, Patience(0, lambda _: None, lambda: 0.0)).take(
            [Message(n, epoch_us(NOW), raw) for n, raw in enumerate((*DIRECTORY, b"?"))]
        )
        assert errors(verify(store)) == {"log_count", "dead_letters"}
        assert errors(verify(store, going_on=True)) == set()


class Died(BaseException):
    """The end of a writer."""


def die(after: str) -> None:
    raise Died(after)


def test_a_book_without_events_is_believed():
    with fresh_store() as store:
        assert verify(store).findings == []
        Embedded(store, clock).ingest([])
        assert verify(store).findings == []


def test_a_look_that_was_stopped_leaves_nothing_behind(book: ClickHouse):
    def stop(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        verify(book, stop)
    assert book.query(f"SELECT count() FROM postings WHERE generation = '{SCRATCH}'").rows == [(0,)]


# ---------------------------------------------------------------------- checkpoints, column by column

FORGED: dict[str, Callable[[Checkpoint], Any]] = {
    "seq": lambda c: c.seq + 1,
    "position": lambda c: replace(c.position, offset=c.position.offset + 1),
    "recorded_s": lambda c: c.recorded_s + 1,
    "ticked_s": lambda c: c.ticked_s + 1,
    "closed_until_s": lambda c: c.closed_until_s + 3600,
    "events": lambda c: c.events - 1,
    "facts": lambda c: c.facts[:-1],
    "facts_hash": lambda c: c.facts_hash + 1,
    "log_hash": lambda c: c.log_hash + 1,
}
PLACES = (
    lambda at: replace(at, topic="another"),
    lambda at: replace(at, partition=1),
    lambda at: replace(at, index=1),
    lambda at: replace(at, offset=at.offset + 1),
    lambda at: replace(at, offset=0),
)


@pytest.fixture(scope="module")
def looked(book: ClickHouse) -> tuple[dict[str, Checkpoint], Replayed]:
    """The checkpoints of the book, and its log folded anew."""
    anew = replay(book, "looked")
    book.drop_generation("looked")
    return book.checkpoints(book.live_generation())[LOG], anew


def test_no_field_of_a_checkpoint_can_be_forged(looked: tuple[dict[str, Checkpoint], Replayed]):
    """A restart believes them: a place further on would pass over what comes next."""
    kept, anew = looked
    assert list(of_partition(LOG, kept, anew)) == []
    assert FORGED.keys() == {f.name for f in fields(Checkpoint)} - {"cluster"}
    for cluster, checkpoint in kept.items():
        for field, value in FORGED.items():
            forged = replace(checkpoint, **{field: value(checkpoint)})
            assert list(of_partition(LOG, {**kept, cluster: forged}, anew)), (cluster, field)
        for place in PLACES:
            forged = replace(checkpoint, position=place(checkpoint.position))
            assert list(of_partition(LOG, {**kept, cluster: forged}, anew)), (cluster, forged.position)


def test_a_checkpoint_may_stand_anywhere_behind_its_clusters_last_record(
    looked: tuple[dict[str, Checkpoint], Replayed],
):
    kept, anew = looked
    last = anew.last[LOG, "south"]
    assert last.offset <= kept["south"].position.offset
    assert list(of_partition(LOG, {**kept, "south": replace(kept["south"], position=last)}, anew)) == []


def test_facts_compressed_otherwise_are_the_same_facts(looked: tuple[dict[str, Checkpoint], Replayed]):
    kept, anew = looked
    facts = zlib.compress(zlib.decompress(kept["south"].facts), 9)
    assert facts != kept["south"].facts
    assert list(of_partition(LOG, {**kept, "south": replace(kept["south"], facts=facts)}, anew)) == []


def test_a_checkpoint_further_on_than_the_log_is_found(book: ClickHouse):
    forged = copied("partition_checkpoints", "`offset` + 7 AS `offset`", "cluster = 'south'")
    with tampered(book, deleted("partition_checkpoints", "cluster = 'south'"), forged):
        assert errors(verify(book)) == {"checkpoint"}


def test_facts_of_another_moment_under_the_hash_of_this_one_are_found(book: ClickHouse):
    """A restart would go on from them."""
    with fresh_store() as other:
        Embedded(other, clock).ingest(LINES[:-30])
        facts = other.checkpoints("g1")[LOG]["north"].facts
    with tampered(book, changed("partition_checkpoints", f"facts = unhex('{facts.hex()}')", "cluster = 'north'")):
        assert errors(verify(book)) == {"facts_hash"}


# ---------------------------------------------------------------------- cleverer


def there(**where: Any) -> str:
    """A condition on columns."""
    return " AND ".join(f"{name} = '{value}'" for name, value in where.items())


def test_two_postings_changed_so_that_they_still_sum_to_zero_are_found(book: ClickHouse):
    """A charge raised in both its legs: the transaction balances."""
    spent = "book = 'budget' AND kind = 'charge' AND class = 'spent' AND amount_gpu_ms > 0"
    asked = f"SELECT cluster, toString(hour), account, run, lower(hex(cause)) FROM postings FINAL WHERE {spent} LIMIT 1"
    cluster, hour, account, run, cause = book.query(asked).rows[0]
    legs = f"{there(cluster=cluster, hour=hour, account=account, run=run, kind='charge')} AND cause = unhex('{cause}')"
    assert book.query(f"SELECT count(), sum(amount_gpu_ms) FROM postings FINAL WHERE {legs}").rows == [(2, 0)]
    both = changed("postings", "amount_gpu_ms = amount_gpu_ms + if(class = 'spent', 1000, -1000)", legs)
    with tampered(book, both):
        assert book.query("check_unbalanced", {"generation": "g1"}).rows == []
        assert "postings" in errors(verify(book))


def test_an_hour_changed_alike_in_every_table_is_found(book: ClickHouse):
    """Idle time turned into an outage, in postings, node hours and cluster hours: no sum tells."""
    asked = "SELECT cluster, toString(hour) FROM cluster_hours FINAL WHERE idle_gpu_ms > 0 ORDER BY ALL LIMIT 1"
    cluster, hour = book.query(asked).rows[0]
    hours = "unavailable_unplanned_gpu_ms = unavailable_unplanned_gpu_ms + idle_gpu_ms, idle_gpu_ms = 0"
    at = there(cluster=cluster, hour=hour)
    idle = f"{at} AND kind = 'idle'"
    with tampered(
        book,
        deleted("postings", idle),
        copied("postings", "'unavailable' AS kind, 'unplanned' AS class", idle),
        changed("node_hours", hours, at),
        changed("cluster_hours", hours, at),
    ):
        assert errors(verify(book)) == {"postings", "node_hours", "cluster_hours"}


def test_another_recorded_time_of_an_event_is_found(book: ClickHouse):
    row = row_of(book, "events", "cluster = 'north'")
    with tampered(book, changed("events", "recorded_at = recorded_at + INTERVAL 1 MICROSECOND", row)):
        assert errors(verify(book)) >= {"log_hash"}


@pytest.mark.parametrize("whole", [True, False])
def test_two_events_in_each_others_place_are_found(book: ClickHouse, whole: bool):
    """With their columns, so that they are filed right, or the bytes alone."""
    last = "SELECT `offset` FROM events FINAL WHERE cluster = 'north' ORDER BY `offset` DESC LIMIT 2"
    (a,), (b,) = book.query(last).rows
    swapped = ("raw", "source", "event_id", "type", "occurred_at") if whole else ("raw",)
    of = {(name, at): f"(SELECT {name} FROM kept_events WHERE `offset` = {at})" for name in swapped for at in (a, b)}
    swaps = ", ".join(f"{name} = if(`offset` = {a}, {of[name, b]}, {of[name, a]})" for name in swapped)
    with tampered(book, changed("events", swaps, f"`offset` IN ({a}, {b})")):
        found = errors(verify(book))
    assert "log_hash" in found
    assert ("misfiled" in found) == (not whole)


def test_an_event_put_at_the_end_of_the_log_is_found(book: ClickHouse):
    """At the next place, filed right: a log without gaps."""
    ((last,),) = book.query("SELECT max(`offset`) FROM events").rows
    with tampered(book, copied("events", "`offset` + 1 AS `offset`", f"`offset` = {last}")):
        assert errors(verify(book)) == {"log_count"}


def test_a_log_cut_at_its_end_is_found(book: ClickHouse):
    ((last,),) = book.query("SELECT max(`offset`) - 5 FROM events").rows
    with tampered(book, deleted("events", f"`offset` > {last}")):
        found = errors(verify(book))
    assert found >= {"log_count", "log_hash"}
    assert "log_gap" not in found


def test_a_log_cut_at_its_beginning_is_found(book: ClickHouse):
    with tampered(book, deleted("events", "`offset` < 3")):
        assert errors(verify(book)) >= {"log_gap", "log_count", "log_hash"}


def test_an_event_filed_under_another_cluster_is_found(book: ClickHouse):
    with tampered(book, changed("events", "cluster = 'south'", row_of(book, "events", "cluster = 'north'"))):
        assert errors(verify(book)) >= {"misfiled", "log_hash"}


def test_a_dead_letter_of_an_event_that_was_taken_is_found(book: ClickHouse):
    forged = (
        "INSERT INTO dead_letters SELECT topic, `partition`, `offset`, `index`, cluster, 'not_json', 'x', raw, "
        "recorded_at, source, event_id FROM events WHERE cluster = 'north' LIMIT 1"
    )
    with tampered(book, forged):
        assert errors(verify(book)) == {"dead_letters"}


# ---------------------------------------------------------------------- beside the log


def test_what_a_directory_holds_is_the_latest_word_of_each_name():
    """Stated twice, out of order, and twice for one instant: of these the later in the log holds."""
    first, later = "2026-03-02T01:00:00Z", "2026-03-02T02:00:00Z"
    said = [("B", later), ("A", first), ("C", later), ("D", first)]
    lines = [told("account.opened", title, {"account": "lab", "title": title}, time=time) for title, time in said]
    with fresh_store() as store:
        Embedded(store, clock).ingest(
            [*lines, told("account.closed", "z", {"account": "x"}, time="1850-01-01T00:00:00Z")]
        )
        assert store.query("SELECT title FROM accounts FINAL WHERE account = 'lab'").rows == [("C",)]
        assert verify(store).errors == []


def test_dead_letters_of_files_stand_in_no_log_and_are_left_alone(book: ClickHouse):
    with tampered(book, copied("dead_letters", "'import/jobs.txt' AS topic", "1")):
        assert verify(book).errors == []


SUM = "job = '7' AND toHour(hour) = 1"


@pytest.fixture(scope="module")
def sampled() -> Iterator[ClickHouse]:
    """A run of three hours whose GPU was sampled; those of the first hour have expired."""
    run = {"job": "7", "attempt": "1", "user": "ann", "started_at": minute(0), "ended_at": minute(180)}
    placed = {**run, "placements": [{"node": "n1", "gpus_milli": 1000}]}
    busy = [{"index": 0, "utilization_pct": 50}]
    span = {"cluster": "c", "node": "n1", "gpus": busy}
    samples = [
        told("gpu.sampled", f"s{n}", {**span, "since": minute(n), "until": minute(n + 30)}) for n in range(0, 180, 30)
    ]
    ticks = [told("clock.ticked", f"t{n}", {"cluster": "c", "at": minute(n)}, time=minute(n)) for n in (5, 185)]
    node = {"node": "n1", "gpu_type": "h100", "gpus_milli": 2000, "state": "available"}
    with fresh_store() as store:
        runtime = Embedded(store, clock)
        runtime.ingest([told("node.observed", "n", {"cluster": "c", **node}, time=minute(0)), ticks[0]])
        runtime.ingest([told("run.observed", "r", {"cluster": "c", **placed}, time=minute(180)), *samples, ticks[1]])
        store._command(f"ALTER TABLE gpu_samples DELETE WHERE at < '2026-03-02 01:00:00' {AT_ONCE}")
        assert store.query("SELECT count() FROM run_gpu_hours FINAL").rows == [(3,)]
        yield store


def minute(n: int) -> str:
    return f"2026-03-02T{n // 60:02}:{n % 60:02}:00Z"


def test_sums_of_samples_are_believed_also_where_the_samples_have_expired(sampled: ClickHouse):
    assert verify(sampled).findings == []
    assert sampled.query("SELECT DISTINCT generation FROM run_gpu_hours").rows == [("g1",)]


@pytest.mark.parametrize(
    "statement",
    [
        changed("run_gpu_hours", "utilized_gpu_ms = utilized_gpu_ms + 1", SUM),
        deleted("run_gpu_hours", SUM),
        copied("run_gpu_hours", "'8' AS job", SUM),
    ],
)
def test_a_sum_of_samples_that_was_changed_deleted_or_inserted_is_found(sampled: ClickHouse, statement: str):
    sampled._command("CREATE TABLE kept_run_gpu_hours AS run_gpu_hours")
    sampled._command("INSERT INTO kept_run_gpu_hours SELECT * FROM run_gpu_hours")
    try:
        sampled._command(statement)
        report = verify(sampled)
    finally:
        sampled._command("TRUNCATE TABLE run_gpu_hours")
        sampled._command("INSERT INTO run_gpu_hours SELECT * FROM kept_run_gpu_hours")
        sampled._command("DROP TABLE kept_run_gpu_hours SYNC")
    assert [(f.name, f.count, f.severity) for f in report.findings] == [("run_gpu_hours", 1, "warning")]
