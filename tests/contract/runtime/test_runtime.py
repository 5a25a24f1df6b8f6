"""A runtime turns a log into rows that depend on the log alone, and writes them in an order that survives a stop."""

import random
import subprocess
import sys
from collections.abc import Sequence
from datetime import datetime, timedelta
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from ledger.checkpoint import Partition, Position
from ledger.rows import TABLES
from ledger.store.columns import column_name
from ledger.store.protocol import Store, Table
from ledger.units import epoch_s, epoch_us
from streams.intake import record
from streams.processor import Folded, Processor
from streams.replay import replay
from streams.runtime.embedded import LOG
from streams.verify import verify
from tests.contract.runtime.conftest import Start
from tests.contract.runtime.feeds import (
    DIRECTORY,
    NOW,
    UNREADABLE,
    raw,
    seeded,
    told,
    with_ticks,
)
from tests.contract.runtime.kept import KEYS
from tests.oracle.logs import recorded, seeded_log
from tests.support.chdb import ROOT, run_python

LINES = seeded(5, jobs=8)


def fold(lines: Sequence[bytes], *, partition: Partition = LOG) -> tuple[Folded, Processor]:
    """The log folded at once and in memory: what any runtime must come to."""
    processor = Processor()
    folded = processor.fold([record(line, partition, n, epoch_us(NOW)) for n, line in enumerate(lines)])
    return folded, processor


def holds(store: Store, lines: Sequence[bytes]) -> None:
    """The store holds what the log comes to: the log itself, rows, dead letters, directory, hashes, position."""
    folded, processor = fold(lines)
    assert [e.raw for e in store.read_events(*LOG, -1, 100_000)] == list(lines)
    store.drop_generation("expected")
    store.write("expected", folded.rows)
    assert store.compare_generations(store.live_generation(), "expected") == []
    store.drop_generation("expected")
    assert set(store.dead_letters(limit=100_000)) == set(folded.dead_letters)
    accounts = {
        e.account: (e.account, e.title, e.closed) for e in sorted(folded.accounts, key=attrgetter("occurred_us"))
    }
    kept_accounts = store.query("SELECT account, title, closed FROM accounts FINAL ORDER BY account").rows
    assert kept_accounts == [accounts[name] for name in sorted(accounts)]
    expected = {c.cluster: c for c in processor.checkpoints(Position(*LOG, len(lines) - 1, 0))}
    kept = store.checkpoints(store.live_generation())[LOG]
    assert kept[""].position == expected[""].position
    assert kept.keys() == expected.keys()
    for cluster, checkpoint in expected.items():
        for name in ("seq", "events", "facts_hash", "log_hash", "recorded_s", "ticked_s", "closed_until_s"):
            assert getattr(kept[cluster], name) == getattr(checkpoint, name), (cluster, name)


# ---------------------------------------------------------------------- ingest, restart, again


@pytest.mark.parametrize("batch", [13, 10_000])
def test_a_log_comes_to_its_rows_whatever_the_batches(store: Store, start: Start, batch: int):
    summary = start(store, batch=batch).ingest(LINES)
    assert summary.records == summary.outcomes.total() == len(LINES)
    assert summary.dead_letters == len(store.dead_letters(limit=100_000))
    holds(store, LINES)


@pytest.mark.parametrize("seed", range(2))
def test_a_runtime_may_stop_and_start_anywhere(store: Store, start: Start, seed: int):
    dice = random.Random(seed)
    done = 0
    while done < len(LINES):
        size = dice.randint(1, 90)
        start(store, batch=dice.randint(1, 120)).ingest(LINES[done : done + size])
        done += size
    holds(store, LINES)


def test_starting_again_and_again_changes_nothing(store: Store, start: Start):
    start(store).ingest(LINES)
    for _ in range(2):
        start(store).ingest([])
    holds(store, LINES)


def test_the_same_bytes_again_change_nothing_in_the_book(store: Store, start: Start):
    lines = [line for line in LINES if line not in UNREADABLE]
    start(store).ingest(lines)
    before = {table: contents(store, table) for table in (*TABLES.values(), "accounts", "dead_letters")}
    hashes = {c: (k.facts_hash, k.seq) for c, k in store.checkpoints(store.live_generation())[LOG].items()}
    summary = start(store).ingest(lines)
    assert summary.outcomes == {"repeated": len(lines) - len(DIRECTORY), "applied": len(DIRECTORY)}
    assert {t for t, rows in before.items() if contents(store, t) != rows} <= {"remarks"}
    assert {c: (k.facts_hash, k.seq) for c, k in store.checkpoints(store.live_generation())[LOG].items()} == hashes
    assert [e.raw for e in store.read_events(*LOG, -1, 100_000)] == [*lines, *lines]
    assert not verify(store).errors


def contents(store: Store, table: str) -> list[tuple[Any, ...]]:
    return store.query(f"SELECT * FROM {table} FINAL ORDER BY ALL").rows


def test_keys_of_the_tables_are_those_the_tests_replace_rows_by(store: Store):
    keys = store.query("SELECT name, sorting_key FROM system.tables WHERE database = currentDatabase()").rows
    found = {name: str(key).replace("`", "") for name, key in keys}
    for row_type, key in KEYS.items():
        assert found[TABLES[row_type]] == ", ".join(["generation", *(column_name(name) for name in key)])


def test_samples_are_kept_beside_the_log_and_summed_once_their_hour_is_closed(store: Store, start: Start):
    """They come among the other events, take no place in the log, and are one sample however often they come."""
    node = {"node": "n1", "gpu_type": "h100", "gpus_milli": 2000, "state": "available"}
    run = {"job": "7", "attempt": "1", "user": "ann", "started_at": minute(0)}
    run_placed = {**run, "placements": [{"node": "n1", "gpus_milli": 1000, "gpu_indices": [1]}]}
    busy = [{"index": 0, "utilization_pct": 10}, {"index": 1, "utilization_pct": 50}]
    sampled = [
        told(
            "gpu.sampled",
            f"s{n}",
            {"cluster": "c", "node": "n1", "since": minute(n), "until": minute(n + 20), "gpus": busy},
        )
        for n in range(0, 120, 20)
    ]
    lines = [
        told("node.observed", "n", {"cluster": "c", **node}, time=minute(0)),
        told("run.observed", "r", {"cluster": "c", **run_placed}, time=minute(1)),
    ]
    ticks = [told("clock.ticked", f"t{n}", {"cluster": "c", "at": minute(n)}, time=minute(n)) for n in (30, 65)]
    summary = start(store, batch=3).ingest([sampled[0], *lines, *sampled[1:], *ticks, *sampled])
    assert summary.outcomes == {"applied": len(lines) + len(ticks) + 2 * len(sampled)}
    assert summary.samples == 2 * 2 * len(sampled)
    assert [e.raw for e in store.read_events(*LOG, -1, 100)] == [*lines, *ticks]
    assert store.query("SELECT count() FROM gpu_samples FINAL").rows == [(2 * len(sampled),)]
    asked = (
        "SELECT toString(hour), run, gpu, exact, sampled_gpu_ms, utilized_gpu_ms FROM report_run_gpu_hours ORDER BY ALL"
    )
    first = ("2026-03-02 00:00:00", "7/1", 1, True, 3_600_000.0, 1_800_000.0)
    assert store.query(asked).rows == [first]
    start(store).ingest([told("clock.ticked", "t125", {"cluster": "c", "at": minute(125)}, time=minute(125))])
    assert store.query(asked).rows == [first, ("2026-03-02 01:00:00", *first[1:])]
    assert verify(store).errors == []


# ---------------------------------------------------------------------- order of writing


class Watched:
    """A store that remembers what was asked of it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.calls: list[tuple[str, tuple[Any, ...]]] = []

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.store, name)

        def call(*arguments: Any) -> Any:
            self.calls.append((name, arguments))
            return method(*arguments)

        return call


def test_the_log_is_written_first_and_the_checkpoint_of_no_cluster_last(store: Store, start: Start):
    watched = Watched(store)
    start(watched, batch=100_000).ingest(LINES)
    writes = [name for name, _ in watched.calls if name.startswith(("append", "write", "save", "roll"))]
    assert writes[:4] == ["append", "write", "write_dead_letters", "write_directory"]
    assert set(writes[4:-3]) <= {"roll_up_samples"}
    assert writes[-3:] == ["save_checkpoint"] * 3
    assert [arguments[1].cluster for name, arguments in watched.calls if name == "save_checkpoint"][-1] == ""


# ---------------------------------------------------------------------- replay


@pytest.mark.parametrize("size", [29, 20_000])
def test_a_replay_into_another_generation_is_equal(
    store: Store, start: Start, size: int, monkeypatch: pytest.MonkeyPatch
):
    start(store, batch=31).ingest(LINES)
    monkeypatch.setattr("streams.replay.BATCH", size)
    progress: list[int] = []
    replayed = replay(store, "again", progress=progress.append)
    assert store.compare_generations(store.live_generation(), "again") == []
    live, again = store.checkpoints(store.live_generation())[LOG], store.checkpoints("again")[LOG]
    assert {LOG: again} == replayed.checkpoints
    assert {c: (k.log_hash, k.facts_hash, k.seq) for c, k in live.items()} == {
        c: (k.log_hash, k.facts_hash, k.seq) for c, k in again.items()
    }
    assert sum(progress) == replayed.records == replayed.outcomes.total() == len(LINES)
    assert set(replayed.dead_letters) == set(store.dead_letters(limit=100_000))
    assert not replayed.misfiled


def test_a_generation_that_was_replayed_can_be_shown_and_written_on(store: Store, start: Start):
    start(store).ingest(LINES[:100])
    replay(store, "again")
    store.set_live_generation("again")
    start(store).ingest(LINES[100:])
    holds(store, LINES)


# ---------------------------------------------------------------------- as known at


def test_a_statement_as_known_at_an_instant_is_what_was_printed_then(store: Store, start: Start):
    log = with_ticks(seeded_log(8, hours=12, nodes=4, jobs=20))
    half = len(log) // 2
    while recorded(log[half]) < recorded(log[half - 1]) + timedelta(seconds=1):
        half += 1
    then = recorded(log[half - 1])
    start(store).ingest([raw(one) for one in log[:half]])
    printed = statements(store, then)
    assert len(printed[0].rows) > 3
    assert len(printed[1].rows) > 10
    start(store).ingest([raw(one) for one in log[half:]])
    assert statements(store, then) == printed
    assert statements(store, recorded(log[-1])) != printed
    late = "SELECT count() FROM corrections FINAL WHERE recorded_at > {then:DateTime64(6, 'UTC')}"
    assert store.query(late, {"then": then}).rows != [(0,)]


def statements(store: Store, known_at: datetime) -> tuple[Table, Table]:
    asked = {"cluster": "", "account": "", "from_s": 0, "until_s": epoch_s(NOW), "known_at_s": epoch_s(known_at)}
    return store.query("statement_account_hours", asked), store.query("statement_postings", asked)


# ---------------------------------------------------------------------- open hours


def test_an_idle_cluster_without_budgets_verifies(store: Store, start: Start):
    """The last tick has nothing provisional to write, and what an earlier one wrote is stale."""
    node = {"node": "n1", "gpu_type": "h100", "gpus_milli": 8000, "state": "available"}
    ran = {"started_at": minute(0), "ended_at": minute(20), "placements": [{"node": "n1", "gpus_milli": 8000}]}
    run = {"job": "7", "attempt": "1", "user": "ann", "account": "lab", **ran}
    lines = [
        told("node.observed", "n", {"cluster": "c", **node}, time=minute(0)),
        told("run.observed", "r", {"cluster": "c", **run}, time=minute(20)),
        *(told("clock.ticked", f"t{n}", {"cluster": "c", "at": minute(n)}, time=minute(n)) for n in (30, 90)),
    ]
    start(store, batch=1).ingest(lines)
    assert verify(store).errors == []


def minute(after: int) -> str:
    return f"2026-03-02T{after // 60:02}:{after % 60:02}:00Z"


# ---------------------------------------------------------------------- one process per book

HOLDS = """
import sys
from ledger.store.clickhouse import open_chdb
from streams.runtime.embedded import Embedded
from tests.contract.runtime.feeds import clock, seeded
store = open_chdb(sys.argv[1])
store.migrate()
runtime = Embedded(store, clock)
runtime.ingest(seeded(1, jobs=2)[:50])
print("holds", flush=True)
sys.stdin.read()
runtime.close()
"""

TRIES = """
import sys
from ledger.store.clickhouse import open_chdb
from ledger.store.errors import StoreBusy
from streams.runtime.embedded import Embedded
from tests.contract.runtime.feeds import clock
try:
    Embedded(open_chdb(sys.argv[1]), clock)
except StoreBusy as busy:
    print(busy)
"""


def test_a_book_that_another_process_holds_is_busy_and_free_afterwards(tmp_path: Path):
    command = [sys.executable, "-c", HOLDS, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "holds\n"
        refused = run_python(TRIES, str(tmp_path))
        holder.communicate("")
    assert holder.returncode == 0
    assert refused.stdout.startswith(f"{tmp_path} is open in another process (PID: {holder.pid})"), refused.stderr
    assert "stop that process" in refused.stdout
    free = run_python(TRIES, str(tmp_path))
    assert (free.returncode, free.stdout) == (0, ""), free.stderr
