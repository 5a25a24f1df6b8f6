"""The commands on a book that Kafka feeds, with workers in processes of their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from kafka import KafkaConsumer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient

from deploy.kafka.node import fetch
from deploy.processes import Missing
from ledger.archive import DeadLetter
from streams.letters import letter
from tenure.demo import generate
from tests.e2e.cli.driver import many, one
from tests.e2e.kafka.plant import RunningWorker, configured, flat, running
from tests.support.clickhouse import ClickHouseServer
from tests.support.kafka import Broker
from tests.support.worker import ends, make_topics

pytestmark = pytest.mark.timeout(300)

PARENT = "aurora-lab/science"
FUTURE = (
    '{"specversion":"1.0","id":"early","source":"test","type":"tenure.job.submitted.v1","time":"2031-09-01T10:00:00Z",'
    '"data":{"cluster":"aurora","job":"early","user":"u","gpus_milli":1000}}\n'
)
SHARES = ["shares", "set", PARENT, "climate=30", "proteins=35", "--yes"]


@contextmanager
def bare(folder: Path) -> Iterator[Broker]:
    """A broker without topics."""
    try:
        fetch()
    except Missing as missing:
        pytest.skip(str(missing))
    with Broker(folder).running() as broker:
        yield broker


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with bare(tmp_path / "kafka") as broker:
        make_topics(broker.address, partitions=2)
        yield broker


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A day of the demo as a log of its own, with one line that is no event."""
    path = tmp_path_factory.mktemp("history") / "day.jsonl"
    path.write_bytes(b"\n".join([*generate(7, 1).events, b"{no event", b""]))
    return path


def ingest(history: Path, *more: str) -> list[str]:
    return ["ingest", str(history), "--format", "events", "--json", *more]


def told_letters(broker: Broker) -> list[DeadLetter]:
    """The letters on their topic."""
    consumer = KafkaConsumer(
        bootstrap_servers=broker.address, auto_offset_reset="earliest", group_id=None, consumer_timeout_ms=2_000
    )
    try:
        consumer.assign([TopicPartition("tenure.dead-letter", number) for number in range(2)])
        return [letter([record.value]) for record in consumer]
    finally:
        consumer.close()


def change(broker: Broker, topic: str, **settings: str) -> None:
    admin = KafkaAdminClient(bootstrap_servers=broker.address)
    try:
        configs = {name.replace("_", "."): value for name, value in settings.items()}
        admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, configs=configs)])
    finally:
        admin.close()


def let_go(broker: Broker, topic: str) -> None:
    """What retention does, at once: all records of a topic's partitions are dropped."""
    admin = KafkaAdminClient(bootstrap_servers=broker.address)
    try:
        admin.delete_records(
            {TopicPartition(*at): end for at, end in ends(broker.address).items() if at.topic == topic}
        )
    finally:
        admin.close()


def test_topics_are_made_and_checked_and_nothing_begins_without_them(tmp_path: Path, history: Path):
    with bare(tmp_path / "kafka") as broker:
        book = configured(tmp_path, broker)
        nothing, refused, unsent, made, again, right = many(
            book,
            [
                ["topics", "--json"],
                ["worker"],
                ingest(history, "--to", "kafka"),
                ["topics", "create", "--partitions", "2"],
                ["topics", "create"],
                ["topics"],
            ],
        )
        assert (nothing.code, {row["command"] for row in nothing.json["wrong"]}) == (1, {"tenure topics create"})
        for told in (refused, unsent):
            assert (told.code, "tenure.events" in told.err, "tenure topics create" in told.err) == (6, True, True)
        assert (made.code, "Made tenure.events: 2 partitions, 1 copy, kept 30 d." in made.out) == (0, True)
        assert (again.code, "nothing was made" in again.out) == (0, True)
        assert (right.code, right.out.count(" right\n")) == (0, 4)
        change(broker, "tenure.events", retention_ms="3600000", max_message_bytes="1000")
        wrong, refused = many(book, [["topics"], ["worker"]])
        assert (wrong.code, "loses records" in wrong.out) == (1, True)
        assert "--add-config retention.ms=2592000000,max.message.bytes=4194304" in wrong.out
        assert (refused.code, "records would be lost" in refused.err) == (6, True)
        assert "mend it with: kafka-configs.sh" in refused.err


def test_a_book_on_a_server_is_fed_decided_on_and_made_again(tmp_path: Path, broker: Broker, history: Path):
    with ClickHouseServer() as server:
        book = configured(tmp_path, broker, server.address)
        sent, unfed = many(book, [ingest(history, "--to", "kafka"), ["accounts"]])
        kafka = sent.json["kafka"]
        assert (sent.code, kafka["dead_letters"], kafka["dead_letters_kept"]) == (1, 1, "the store")
        assert sum(kafka["topics"].values()) == history.read_bytes().count(b"\n") - 1
        assert (unfed.code, "is empty" in unfed.err) == (3, True)
        with running(book) as worker:
            worker.catch_up(broker)
            read_only_as_of_the_checkpoint(book, worker, history)
            decided_and_waited_for(book)
            sent_again(book, worker, broker, tmp_path)
            made_again(book)
            code, logged = worker.stop()
        assert (code, "stopped" in logged, "Traceback" in logged) == (0, True, False), logged
        configured(tmp_path, broker, server.address, await_s=1)
        without_a_worker_and_the_first_records(book, broker)


def read_only_as_of_the_checkpoint(book: Path, worker: RunningWorker, history: Path) -> None:
    _, here = many(book.parent / "here" / "book", [ingest(history), ["accounts", "--json"]])
    there, refused, look, dead = many(
        book,
        [
            ["accounts", "--json"],
            ingest(history),
            ["worker", "--check", worker.address, "--json"],
            ["worker", "--check", "http://127.0.0.1:1"],
        ],
    )
    assert there.json["accounts"] == here.json["accounts"]
    assert "As of the last checkpoint of the workers." in there.err
    assert (refused.code, "--to kafka" in refused.err) == (2, True)
    assert (look.code, look.json["well"], look.json["trouble"]) == (0, True, "")
    assert (dead.code, "nobody answers" in dead.err) == (6, True)


def decided_and_waited_for(book: Path) -> None:
    request = ["shares", "request", f"{PARENT}/climate", "31", "--json"]
    decided, stale, asked = many(book, [SHARES, [*SHARES, "--expect", "1"], request])
    assert (decided.code, "Kept in the log of Kafka" in decided.err) == (0, True)
    assert (stale.code, "refused (stale_revision)" in stale.err) == (1, True)
    answer = ["shares", "decide", asked.json["request"], "approve", "--with", "proteins=34", "--yes", "--json"]
    approved, shown = many(book, [answer, ["shares", "history", PARENT, "--json"]])
    assert (approved.code, approved.json["decision"]) == (0, "approved")
    assert approved.json["revision"] == max(row["revision"] for row in shown.json["revisions"])
    switch = [["policy", "pause"], ["policy", "resume"], ["policy"], ["policy", "resume", "--yes"]]
    paused, unasked, now, resumed = many(book, [[*command, "--json"] for command in switch])
    assert (paused.json["before"], paused.json["enforcement"]) == ("observe", "paused")
    assert (unasked.code, "--yes" in unasked.err) == (2, True)
    fields = {field["field"]: field["value"] for field in now.json["clusters"][0]["policy"]}
    assert fields["enforcement"] == "paused"
    window = ["maintenance", "plan", "--nodes", "h001", "--from", "2d", "--until", "4h", "--window", "fans", "--yes"]
    planned, listed = many(book, [window, ["maintenance", "--json"]])
    assert (planned.code, [one["window"] for one in listed.json["windows"]]) == (0, ["fans"])
    assert (resumed.json["before"], resumed.json["enforcement"]) == ("paused", "observe")


def sent_again(book: Path, worker: RunningWorker, broker: Broker, folder: Path) -> None:
    """An event refused for its time, sent again in vain, and then corrected."""
    future, past = folder / "future.json", folder / "past.json"
    future.write_text(FUTURE)
    past.write_text(FUTURE.replace("2031", "2026"))
    (late,) = many(book, [["ingest", str(future), "--format", "events", "--to", "kafka", "--json"]])
    assert late.code == 0
    worker.catch_up(broker)
    (every,) = many(book, [["dead-letters", "retry", "--all", "--json"]])
    now = {row["was"]: (row["now"], row["sent"]) for row in every.json["retried"]}
    assert now["from_the_future"] == ("from_the_future", True)
    assert now["not_json"] == ("not sent", False)
    name = next(row["id"] for row in every.json["retried"] if row["was"] == "from_the_future")
    retried, listed = many(
        book, [["dead-letters", "retry", name, "--with", str(past), "--json"], ["dead-letters", "list", "--json"]]
    )
    assert (retried.code, retried.json["taken"]) == (0, 1)
    taken = {row["id"]: row["taken_at"] for row in listed.json["dead_letters"]}
    assert taken[name] is not None
    assert ("from_the_future", "aurora") in {(told.reason, told.cluster) for told in told_letters(broker)}


def made_again(book: Path) -> None:
    archive, kafka, verified, doctor = many(
        book,
        [
            ["replay", "--json"],
            ["replay", "--from", "kafka", "--switch", "--json"],
            ["verify", "--json"],
            ["doctor", "--json"],
        ],
    )
    for rebuilt in (archive, kafka):
        assert (rebuilt.code, rebuilt.json["equal"], rebuilt.json["hashes"]) == (0, True, []), rebuilt.out
    assert archive.json["records"] == kafka.json["records"]
    assert (verified.code, verified.json["clean"]) == (0, True), verified.out
    levels = {check["name"]: check["level"] for check in doctor.json["checks"]}
    assert {levels[name] for name in ("kafka", "topics", "log and book", "workers")} == {"ok"}


def without_a_worker_and_the_first_records(book: Path, broker: Broker) -> None:
    let_go(broker, "tenure.events")
    gone, kept, unfolded, behind = many(
        book,
        [
            ["replay", "--from", "kafka"],
            ["replay", "--json"],
            ["grants", "make", f"{PARENT}/climate", "5", "--pool", "H100", "--until", "7d", "--yes"],
            ["doctor"],
        ],
    )
    assert (gone.code, "past their retention" in flat(gone.err)) == (6, True)
    assert (kept.code, kept.json["equal"]) == (0, True)
    assert (unfolded.code, "not yet folded" in unfolded.err) == (1, True)
    assert (behind.code, "0 workers in the group tenure: start one" in flat(behind.out)) == (1, True)


def test_a_folder_has_one_worker_and_a_log_that_is_not_its_own_is_refused(
    tmp_path: Path, broker: Broker, history: Path
):
    book = configured(tmp_path, broker)
    with running(book) as worker:
        worker.begin()
        busy, sent, second = many(book, [["accounts"], ingest(history, "--to", "kafka"), ["worker"]])
        assert busy.code == second.code == 4
        kafka = sent.json["kafka"]
        assert (kafka["dead_letters"], kafka["dead_letters_kept"]) == (1, "tenure.dead-letter")
        assert "is open elsewhere" in sent.err
        worker.catch_up(broker)
        code, logged = worker.stop()
    assert code == 0, logged
    unread = next(told for told in told_letters(broker) if told.reason == "not_json")
    assert (unread.topic, unread.raw) == ("import/day.jsonl", b"{no event")
    accounts, unfolded = many(book, [["accounts", "--json"], SHARES])
    assert accounts.json["accounts"]
    assert (unfolded.code, "not yet folded" in unfolded.err) == (1, True), "no worker can fold while a command has it"

    with bare(tmp_path / "other") as other:
        make_topics(other.address, partitions=2)
        configured(tmp_path, other)
        refused, doctor = one(book, "worker"), one(book, "doctor")
        assert (refused.code, "made anew" in refused.err, "Traceback" in refused.err) == (6, True, False)
        assert (doctor.code, "made anew" in flat(doctor.out)) == (1, True)
