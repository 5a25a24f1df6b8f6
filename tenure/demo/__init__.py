"""Demo data from a seed: a month of a cluster of 256 GPUs, its events as they reached the log, its GPU samples.

`generate` simulates what happened, then lets sources tell it: mostly in time, sometimes late, twice or wrongly.
The same seed and days give the same bytes; the dates are always the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tenure.demo.chance import seeded
from tenure.demo.cluster import CLUSTER, troubles
from tenure.demo.highlights import Highlights, highlights
from tenure.demo.people import people
from tenure.demo.reassigned import reassigned
from tenure.demo.reporting import tellings
from tenure.demo.samples import SampleBlock, sample_blocks
from tenure.demo.simulate import simulate
from tenure.demo.span import STORY_DAYS, Span
from tenure.demo.telling import entries, late_node
from tenure.demo.truth import Truth
from tenure.demo.wire import line
from tenure.demo.workload import workload

__all__ = ["CLUSTER", "Demo", "Highlights", "SampleBlock", "generate"]


@dataclass(frozen=True, slots=True)
class Demo:
    """A demo: `events` are CloudEvents JSON lines in log order, `truth` is what really happened."""

    seed: int
    span: Span
    events: list[bytes]
    highlights: Highlights
    truth: Truth

    @property
    def samples(self) -> Iterator[SampleBlock]:
        """One block of columns per day, made when asked for, the same each time."""
        return sample_blocks(self.span, self.truth, seeded(self.seed, "samples"))


def generate(seed: int, days: int = STORY_DAYS) -> Demo:
    """The demo of `seed` (not negative) over whole `days` from 1 September 2026, UTC; a story of thirty days."""
    span = Span(days)
    trouble = troubles(span, seeded(seed, "troubles"))
    jobs = workload(span, people(seeded(seed, "people")), seeded(seed, "workload"))
    truth = simulate(span, jobs, trouble, seeded(seed, "scheduler"))
    told = tellings(span, truth.attempts, seeded(seed, "tellings"))
    late, moved = late_node(span, truth, trouble.late_node), reassigned(span, truth)
    written = entries(span, truth, told, late, moved, seeded(seed, "log"))
    return Demo(
        seed,
        span,
        [line(entry.statement, entry.recorded_ms) for entry in written],
        highlights(span, truth, told, late, moved),
        truth,
    )
