"""Workers on a real broker, and everything that goes wrong: the book is the one an undisturbed writer makes."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Sequence

import pytest

from streams.replay import Replay
from tests.contract.runtime.feeds import UNREADABLE, seeded
from tests.support.trial import Trial

SEEDS = [pytest.param(seed, marks=[pytest.mark.chaos] if seed else []) for seed in range(20)]
"""One everywhere, twenty in `make chaos`."""

every_seed = pytest.mark.parametrize("seed", SEEDS)
pytestmark = pytest.mark.timeout(600)


def lines(seed: int) -> list[bytes]:
    """Two clusters, the directory, and what cannot be read."""
    return seeded(100 + seed, hours=6, nodes=2, jobs=8)


def portions(log: Sequence[bytes], number: int) -> list[list[bytes]]:
    """The log in so many parts, one after the other."""
    size = -(-len(log) // number)
    return [list(log[at : at + size]) for at in range(0, len(log), size)]


@every_seed
def test_a_worker_killed_between_every_two_steps(tried: Trial, seed: int):
    """One life after the other, each ended after a kind of step that ended none before."""
    dice = random.Random(seed)
    log = lines(seed)
    tried.publish(log[: len(log) // 2], batch=dice.randint(1, 20))
    with tried.worker() as undisturbed:
        tried.await_all(undisturbed)
        assert undisturbed.stop() == 0
        steps = set(undisturbed.wait_for("left; steps: ").removeprefix("left; steps: ").split(";"))
    assert steps >= {"fetched", "folded", "append", "write postings", "checkpoint ''", "acknowledged", "committed"}
    killed: set[str] = set()
    for portion in portions(log[len(log) // 2 :], 30):
        tried.publish(portion, batch=dice.randint(1, 20))
        with tried.worker(sorted(steps - killed)) as doomed:
            tried.await_end(doomed)
            if doomed.died():
                killed.add(doomed.wait_for("died after ").removeprefix("died after "))
        if killed >= steps:
            break
    print(f"killed after {sorted(killed)}, not after {sorted(steps - killed)}")
    assert killed >= {"fetched", "folded", "append", "checkpoint ''", "acknowledged", "committed"}
    tried.settle()


@every_seed
def test_workers_that_join_leave_and_die_during_load(tried: Trial, seed: int):
    dice = random.Random(seed)
    parts = portions(lines(seed), 5)
    tried.publish(parts[0])
    with tried.worker() as first:
        first.wait_for("ready")
        tried.publish(parts[1])
        with tried.worker() as second:
            tried.publish(parts[2])
            time.sleep(dice.uniform(0, 2))
            tried.publish(parts[3])
            if dice.random() < 0.5:
                second.wait_for("ready")
                first.kill()
            else:
                assert first.stop() == 0
            tried.publish(parts[4])
            tried.await_all(second)
            assert second.stop() == 0
    tried.settle()


@every_seed
def test_a_worker_that_sleeps_through_its_own_replacement(tried: Trial, seed: int):
    """It wakes up with its partitions given away, and what it still writes is what the other wrote."""
    dice = random.Random(seed)
    parts = portions(lines(seed), 5)
    tried.publish(parts[0])
    with tried.worker() as first:
        first.wait_for("ready")
        tried.publish(parts[1])
        time.sleep(dice.uniform(0, 1))
        first.process.send_signal(signal.SIGSTOP)
        with tried.worker() as second:
            tried.publish(parts[2])
            second.wait_for("ready")
            tried.publish(parts[3])
            tried.await_all(second)
            first.process.send_signal(signal.SIGCONT)
            tried.publish(parts[4])
            tried.await_all(second)
            time.sleep(1)
            assert not second.died()
    tried.settle()


@every_seed
def test_a_broker_that_is_killed_and_comes_back(tried: Trial, seed: int):
    dice = random.Random(seed)
    parts = portions(lines(seed), 3)
    tried.publish(parts[0])
    with tried.worker() as worker:
        worker.wait_for("ready")
        tried.publish(parts[1])
        time.sleep(dice.uniform(0, 1))
        tried.broker.restart()
        tried.publish(parts[2])
        tried.await_all(worker)
        assert worker.stop() == 0
    tried.settle()


@every_seed
def test_a_broker_that_goes_away_while_a_worker_joins(tried: Trial, seed: int):
    """The worker joins later, or it ends and says so, and the next one joins; it never waits for ever."""
    dice = random.Random(seed)
    tried.publish(lines(seed)[:300])
    with tried.worker() as worker:
        time.sleep(dice.uniform(1, 4))
        tried.broker.kill()
        time.sleep(dice.uniform(0, 2))
        tried.broker.start()
        tried.await_end(worker)
    tried.settle()


@every_seed
def test_a_store_that_is_away_for_a_while(tried: Trial, seed: int):
    """The worker waits; it neither stops nor acknowledges."""
    dice = random.Random(seed)
    parts = portions(lines(seed), 3)
    tried.publish(parts[0])
    with tried.worker() as worker:
        worker.wait_for("ready")
        tried.publish(parts[1])
        time.sleep(dice.uniform(0, 1))
        tried.server.kill()
        tried.publish(parts[2])
        time.sleep(dice.uniform(0, 2))
        tried.server.start()
        tried.await_all(worker)
        assert worker.stop() == 0
    tried.settle()


@every_seed
def test_a_store_that_answers_late_or_not_at_all(tried: Trial, seed: int):
    """A slow consumer, writes that are done and not confirmed, writes that are cut off."""
    dice = random.Random(seed)
    for table in ("events", "postings", "partition_checkpoints", "dead_letters"):
        kind = dice.choice(["lose", "cut", "wait"])
        tried.server.fault(
            kind, text=f"`{table}`", times=dice.randint(1, 2), **({"seconds": 1.0} if kind == "wait" else {})
        )
    with tried.worker() as worker:
        for part in portions(lines(seed), 4):
            tried.publish(part, batch=dice.randint(1, 20))
        tried.await_all(worker)
        assert worker.stop() == 0
    tried.settle()


@every_seed
def test_poison_and_what_is_sent_twice(tried: Trial, seed: int):
    """Dead letters are exactly the poison, once per record; a repeat changes nothing but the log."""
    dice = random.Random(seed)
    log = lines(seed)
    poison = [*UNREADABLE, b"[" * 5_000, b"[]", b'[{"a":1},', bytes(dice.randrange(256) for _ in range(300)), b"null"]
    for bad in poison:
        log.insert(dice.randint(0, len(log)), bad)
    with tried.worker() as worker:
        tried.publish(log, batch=dice.randint(1, 20))
        tried.publish(log, batch=dice.randint(1, 20))
        tried.await_all(worker)
        assert worker.stop() == 0
    tried.settle()
    unreadable = [letter.raw for letter in tried.store.dead_letters(limit=100_000) if not letter.event_id]
    assert sorted(unreadable) == sorted(2 * [bad for bad in log if bad in set(unreadable)])
    assert set(unreadable) >= set(poison) - set(UNREADABLE)


@every_seed
def test_a_new_generation_is_built_beside_the_old_while_events_flow(tried: Trial, seed: int):
    """Its hashes are those of the live book at the same place; after the switch no statement is ever wrong."""
    dice = random.Random(seed)
    parts = portions(lines(seed), 12)
    with tried.worker() as worker:
        for part in parts[:4]:
            tried.publish(part, batch=dice.randint(1, 20))
        tried.await_all(worker)
        rebuild = Replay(tried.store, "g2")
        rebuild.go_on()
        for part in parts[4:7]:
            tried.publish(part, batch=dice.randint(1, 20))
            rebuild.go_on()
        rebuild.checkpoint()
        seen = tried.settled()
        tried.store.set_live_generation("g2")
        for part in parts[7:]:
            tried.publish(part, batch=dice.randint(1, 20))
            seen |= tried.settled()
        while tried.behind():
            seen |= tried.settled()
            time.sleep(0.2)
        tried.await_all(worker)
        assert worker.stop() == 0
    assert tried.store.live_generation() == "g2"
    tried.settle()
    seen |= tried.settled()
    assert len(seen) > 2
    for (cluster, seq), statement in seen.items():
        assert statement == tried.statement(cluster, seq), (cluster, seq)
