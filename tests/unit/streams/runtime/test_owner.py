"""The owner of a partition of a Kafka log comes to the book the embedded runtime keeps, whatever is delivered how."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ledger.checkpoint import Partition
from ledger.store.errors import StoreError, StoreFull, StoreUnreachable
from ledger.store.protocol import Store
from ledger.units import epoch_us
from streams.replay import replay
from streams.runtime import owner as owner_module
from streams.runtime.embedded import Embedded
from streams.runtime.owner import Message, Owner
from streams.runtime.patience import Patience
from streams.verify import verify
from tests.contract.runtime.books import contents
from tests.contract.runtime.feeds import NOW, clock, seeded
from tests.contract.runtime.frail import Fault, Frail
from tests.contract.runtime.tape import play, tapes
from tests.oracle.logs import SeededDice
from tests.support.chdb import fresh_store

Contents = dict[str, list[str]]
LINES = seeded(9, hours=6, nodes=2, jobs=6)
NONE = Patience(0, lambda _: None, lambda: 0.0)


class Died(BaseException):
    """The end of a writer; nothing may catch it."""


def die(after: str) -> None:
    raise Died(after)


@pytest.fixture
def store() -> Iterator[Store]:
    with fresh_store() as store:
        yield store


@pytest.fixture(scope="module")
def expected() -> Contents:
    """What the embedded runtime makes of the lines."""
    with fresh_store() as store:
        Embedded(store, clock).ingest(LINES)
        return contents(store, placed=False)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("partitions", "batch"), [(1, 1), (3, 7), (12, 500)])
def test_the_book_is_the_same_whatever_is_delivered_how(
    store: Store, expected: Contents, seed: int, partitions: int, batch: int, monkeypatch: pytest.MonkeyPatch
):
    dice = SeededDice(seed)
    monkeypatch.setattr(owner_module, "BATCH", dice.between(5, 200))
    for partition, tape in tapes(LINES, dice, partitions=partitions, batch=batch).items():
        play(Owner(store, partition, NONE), tape, dice, most=dice.between(5, 100))
    assert contents(store, placed=False) == expected


@pytest.mark.parametrize("seed", range(3))
def test_an_owner_may_die_after_any_write_and_the_next_goes_on(store: Store, expected: Contents, seed: int):
    dice = SeededDice(seed)
    for partition, tape in tapes(LINES, dice, partitions=3, batch=5).items():
        deaths = 0
        while True:
            fault = Fault(die, step=dice.between(1, 12) if deaths < 12 else -1)
            frail: Any = Frail(store, fault)
            try:
                play(Owner(frail, partition, NONE), tape, dice, most=30)
            except Died:
                deaths += 1
            else:
                break
        assert deaths or len(tape) < 10
    assert contents(store, placed=False) == expected
    assert verify(store).errors == []


# ---------------------------------------------------------------------- places


def message(offset: int, value: bytes = b"?") -> Message:
    return Message(offset, epoch_us(NOW), value)


EVENTS = Partition("tenure.events", 4)


def test_where_a_record_is_missing_nothing_behind_it_is_taken(store: Store):
    owner = Owner(store, EVENTS, NONE)
    assert owner.take([message(0), message(2), message(3)]) == 1
    assert owner.take([message(3)]) == 1
    assert owner.take([message(1), message(2)]) is None
    assert [e.offset for e in store.read_events(*EVENTS, -1, 10)] == [0, 1, 2]


def test_what_was_taken_before_is_passed_over(store: Store):
    owner = Owner(store, EVENTS, NONE)
    assert owner.take([message(0), message(1)]) is None
    assert owner.take([message(0), message(1)]) is None
    assert owner.take([]) is None
    assert owner.next_offset == 2
    assert len(store.read_events(*EVENTS, -1, 10)) == 2


def test_a_record_that_is_no_event_keeps_its_place_and_its_bytes(store: Store):
    """Also a tombstone, a batch without events, and a batch that breaks off."""
    values = [b"", b"[]", b'[{"id":', b"\xff", b"[1, 2]"]
    owner = Owner(store, EVENTS, NONE)
    assert owner.take([message(n, value) for n, value in enumerate(values)]) is None
    kept = [(e.offset, e.index, e.raw) for e in store.read_events(*EVENTS, -1, 10)]
    assert kept == [(0, 0, b""), (1, 0, b"[]"), (2, 0, b'[{"id":'), (3, 0, b"\xff"), (4, 0, b"1"), (4, 1, b"2")]
    assert {(le.offset, le.index, le.raw) for le in store.dead_letters()} == set(kept)


def test_an_owner_goes_on_from_what_the_store_holds_behind_the_checkpoint(store: Store):
    """Kafka may have let go of it by then."""
    lines = LINES[:80]
    with pytest.raises(Died):
        Owner(Frail(store, Fault(die, {"append"})), EVENTS, NONE).take(  # type: ignore[arg-type]
            [message(n, line) for n, line in enumerate(lines)]
        )
    assert Owner(store, EVENTS, NONE).next_offset == len(lines)
    assert verify(store).errors == []


def test_an_owner_stopped_while_it_catches_up_goes_on_where_it_was(store: Store, monkeypatch: pytest.MonkeyPatch):
    """A backlog may take longer than any start is left alone for."""
    monkeypatch.setattr("streams.runtime.keeper.BATCH", 20)
    with pytest.raises(Died):
        Owner(Frail(store, Fault(die, {"append"})), EVENTS, NONE).take(  # type: ignore[arg-type]
            [message(n, line) for n, line in enumerate(LINES[:80])]
        )
    for folded in (19, 39, 59):
        with pytest.raises(Died):
            Owner(Frail(store, Fault(die, {"checkpoint ''"})), EVENTS, NONE)  # type: ignore[arg-type]
        assert store.checkpoints(store.live_generation())[EVENTS][""].position.offset == folded
    assert Owner(store, EVENTS, NONE).next_offset == 80
    assert verify(store).errors == []


def test_an_owner_goes_over_to_the_generation_the_views_show(store: Store):
    owner = Owner(store, EVENTS, NONE)
    owner.take([message(n, line) for n, line in enumerate(LINES[:40])])
    owner.save()
    replay(store, "g2")
    owner.take([message(40 + n, line) for n, line in enumerate(LINES[40:80])])
    store.set_live_generation("g2")
    owner.save()
    assert owner.next_offset == 80, "the archive holds what the new generation has not folded"
    owner.take([message(80 + n, line) for n, line in enumerate(LINES[80:])])
    owner.save()
    assert verify(store).errors == []
    assert len(store.read_events(*EVENTS, -1, 100_000)) == len(LINES)


# ---------------------------------------------------------------------- a store that is away


class Away:
    """A store that does not answer so many times, then does."""

    def __init__(self, store: Store, times: int, *, wrong: type[StoreError] = StoreUnreachable) -> None:
        self._store, self.times, self._wrong = store, times, wrong

    def __getattr__(self, name: str) -> Any:
        there = getattr(self._store, name)

        def call(*arguments: Any, **named: Any) -> Any:
            if self.times:
                self.times -= 1
                raise self._wrong("not there")
            return there(*arguments, **named)

        return call


def test_an_owner_waits_for_a_store_that_comes_back(store: Store):
    slept: list[float] = []
    patience = Patience(60, slept.append, lambda: sum(slept))
    away: Any = Away(store, 3)
    owner = Owner(away, EVENTS, patience)
    for line in range(20):
        away.times = line % 3
        assert owner.take([message(line, LINES[line])]) is None
        away.times = line % 2
        owner.save()
    assert slept[:3] == [0.2, 0.4, 0.8]
    assert patience.told == ""
    assert verify(store).errors == []


def test_patience_has_an_end_and_the_owner_is_of_no_use_then(store: Store):
    slept: list[float] = []
    patience = Patience(60, slept.append, lambda: sum(slept))
    away: Any = Away(store, 0)
    owner = Owner(away, EVENTS, patience)
    away.times = 1_000
    with pytest.raises(StoreUnreachable):
        owner.take([message(0, LINES[0])])
    assert sum(slept) <= 60
    assert patience.told == "not there"
    away.times = 0
    with pytest.raises(StoreError, match="open the book again"):
        owner.take([message(0, LINES[0])])


def never(_: float) -> None:
    pytest.fail("it waited")


def test_a_full_disk_is_not_waited_for(store: Store):
    away: Any = Away(store, 0, wrong=StoreFull)
    owner = Owner(away, EVENTS, Patience(60, never, lambda: 0.0))
    away.times = 1
    with pytest.raises(StoreFull):
        owner.take([message(0, LINES[0])])
