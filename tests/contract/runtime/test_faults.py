"""A writer may die between any two of its writes: who goes on after it comes to the same book."""

from typing import Any

import pytest

from ledger.store.errors import StoreError, StoreFull
from ledger.store.protocol import Store
from ledger.units import DAY_S, epoch_us
from streams.intake import record
from streams.runtime.embedded import LOG
from streams.verify import verify
from tests.contract.runtime.books import SUMS, contents, samples
from tests.contract.runtime.conftest import Start
from tests.contract.runtime.feeds import NOW, seeded, told
from tests.contract.runtime.frail import Fault, Frail
from tests.support.chdb import fresh_store

LINES = seeded(9, jobs=10)
SIZES = (29, 11, 40, 3)


class Died(BaseException):
    """The end of a writer; nothing may catch it."""


def die(after: str) -> None:
    raise Died(after)


def go_on(start: Start, store: Store, fault: Fault, *, batch: int, records: int = 100_000) -> None:
    """A writer goes on behind the last record of the log."""
    runtime = start(Frail(store, fault), batch=batch)
    done = store.last_offset(*LOG) + 1
    runtime.ingest(LINES[done : done + records])


def test_a_writer_may_die_after_every_kind_of_write(store: Store, start: Start):
    """One death after the other, each after a kind of write that none died after before."""
    with fresh_store() as undisturbed:
        undisturbed.write_samples(samples())
        calm = Fault(die)
        go_on(start, undisturbed, calm, batch=29)
        expected = contents(undisturbed)
    kinds, pending = set(calm.done), set(calm.done)
    assert kinds >= {"append", "write postings", "write dead_letters", "write accounts", "checkpoint ''", "sum samples"}
    store.write_samples(samples())
    for life in range(3 * len(kinds)):
        try:
            go_on(
                start,
                store,
                Fault(die, pending),
                batch=SIZES[life % len(SIZES)],
                records=max(5, len(LINES) // len(kinds)),
            )
        except Died as death:
            pending.discard(str(death))
        if not pending:
            break
    assert not pending
    go_on(start, store, Fault(die), batch=50)
    assert contents(store) == expected
    assert not verify(store).errors


def test_when_the_last_checkpoint_is_there_so_are_the_sums_of_samples(store: Store, start: Start):
    """Nothing tells a writer that starts behind that checkpoint that anything is left to do."""
    store.write_samples(samples())
    with pytest.raises(Died, match="checkpoint ''"):
        go_on(start, store, Fault(die, {"checkpoint ''"}), batch=1_000)
    start(store)
    kept = store.query(SUMS + "ORDER BY ALL").rows
    for cluster, checkpoint in store.checkpoints(store.live_generation())[LOG].items():
        until_s = checkpoint.closed_until_s
        store.roll_up_samples("g1", cluster, until_s - 2 * DAY_S, until_s, checkpoint.ticked_s)
    assert kept
    assert store.query(SUMS + "ORDER BY ALL").rows == kept


# ---------------------------------------------------------------------- a write that fails


class Full:
    """A store whose disk is full for writes of one name, until there is room."""

    def __init__(self, store: Store, failing: str) -> None:
        self.store = store
        self.failing = failing
        self.room = False

    def __getattr__(self, name: str) -> Any:
        if name == self.failing and not self.room:
            return self._refuse
        return getattr(self.store, name)

    def _refuse(self, *_: Any) -> None:
        raise StoreFull("no space left: free some, then start again; nothing written was lost")


@pytest.mark.parametrize("failing", ["append", "write", "write_dead_letters", "save_checkpoint"])
def test_after_a_write_that_failed_nothing_is_taken_or_checkpointed_until_the_book_is_opened_again(
    store: Store, start: Start, failing: str
):
    """The books in memory are ahead of the store then: going on with them would lose rows for good."""
    lines = LINES[:60]
    full = Full(store, failing)
    runtime = start(full, batch=20)
    with pytest.raises(StoreFull):
        runtime.ingest(lines)
    full.room = True
    with pytest.raises(StoreError, match="open the book again"):
        runtime.ingest(lines)
    assert store.checkpoints(store.live_generation()) == {} or failing == "save_checkpoint"
    runtime = start(full, batch=7)
    runtime.ingest(lines[store.last_offset(*LOG) + 1 :])
    assert [e.raw for e in store.read_events(*LOG, -1, 1_000)] == lines
    assert not verify(store).errors


def test_an_input_that_breaks_off_loses_nothing_that_came_before(store: Store, start: Start):
    """What reads the records may fail between two batches; the books are whole then."""

    def broken() -> Any:
        yield from LINES[:45]
        raise OSError("the file is gone")

    runtime = start(store, batch=20)
    with pytest.raises(OSError, match="gone"):
        runtime.ingest(broken())
    done = store.last_offset(*LOG) + 1
    assert done in {40, 45}
    runtime.ingest(LINES[done:60])
    assert [e.raw for e in store.read_events(*LOG, -1, 1_000)] == LINES[:60]
    assert not verify(store).errors


def test_a_restart_sums_no_samples_of_hours_before_the_book_opens(store: Store, start: Start):
    """An undisturbed writer does not either: nothing is posted there."""
    policy = {"cluster": "north", "opens_at": "2026-03-02T02:00:00Z", "author": "ann", "reason": "it begins there"}
    node = {"cluster": "north", "node": "n1", "gpu_type": "a100", "gpus_milli": 2000, "state": "available"}
    job = {"cluster": "north", "job": "j", "attempt": "1", "placements": [{"node": "n1", "gpus_milli": 2000}]}
    tick = {"cluster": "north", "at": "2026-03-02T05:06:00Z"}
    lines = [
        told("policy.set", "p", policy, time="2026-03-02T00:00:00Z"),
        told("node.observed", "n", node, time="2026-03-02T00:00:00Z"),
        told("job.started", "s", job, time="2026-03-02T00:10:00Z"),
        told("clock.ticked", "t", tick, time="2026-03-02T05:06:00Z"),
    ]
    store.write_samples(samples())
    store.append([record(line, LOG, n, epoch_us(NOW)).archived for n, line in enumerate(lines)])
    start(store)
    hours = store.query("SELECT DISTINCT toHour(hour) FROM run_gpu_hours FINAL WHERE gone = 0 ORDER BY ALL").rows
    assert hours == [(2,), (3,), (4,)]
