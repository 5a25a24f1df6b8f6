"""The same log comes to the same rows, whatever the batches, the restarts and the neighbours in the log."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger import rows
from ledger.checkpoint import Partition, Position
from ledger.units import epoch_us
from streams.intake import Record, record
from streams.processor import Processor
from tests.contract.runtime.feeds import DIRECTORY, NOW, UNREADABLE, interleaved, of_cluster, raw, seeded, told
from tests.contract.runtime.kept import Kept, fold, save
from tests.oracle.logs import DrawnDice, logs, with_repeats
from tests.property.twists import TWISTS

LOG = Partition("tenure.events", 0)
NORTH = {"cluster": "north", "node": "n1", "gpu_type": "h100", "gpus_milli": 8000, "state": "available"}


def records(lines: Sequence[bytes], start: int = 0) -> list[Record]:
    return [record(line, LOG, start + n, epoch_us(NOW)) for n, line in enumerate(lines)]


def same(one: Kept, other: Kept) -> None:
    """All that is kept is the same: rows by key, dead letters, the directory, hashes and counts."""
    found, expected = other.read(), one.read()
    for table in expected.keys() | found.keys():
        assert found.get(table, {}) == expected.get(table, {}), table
    assert other.dead_letters == one.dead_letters
    assert other.accounts == one.accounts
    assert {c: summed(p) for c, p in other.checkpoints.items()} == {c: summed(p) for c, p in one.checkpoints.items()}


def summed(checkpoint: Any) -> dict[str, Any]:
    """A checkpoint without its place, which says where it was taken, and its facts, which the hash stands for."""
    names = ("seq", "recorded_s", "ticked_s", "closed_until_s", "events", "facts_hash", "log_hash")
    return {name: getattr(checkpoint, name) for name in names}


# ---------------------------------------------------------------------- batches and restarts


@st.composite
def two_clusters(draw: Any) -> list[bytes]:
    """Two clusters interleaved, repeats and directory and unreadable lines among them, cut anywhere.

    The logs are twisted: over days, so that the horizon lets go of jobs; with ids twice; with nodes of another type.
    """
    told_of = [of_cluster(with_repeats(twisted(draw(logs()), draw), draw), name) for name in ("north", "south")]
    lines = [raw(one) for one in interleaved(*told_of)]
    for extra in draw(st.lists(st.sampled_from([*DIRECTORY, *UNREADABLE]), max_size=4)):
        lines.insert(draw(st.integers(0, len(lines))), extra)
    return lines[: draw(st.integers(1, len(lines)))]


def twisted(log: list[Any], draw: Any) -> list[Any]:
    for twist in TWISTS:
        if draw(st.integers(0, 2)) == 2:
            log = twist(log, DrawnDice(draw))
    return log


@settings(max_examples=50)
@given(two_clusters(), st.data())
def test_batches_and_restarts_leave_no_trace(lines: list[bytes], data: st.DataObject):
    log = records(lines)
    one_by_one = fold(log, [1])
    same(one_by_one, fold(log, [len(log)]))
    sizes = data.draw(st.lists(st.integers(1, 40), min_size=1, max_size=5))
    restarts = data.draw(st.sets(st.integers(0, len(log))))
    same(one_by_one, fold(log, sizes, restart_after=restarts))


def test_jobs_let_go_of_in_the_batch_that_told_of_them_have_their_rows():
    """A history longer than the horizon, in one batch: the book forgets its first jobs before the batch is written."""
    lines = [told("policy.set", "p", {"cluster": "north", "author": "ann", "horizon_h": 24}, time=minute(0)), *OPEN]
    ran = {"cluster": "north", "user": "ann", "started_at": minute(1), "ended_at": minute(30)}
    placed = [{"node": "n1", "gpus_milli": 500}]
    lines += [
        told("run.observed", f"r{n}", {**ran, "job": f"j{n}", "attempt": "1", "placements": placed}, time=minute(30))
        for n in range(3)
    ]
    lines += [tick(f"h{n}", 60 * n + 5) for n in range(1, 24)]
    later = "2026-03-04T00:05:00Z"
    lines.append(told("clock.ticked", "later", {"cluster": "north", "at": later}, time=later))
    log = records(lines)
    one_by_one = fold(log, [1])
    assert {job for _, job in one_by_one.tables[rows.Job]} == {"7", "j0", "j1", "j2"}
    same(one_by_one, fold(log, [len(log)]))
    same(one_by_one, fold(log, [5], restart_after=[2, 4]))


@pytest.mark.parametrize("seed", range(4))
def test_batches_of_one_seven_a_thousand_and_all_are_the_same(seed: int):
    log = records(seeded(seed, jobs=25))
    one_by_one = fold(log, [1])
    assert len(one_by_one.tables[rows.Posting]) > 500
    assert one_by_one.tables[rows.Correction]
    for size in (7, 1_000, len(log)):
        same(one_by_one, fold(log, [size]))
    same(one_by_one, fold(log, [50], restart_after=range(100)))


def test_a_log_ended_by_a_stale_tick_has_the_open_hours_of_the_tick_that_counted():
    log = records([*OPEN, tick("t3", 90), tick("late", 30)])
    one_by_one = fold(log, [1])
    assert {row.until_s % 3600 for row in one_by_one.read()["open_hours"].values()} == {1800}
    same(one_by_one, fold(log, [len(log)]))


def test_a_log_ended_by_a_refused_tick_has_the_open_hours_of_the_tick_that_counted():
    ahead = told(
        "clock.ticked", "ahead", {"cluster": "north", "at": "2027-01-01T00:00:00Z"}, time="2027-01-01T00:00:00Z"
    )
    log = records([*OPEN, tick("t3", 90), ahead])
    one_by_one = fold(log, [1])
    assert [letter.reason for letter in one_by_one.dead_letters.values()] == ["from_the_future"]
    same(one_by_one, fold(log, [len(log)]))
    assert one_by_one.read()["open_hours"]


def test_of_the_ticks_in_a_batch_only_the_last_writes_provisional_rows():
    log = records([*OPEN, *(tick(f"t{n}", 61 + n) for n in range(20)), *OPEN_SOUTH])
    folded = Processor().fold(log)
    made = folded.rows[rows.OpenHour]
    assert {(row.cluster, row.until_s % 3600) for row in made} == {("north", 80 * 60 % 3600), ("south", 600)}
    same(fold(log, [1]), fold(log, [len(log)]))


def minute(after: int) -> str:
    return f"2026-03-02T{after // 60:02}:{after % 60:02}:00Z"


def tick(id: str, after: int, cluster: str = "north") -> bytes:
    return told("clock.ticked", id, {"cluster": cluster, "at": minute(after)}, time=minute(after))


def opening(cluster: str) -> list[bytes]:
    """A node, and a run that lasts."""
    run = {"job": "7", "attempt": "1", "user": "ann", "account": "lab", "started_at": minute(0)}
    return [
        told("node.observed", f"{cluster}-n", {**NORTH, "cluster": cluster}, time=minute(0)),
        told(
            "run.observed",
            f"{cluster}-r",
            {**run, "cluster": cluster, "placements": [{"node": "n1", "gpus_milli": 1000}]},
            time=minute(1),
        ),
    ]


OPEN = [*opening("north"), tick("t1", 10), tick("t2", 20)]
OPEN_SOUTH = [*opening("south"), tick("s1", 5, "south"), tick("s2", 10, "south")]


# ---------------------------------------------------------------------- repeats, by place and by content


def test_records_folded_already_are_passed_over_by_their_place():
    log = records(seeded(1))
    half = len(log) // 2
    processor = Processor()
    processor.fold(log[:half])
    known = save(processor, log[half - 1])
    resumed = Processor(known.values())
    again = resumed.fold(log[:half])
    assert not any(again.rows.values())
    assert not again.dead_letters
    assert not again.accounts
    assert not again.outcomes
    folded = resumed.fold(log)
    assert folded.outcomes.total() == len(log) - half


def test_rows_written_again_after_a_restart_are_the_same_rows():
    log = records(seeded(1))
    twice, lost = Kept(), Processor()
    twice.keep(lost.fold(log[: len(log) // 2]))
    processor = Processor()
    twice.keep(processor.fold(log))
    twice.checkpoints = save(processor, log[-1])
    same(fold(log, [1]), twice)


def test_the_same_events_again_at_later_places_change_nothing_in_the_book():
    lines = [line for line in seeded(2) if line not in UNREADABLE]
    log = records(lines)
    kept, processor = Kept(), Processor()
    kept.keep(processor.fold(log))
    kept.checkpoints = save(processor, log[-1])
    once, before = kept.read(), kept.checkpoints
    again = processor.fold(records(lines, start=len(lines)))
    kept.keep(again)
    kept.checkpoints = save(processor, records(lines, start=len(lines))[-1])
    assert again.outcomes == {"repeated": len(lines) - len(DIRECTORY), "applied": len(DIRECTORY)}
    assert {name for name, table in kept.read().items() if table != once.get(name, {})} <= {"remarks"}
    for cluster, checkpoint in before.items():
        after = kept.checkpoints[cluster]
        assert (after.seq, after.facts_hash, after.events) == (
            checkpoint.seq,
            checkpoint.facts_hash,
            2 * checkpoint.events,
        )


def test_places_of_another_topic_are_other_places():
    log = records([*DIRECTORY[:2], *OPEN])
    processor = Processor()
    processor.fold(log)
    save(processor, log[-1])
    elsewhere = [r._replace(archived=r.archived._replace(topic="tenure.directory")) for r in records(DIRECTORY[2:4])]
    assert processor.fold(elsewhere).outcomes == {"applied": 2}


# ---------------------------------------------------------------------- clusters and checkpoints


def test_clusters_in_one_batch_are_books_of_their_own():
    alone = fold(records([*OPEN, tick("t3", 90)]), [3])
    south = [*OPEN_SOUTH, tick("s3", 200, "south")]
    mixed = records([line for pair in zip([*OPEN, tick("t3", 90)], south, strict=True) for line in pair])
    both = fold(mixed, [len(mixed)])
    of_north = {name: only(table, "north") for name, table in both.read().items()}
    assert of_north == {name: only(table, "north") for name, table in alone.read().items()}
    assert summed(both.checkpoints["north"]) == summed(alone.checkpoints["north"])


def only(table: dict[Any, Any], cluster: str) -> dict[Any, Any]:
    return {key: row for key, row in table.items() if row.cluster == cluster}


def test_the_checkpoint_of_no_cluster_is_the_last_and_always_there():
    processor = Processor()
    processor.fold(records([*OPEN, *OPEN_SOUTH]))
    first = processor.checkpoints(Position(*LOG, 9, 0))
    assert sorted(c.cluster for c in first[:-1]) == ["north", "south"]
    assert first[-1].cluster == ""
    processor.fold(records([tick("t9", 30)], start=10))
    assert [c.cluster for c in processor.checkpoints(Position(*LOG, 10, 0))] == ["north", ""]
    (last,) = processor.checkpoints(Position(*LOG, 10, 0))
    assert (last.cluster, last.position.offset) == ("", 10)


def test_a_restart_between_two_checkpoints_folds_each_cluster_from_where_it_stood():
    """The writer died after the checkpoint of north: south, and what belongs to none, are folded again."""
    log = records(seeded(3))
    processor, kept = Processor(), Kept()
    half = len(log) // 2
    kept.keep(processor.fold(log[:half]))
    first = save(processor, log[half - 1])
    kept.keep(processor.fold(log[half:]))
    torn = {**first, "north": save(processor, log[-1])["north"]}
    resumed = Processor(torn.values())
    again = resumed.fold(log[half:])
    assert {letter.cluster for letter in again.dead_letters} <= {"", "south"}
    assert not [row for table in again.rows.values() for row in table if row.cluster == "north"]
    kept.keep(again)
    kept.checkpoints = save(resumed, log[-1], torn)
    same(fold(log, [1]), kept)


# ---------------------------------------------------------------------- hashes


def log_hash(log: Sequence[Record]) -> int:
    return fold(log, [len(log)]).checkpoints["north"].log_hash


def test_the_log_hash_knows_the_order_the_bytes_and_when_they_were_recorded():
    log = records([*OPEN, tick("t3", 90)])
    changes = [
        [log[1], log[0], *log[2:]],
        log[:-1],
        [*log, log[-1]],
        [moved(log[0], recorded_us=1), *log[1:]],
        [moved(log[0], raw=log[0].archived.raw + b" "), *log[1:]],
    ]
    at = [[moved(r, offset=n) for n, r in enumerate(changed)] for changed in changes]
    assert len({log_hash(log), *(log_hash(changed) for changed in at)}) == len(changes) + 1


def test_the_log_hash_does_not_know_the_places_which_differ_between_runtimes():
    log = records([*OPEN, tick("t3", 90)])
    assert log_hash([moved(r, offset=7 * r.archived.offset, partition=3, topic="t") for r in log]) == log_hash(log)


def moved(one: Record, **to: Any) -> Record:
    return one._replace(archived=one.archived._replace(**to))


# ---------------------------------------------------------------------- the directory


def test_the_directory_goes_to_its_tables_in_the_order_of_the_log():
    folded = Processor().fold(records(DIRECTORY))
    assert [(entry.account, entry.title, entry.closed) for entry in folded.accounts] == [
        ("lab/x", "X", False),
        ("lab/x", "X and more", False),
        ("lab/y", "Y", False),
        ("lab/y", "", True),
    ]
    assert folded.accounts[0].labels == {"room": "7"}
    assert folded.accounts[2].webhooks == ("https://y.example/hook",)
    (request,) = folded.requests
    assert request[:6] == ("r1", "north", "", "lab/x", "12.5", "ann")
    assert not any(folded.rows.values())
    assert folded.outcomes == {"applied": len(DIRECTORY)}
