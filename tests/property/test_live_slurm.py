"""Whatever polls a live Slurm's collector missed, repeated or forgot: the book tells the story as it was."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.book import Book
from ledger.events import ClusterEvent
from ledger.state import Derived
from ledger.units import epoch_s
from streams.sources.config import SourceConfig
from streams.sources.slurm.live.cursor import Cursor, Kept, dumps, loads
from streams.sources.slurm.live.jobs import SETTLED_S
from streams.sources.slurm.live.poll import Poll
from streams.sources.slurm.live.step import Step, begin, step, to_ask, window_s
from tests.support.slurm_story import ARRAY, T0, Life, Story, stories

CONFIG = SourceConfig(cluster="alpha")
QUIET_POLLS = 4


class Collector:
    """Polls the story; the log is what reached the book."""

    def __init__(self, story: Story, lag: int = 0) -> None:
        self.story = story
        self.lag = lag
        self.kept = Kept(begin(T0))
        self.log: list[ClusterEvent] = []
        self.told: list[ClusterEvent] = []

    def poll(self, t: int, *, jobs: bool = True, ended: bool = True, asked: bool = True) -> None:
        """One poll, carried through."""
        self._emit(self._step(t, jobs=jobs, ended=ended, asked=asked))

    def crash_before(self, t: int) -> None:
        """Killed before the cursor is written: nothing of the poll was told."""
        self._step(t, jobs=True, ended=True, asked=True)

    def crash_after(self, t: int) -> None:
        """Killed once the events were sent, before that was written down: they are sent again as they were."""
        made = self._step(t, jobs=True, ended=True, asked=True)
        self._emit(made)
        self.log += made.events

    def _step(self, t: int, *, jobs: bool, ended: bool, asked: bool) -> Step:
        cursor = self.kept.cursor
        poll = self.story.poll(t, jobs=jobs, ended=ended, since_s=window_s(cursor), lag=self.lag)
        wanted = to_ask(cursor, poll, CONFIG)
        rows = self.story.asked(wanted, t, self.lag) if asked else None
        return step(cursor, replace(poll, asked=rows), CONFIG)

    def _emit(self, made: Step) -> None:
        assert not made.letters
        self.kept = loads(dumps(Kept(made.cursor)))  # as it is after a restart
        self.log += made.events
        self.told += made.events

    def finish(self) -> None:
        last = self.story.last + self.lag
        for n in range(QUIET_POLLS):
            self.poll(last + SETTLED_S + n)


def book_of(log: list[ClusterEvent]) -> Book:
    book = Book("alpha")
    for event in log:
        book.apply(event, epoch_s(event.time))
    return book


def runs_of(book: Book) -> dict[tuple[str, str], tuple[object, ...]]:
    """(start, end, outcome, GPUs, seconds it ran) of every run."""
    return {
        (run.job, run.attempt): (
            run.start_s,
            run.end_s,
            run.outcome,
            run.gpus_milli,
            run.end_s - run.start_s - sum(b - a for a, b, _ in run.pauses),
        )
        for reading in _read(book).values()
        for run in reading.runs
    }


def _read(book: Book) -> dict[str, Derived]:
    book.state.read_all()
    return book.state.derived


OUTCOMES = {
    "COMPLETED": "succeeded",
    "CANCELLED": "cancelled",
    "FAILED": "failed",
    "REQUEUED": "requeued",
    "NODE_FAIL": "node_failure",
    "TIMEOUT": "timeout",
}


def truth_of(story: Story) -> dict[tuple[str, str], tuple[object, ...]]:
    return {
        (f"{ARRAY}_{number}", str(T0 + life.submit)): (
            T0 + life.start,
            T0 + life.end,
            OUTCOMES[life.state],
            1000 * (number % 3 + 1),
            life.end - life.start - life.suspended,
        )
        for number, lives in story.jobs.items()
        for life in lives
        if life.start is not None
    }


POLLS = st.lists(
    st.tuples(
        st.integers(0, 30),
        st.sampled_from(["whole", "whole", "no jobs", "no accounting", "no asked", "before", "after"]),
    ),
    max_size=20,
)


def lived(story: Story, polls: list[tuple[int, str]], lag: int) -> Collector:
    collector = Collector(story, lag)
    t = 0
    for gap, how in polls:
        t += gap
        match how:
            case "before":
                collector.crash_before(t)
            case "after":
                collector.crash_after(t)
            case _:
                collector.poll(
                    t,
                    jobs=how != "no jobs",
                    ended=how != "no accounting",
                    asked=how not in {"no accounting", "no asked"},
                )
    collector.finish()
    return collector


@settings(max_examples=600, deadline=None)
@given(stories(), POLLS, st.integers(0, 3))
def test_the_book_has_every_run_as_it_was(story: Story, polls: list[tuple[int, str]], lag: int) -> None:
    collector = lived(story, polls, lag)
    assert runs_of(book_of(collector.log)) == truth_of(story)


@settings(max_examples=300, deadline=None)
@given(stories(), POLLS, st.integers(0, 3))
def test_no_fact_is_told_twice(story: Story, polls: list[tuple[int, str]], lag: int) -> None:
    collector = lived(story, polls, lag)
    ids = Counter(event.id for event in collector.told)
    assert all(n == 1 for n in ids.values()), [i for i, n in ids.items() if n > 1]
    facts = Counter((e.type, e.data.model_dump_json()) for e in collector.told if "observed" not in e.type)
    pausing = {"tenure.job.suspended.v1", "tenure.job.resumed.v1"}
    assert all(n == 1 for (kind, _), n in facts.items() if kind not in pausing), facts
    quiet = len(collector.told)
    collector.finish()
    assert len(collector.told) == quiet, "a quiet cluster has nothing to tell"


@settings(max_examples=200, deadline=None)
@given(stories(most_jobs=2))
def test_polled_every_second_the_pauses_are_where_they_were(story: Story) -> None:
    collector = Collector(story)
    for t in range(story.last + 1):
        collector.poll(t)
    collector.finish()
    book = book_of(collector.log)
    want = {
        (f"{ARRAY}_{number}", str(T0 + life.submit)): [
            (T0 + a, T0 + b) for a, b in life.pauses if b < life.end or b > a
        ]
        for number, lives in story.jobs.items()
        for life in lives
        if life.start is not None
    }
    got = {
        (run.job, run.attempt): [(a, b) for a, b, _ in run.pauses]
        for reading in _read(book).values()
        for run in reading.runs
    }
    assert got == want


def test_a_lost_cursor_tells_the_same_facts_under_the_same_ids() -> None:
    story = Story({1: (Life(0, 5, ((10, 12),), 30, "REQUEUED", 33), Life(33, 40, (), 60, "COMPLETED", 61))})
    first, again = Collector(story), Collector(story)
    for t in (2, 7, 11, 20, 34, 45):
        first.poll(t)
    first.finish()
    again.kept = Kept(Cursor(since_s=T0))
    again.finish()
    known = book_of(first.log)
    before = runs_of(known)
    for event in again.log:
        known.apply(event, epoch_s(event.time))
    assert runs_of(known) == before == truth_of(story)


def test_no_answer_and_an_empty_one_end_nothing() -> None:
    story = Story({1: (Life(0, 1, (), 500, "COMPLETED", 500),)})
    collector = Collector(story)
    collector.poll(5)
    told = len(collector.told)
    lost: list[str] = []
    for made in (Poll(T0 + 9), Poll(T0 + 10, jobs=[], ended=[], asked=[], nodes=[])):
        for _ in range(5):
            found = step(collector.kept.cursor, made, CONFIG)
            assert found.events == []
            collector.kept, lost = Kept(found.cursor), found.lost
    assert lost == [f"{ARRAY}_1/{T0}"]
    collector.poll(20)
    assert len(collector.told) == told
