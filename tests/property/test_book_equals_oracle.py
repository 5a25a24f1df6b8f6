"""The fold against the oracle, on logs nobody would write by hand (DESIGN §10, 1a and 1b).

A failure shows the log, one event a line: recorded, occurred, type, source/id, data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from ledger.facts import FactsHash, decode, encode
from ledger.rows import Job, Run
from tests.oracle.logs import Dice, DrawnDice, SeededDice, logs, seeded_log, shuffled, with_repeats
from tests.property.twists import TWISTS, Twist, over_days, with_stamps_twice
from tests.support.folded import Folded, folded, told

Log = list[Any]
Property = Callable[[Log, Dice], None]


# ---------------------------------------------------------------------- properties of one log


def reads_as_the_oracle_says(log: Log, dice: Dice) -> None:
    """After every event, or every k-th, each closed hour still kept is what f of the facts so far says."""
    every = dice.pick((1, 2, 3, 5, 8, 13))
    book = Folded()
    for n, event in enumerate(log):
        book.fold(event)
        if n % every == 0:
            book.check()
    book.check()
    book.check_runs()


def order_does_not_matter(log: Log, dice: Dice) -> None:
    """Decisions and ticks kept in place, observations in any order: one hash, the same net postings and runs."""
    assert_same_book(folded(shuffled(log, dice)), folded(log))


def repeats_do_not_matter(log: Log, dice: Dice) -> None:
    """A third sent again, at once or later: nothing but the latest recorded time can tell."""
    clean, book = folded(log), folded(with_repeats(log, dice))
    assert_same_book(book, clean)
    assert book.book.state.seq == clean.book.state.seq
    book.check()


def batches_do_not_matter(log: Log, dice: Dice) -> None:
    """Rows taken after each event or after every n leave the same tables behind."""
    one_by_one, by_n = folded(log), folded(log, take_every=dice.pick((2, 3, 7, 20, 1000)))
    assert by_n.tables == one_by_one.tables


def a_restart_does_not_matter(log: Log, dice: Dice) -> None:
    """The facts written and read at any place of the log; folded on, the tables are as if nothing had happened."""
    unbroken, book = folded(log), Folded()
    stops = {dice.between(0, len(log) - 1) for _ in range(3)}
    for n, event in enumerate(log):
        book.fold(event)
        if n in stops:
            before = book.hash_from_scratch()
            book.restart()
            assert book.hash.value == before
    assert book.tables == unbroken.tables
    assert book.hash_from_scratch() == unbroken.hash_from_scratch()


def the_hash_is_kept(log: Log, dice: Dice) -> None:
    """The hash that takes in only what changed is the hash from scratch."""
    every = dice.pick((1, 4, 9))
    book = Folded()
    for n, event in enumerate(log):
        book.fold(event)
        if n % every == 0:
            assert book.hash_kept() == book.hash_from_scratch()
    assert book.hash_kept() == FactsHash(decode(encode(book.book.state))).value


def assert_same_book(book: Folded, clean: Folded) -> None:
    assert book.hash_from_scratch() == clean.hash_from_scratch()
    assert book.net() == clean.net()
    assert book.current(Run) == clean.current(Run)
    assert book.current(Job) == clean.current(Job)


# ---------------------------------------------------------------------- and how often they are tried

EXAMPLES: dict[Property, int] = {
    reads_as_the_oracle_says: 25,
    order_does_not_matter: 25,
    repeats_do_not_matter: 15,
    batches_do_not_matter: 15,
    a_restart_does_not_matter: 20,
    the_hash_is_kept: 15,
}
TWISTED_EXAMPLES = 5
SEEDS = range(6)
"""Logs of 80 events and more, each under one twist or none; hypothesis prefers short ones."""
FOR_LONG = 10
"""How many times as many examples `make chaos` tries."""


class Told(list[Any]):
    """A log that is shown once, as it was folded, and not as a list of models too."""

    def __repr__(self) -> str:
        return f"<{len(self)} events>"


def try_out(prop: Property, examples: int, twist: Twist | None = None) -> None:
    """The property on so many drawn logs; on a failure the smallest log found is shown."""

    @settings(max_examples=examples)
    @given(logs().map(Told), st.data())
    def trial(log: Log, data: st.DataObject) -> None:
        dice = DrawnDice(data.draw)
        drawn = log if twist is None else twist(log, dice)
        note(told(drawn))
        prop(drawn, dice)

    trial()


def twisted(log: Log, dice: Dice) -> None:
    """All that holds of a twisted log, in one go."""
    reads_as_the_oracle_says(log, dice)
    order_does_not_matter(log, dice)
    a_restart_does_not_matter(log, dice)


def over_the_horizon(log: Log, dice: Dice) -> None:
    """Where hours are let go, order may decide what was still in time, and so may a repeat; everything else holds."""
    reads_as_the_oracle_says(with_repeats(log, dice), dice)
    batches_do_not_matter(log, dice)
    a_restart_does_not_matter(log, dice)
    the_hash_is_kept(log, dice)


HOLDS: dict[Twist, Property] = dict.fromkeys(TWISTS, twisted) | {
    over_days: over_the_horizon,
    with_stamps_twice: order_does_not_matter,
}


def try_seed(seed: int) -> None:
    """All that holds of one long log."""
    dice = SeededDice(seed)
    log = seeded_log(seed, hours=12, nodes=3, jobs=6)
    twist = dice.pick((None, *HOLDS))
    drawn = log if twist is None else twist(log, dice)
    try:
        (twisted if twist is None else HOLDS[twist])(drawn, dice)
    except AssertionError as failed:
        failed.add_note(f"seed {seed}, {twist and twist.__name__}\n{told(drawn)}")
        raise


properties = pytest.mark.parametrize("prop", EXAMPLES, ids=lambda prop: prop.__name__)
twists = pytest.mark.parametrize("twist", HOLDS, ids=lambda twist: twist.__name__)


# Only a failure takes long: the smallest log that fails is worth some minutes.
@pytest.mark.timeout(600)
@properties
def test_a_log(prop: Property):
    try_out(prop, EXAMPLES[prop])


@pytest.mark.timeout(600)
@twists
def test_a_twisted_log(twist: Twist):
    try_out(HOLDS[twist], TWISTED_EXAMPLES, twist)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_long_log(seed: int):
    try_seed(seed)


@pytest.mark.chaos
@pytest.mark.timeout(3600)
@properties
def test_a_log_for_long(prop: Property):
    try_out(prop, FOR_LONG * EXAMPLES[prop])


@pytest.mark.chaos
@pytest.mark.timeout(3600)
@twists
def test_a_twisted_log_for_long(twist: Twist):
    try_out(HOLDS[twist], FOR_LONG * TWISTED_EXAMPLES, twist)


@pytest.mark.chaos
@pytest.mark.parametrize("seed", range(len(SEEDS), FOR_LONG * len(SEEDS)))
def test_a_long_log_for_long(seed: int):
    try_seed(seed)
