"""The log folded anew: from its first record to its last, or up to a place, into a generation that is nobody's yet."""

from collections.abc import Iterator
from typing import Any

import pytest

from ledger.checkpoint import Partition, Position
from ledger.rows import Posting
from ledger.store.clickhouse import ClickHouse
from ledger.units import epoch_us
from streams.intake import record
from streams.processor import Processor
from streams.replay import folded_to, replay, saved
from streams.runtime.embedded import LOG, Embedded
from streams.verify import verify
from tests.contract.runtime.feeds import DIRECTORY, NOW, clock, seeded
from tests.contract.runtime.frail import Fault, Frail
from tests.support.chdb import fresh_store

LINES = seeded(6, hours=6, nodes=2, jobs=5)


@pytest.fixture
def store() -> Iterator[ClickHouse]:
    with fresh_store() as store:
        yield store


def logged(store: ClickHouse, lines: list[bytes], partition: Partition = LOG) -> None:
    """A log that nobody has folded."""
    store.append([record(line, partition, n, epoch_us(NOW)).archived for n, line in enumerate(lines)])


def test_a_replay_is_the_fold_of_the_log(store: ClickHouse):
    logged(store, LINES)
    replayed = replay(store, "again")
    processor = Processor()
    folded = processor.fold([record(line, LOG, n, epoch_us(NOW)) for n, line in enumerate(LINES)])
    assert replayed.records == len(LINES)
    assert replayed.outcomes == folded.outcomes
    assert replayed.dead_letters == folded.dead_letters
    expected = processor.checkpoints(Position(*LOG, len(LINES) - 1, 0))
    assert replayed.checkpoints == {LOG: {c.cluster: c for c in expected}} == store.checkpoints("again")
    kept = store.query("SELECT count() FROM postings FINAL WHERE generation = 'again'").rows
    assert kept == [(len(folded.rows[Posting]),)]


def test_a_replay_writes_no_dead_letters_and_nothing_of_the_directory(store: ClickHouse):
    """They are not of a generation, and there already."""
    logged(store, LINES)
    assert replay(store, "again").dead_letters
    assert store.dead_letters() == []
    assert store.query("SELECT count() FROM accounts").rows == [(0,)]


def test_a_replay_up_to_a_place_knows_nothing_of_what_comes_after(store: ClickHouse):
    logged(store, LINES)
    half = len(LINES) // 2
    replayed = replay(store, "half", until={LOG: Position(*LOG, half - 1, 0)})
    assert replayed.records == half
    with fresh_store() as other:
        logged(other, LINES[:half])
        assert replay(other, "half").checkpoints == replayed.checkpoints


def test_an_empty_log_replays_to_nothing(store: ClickHouse):
    replayed = replay(store, "again")
    assert (replayed.records, replayed.checkpoints, replayed.misfiled) == (0, {}, [])


def test_a_replay_that_was_stopped_has_no_checkpoint(store: ClickHouse, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("streams.replay.BATCH", 50)
    logged(store, LINES)
    with pytest.raises(KeyboardInterrupt):
        replay(store, "again", progress=stop)
    assert store.query("SELECT count() > 0 FROM jobs WHERE generation = 'again'").rows == [(True,)]
    assert store.checkpoints("again") == {}


def stop(_: int) -> None:
    raise KeyboardInterrupt


def test_records_of_every_topic_are_folded(store: ClickHouse):
    """Each has places of its own, from 0."""
    logged(store, LINES)
    logged(store, list(DIRECTORY), Partition("tenure.directory", 0))
    replayed = replay(store, "again")
    assert replayed.records == replayed.outcomes.total() == len(LINES) + len(DIRECTORY)
    assert sum(c.events for found in replayed.checkpoints.values() for c in found.values()) == replayed.records
    assert replayed.ends.keys() == {LOG, ("tenure.directory", 0)}


def test_a_record_filed_under_something_else_than_its_bytes_say_is_named(store: ClickHouse):
    logged(store, LINES[:20])
    right = record(LINES[20], LOG, 20, epoch_us(NOW)).archived
    store.append([right._replace(event_id="another")])
    assert [(a.offset, a.event_id) for a in replay(store, "again").misfiled] == [(20, "another")]


# ---------------------------------------------------------------------- a run that was interrupted


def test_a_save_half_done_leaves_out_its_clusters(store: ClickHouse):
    Embedded(store, clock).ingest(LINES[:100])
    live = store.live_generation()
    before = store.checkpoints(live)
    assert saved(store, live) == (before, frozenset())
    frail: Any = Frail(store, Fault(die, {"checkpoint 'north'"}))
    with pytest.raises(Died):
        Embedded(frail, clock).ingest(LINES[100:])
    found, half = saved(store, live)
    assert half == {"north"}
    assert found == {LOG: {name: c for name, c in before[LOG].items() if name != "north"}}
    assert folded_to(found) == folded_to(before)


def test_the_first_save_half_done_leaves_out_all(store: ClickHouse):
    frail: Any = Frail(store, Fault(die, {"checkpoint 'north'"}))
    with pytest.raises(Died):
        Embedded(frail, clock).ingest(LINES)
    found, half = saved(store, store.live_generation())
    assert not found[LOG]
    assert half == {"north"}


class Died(BaseException):
    """The end of a writer."""


def die(after: str) -> None:
    raise Died(after)


@pytest.mark.parametrize("after", ["append", "checkpoint 'north'"])
def test_a_book_left_in_the_middle_says_so_and_is_believed_once_somebody_has_opened_it(store: ClickHouse, after: str):
    Embedded(store, clock).ingest(LINES[:100])
    frail: Any = Frail(store, Fault(die, {after}))
    with pytest.raises(Died):
        Embedded(frail, clock).ingest(LINES[100:])
    (interrupted,) = (f for f in verify(store).errors if f.name == "log_count")
    assert "any command that opens the book folds the rest: then verify again" in interrupted.sentence
    resumed = Embedded(store, clock).resumed
    assert 0 < resumed.records <= len(LINES) - 100
    assert verify(store).errors == []
