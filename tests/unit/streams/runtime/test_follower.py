"""A follower has the books its partition's owner has, wherever it began, and writes nothing."""

from collections.abc import Sequence

from ledger.checkpoint import Partition
from ledger.store.clickhouse import ClickHouse
from streams.batches import join
from streams.runtime.follower import Follower
from streams.runtime.owner import Message, Owner
from streams.runtime.patience import Patience
from tests.contract.runtime.feeds import seeded
from tests.support.chdb import fresh_store

HERE = Partition("tenure.events", 3)
LINES = seeded(7, hours=4, nodes=2, jobs=6)
RECORDED_US = 2_000_000_000_000_000
PATIENCE = Patience(1.0, lambda _: None, lambda: 0.0)


def messages(lines: Sequence[bytes], begin: int = 0, size: int = 5) -> list[Message]:
    parts = [lines[at : at + size] for at in range(0, len(lines), size)]
    return [Message(begin + place, RECORDED_US + place, join(part)) for place, part in enumerate(parts)]


LOG = messages(LINES)
HALF = len(LOG) // 2


def hashes(of: Owner | Follower) -> dict[str, tuple[int, int, int]]:
    ledgers = of.processor.ledgers
    return {
        name: (at.book.state.seq, at.log_hash, at.facts_hash.update(iter(at.book.changed)))
        for name, at in ledgers.items()
    }


def begun(store: ClickHouse, records: Sequence[Message], *, save: bool) -> Owner:
    owner = Owner(store, HERE, PATIENCE)
    owner.take(records)
    if save:
        owner.save()
    return owner


def test_it_begins_behind_the_checkpoints_or_what_the_store_holds_behind_them():
    for save in (True, False):
        with fresh_store() as store:
            owner = begun(store, LOG[:HALF], save=save)
            follower = Follower(store, HERE, PATIENCE)
            assert follower.next_offset == owner.next_offset == HALF
            owner.take(LOG[HALF:])
            assert follower.take(LOG[HALF:]) is None
            assert hashes(follower) == hashes(owner)


def test_it_begins_at_the_first_record_of_an_empty_store_and_writes_nothing():
    with fresh_store() as store:
        follower = Follower(store, HERE, PATIENCE)
        assert follower.next_offset == 0
        follower.take(LOG)
        follower.save()
        assert store.checkpoints(store.live_generation()) == {}
        assert store.last_offset(*HERE) == -1
        assert hashes(follower) == hashes(begun(store, LOG, save=False))


def test_it_passes_over_repeats_and_asks_for_what_is_missing():
    with fresh_store() as store:
        follower = Follower(store, HERE, PATIENCE)
        assert follower.take([*LOG[:3], *LOG[1:4]]) is None
        assert follower.take(LOG[6:]) == 4
        assert follower.take(LOG[2:]) is None
        assert hashes(follower) == hashes(begun(store, LOG, save=False))


def test_it_says_when_it_has_taken_something():
    with fresh_store() as store:
        taken: list[int] = []
        follower = Follower(store, HERE, PATIENCE, lambda: taken.append(follower.next_offset))
        follower.take(LOG[:2])
        follower.take(LOG[2:3])
        assert taken == [2, 3]


def test_what_is_taken_may_be_acknowledged():
    with fresh_store() as store:
        follower = Follower(store, HERE, PATIENCE)
        follower.take(LOG[:1])
        assert follower.unsaved
        follower.save()
        assert not follower.unsaved
