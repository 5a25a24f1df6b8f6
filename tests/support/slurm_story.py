"""A made-up Slurm: what happened to its jobs, and what its commands say of it at any instant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from streams.sources.reading import Place
from streams.sources.slurm.gres import Gpus
from streams.sources.slurm.live.poll import Poll
from streams.sources.slurm.nodes import NodeRecord
from streams.sources.slurm.reader import Piece
from streams.sources.slurm.record import JobId, JobRecord
from streams.sources.slurm.states import state_of

NOWHERE = Place()
T0 = 1_790_000_000
ARRAY = "100"
"""All jobs are tasks of one array."""
LATE_S = 3
"""So long after a task's end accounting has its row without its array."""
MIN_JOB_AGE_S = 40
"""The controller forgets an ended job so long after its end."""


@dataclass(frozen=True)
class Life:
    """One attempt: [start, end) with pauses, seconds after T0. Without a start it was cancelled in the queue."""

    submit: int
    start: int | None
    pauses: tuple[tuple[int, int], ...]
    end: int
    state: str
    gone: int
    """When its processes are gone: until then the controller says COMPLETING."""

    @property
    def suspended(self) -> int:
        return sum(b - a for a, b in self.pauses)


@dataclass(frozen=True)
class Story:
    """Jobs by number, each with its attempts."""

    jobs: dict[int, tuple[Life, ...]]

    @property
    def last(self) -> int:
        return max(life.gone for lives in self.jobs.values() for life in lives)

    # ------------------------------------------------------------------ what commands say

    def controller(self, t: int) -> list[Piece]:
        """The latest attempt of every job that is known at `t`."""
        found = []
        for number, lives in self.jobs.items():
            begun = [life for life in lives if life.submit <= t]
            if begun and t < begun[-1].gone + MIN_JOB_AGE_S:
                found.append(self._controlled(number, begun[-1], t))
        return [(record, NOWHERE, b"") for record in found]

    def _controlled(self, number: int, life: Life, t: int) -> JobRecord:
        record = _record(number, life)
        if life.start is None or t < life.start:
            if life.start is None and t >= life.end:
                return replace(record, state=state_of(life.state), start_s=T0 + life.end, end_s=T0 + life.end)
            return replace(record, state=state_of("PENDING"), nodes=())
        changed, ran = _changed(life, t)
        record = replace(
            record, start_s=T0 + life.start, changed_s=None if changed is None else T0 + changed, ran_s=ran
        )
        if t < life.end:
            suspended = any(a <= t < b for a, b in life.pauses)
            return replace(record, state=state_of("SUSPENDED" if suspended else "RUNNING"), end_s=T0 + 10**6)
        if t < life.gone:
            moved = t if life.state == "REQUEUED" else life.start
            return replace(record, state=state_of("COMPLETING"), start_s=T0 + moved, end_s=T0 + 10**6)
        if life.state == "REQUEUED":  # waits for its begin time, under the next attempt's name from then on
            return replace(record, state=state_of("PENDING"), nodes=(), start_s=None)
        return replace(record, state=state_of(life.state), end_s=T0 + life.end)

    def ended(self, since_s: int, t: int, lag: int = 0) -> list[Piece]:
        """Accounting's rows of what ended between `since_s` and `t`, as far as they have reached it."""
        return [
            (_accounted(number, life, t), NOWHERE, b"")
            for number, lives in self.jobs.items()
            for life in lives
            if since_s - T0 <= life.end <= t - lag
        ]

    def asked(self, ids: Sequence[str], t: int, lag: int = 0) -> list[Piece]:
        """Accounting's rows of these jobs."""
        rows: list[Piece] = []
        for number in (int(name.removeprefix(f"{ARRAY}_")) for name in ids):
            for life in self.jobs[number]:
                if life.end <= t - lag:
                    rows.append((_accounted(number, life, t), NOWHERE, b""))
                elif life.submit <= t - lag:
                    state = "RUNNING" if life.start is not None and life.start <= t - lag else "PENDING"
                    rows.append((replace(_record(number, life), state=state_of(state)), NOWHERE, b""))
        return rows

    def poll(
        self, t: int, *, jobs: bool = True, ended: bool = True, nodes: bool = True, since_s: int, lag: int
    ) -> Poll:
        """A poll at `t` in which some questions may stay without an answer; accounting of single jobs aside."""
        node = NodeRecord(("n1",), ("MIXED",), "gpu:h100:8")
        return Poll(
            T0 + t,
            jobs=self.controller(t) if jobs else None,
            ended=self.ended(since_s, t, lag) if ended else None,
            nodes=[(node, NOWHERE, b"")] if nodes else None,
        )


def _record(number: int, life: Life) -> JobRecord:
    return JobRecord(
        id=JobId(ARRAY, (str(number),)),
        state=state_of("PENDING"),
        number=str(number),
        user="u",
        account="lab",
        submit_s=T0 + life.submit,
        eligible_s=T0 + life.submit,
        nodes=("n1",) if life.start is not None else (),
        node_count=1,
        allocated=Gpus(1000 * (number % 3 + 1)),
        requested=Gpus(1000 * (number % 3 + 1)),
    )


def _accounted(number: int, life: Life, t: int) -> JobRecord:
    start = life.end if life.start is None else life.start
    record = _record(number, life)
    return replace(
        record,
        id=JobId(str(number)) if t < life.end + LATE_S else record.id,
        state=state_of(life.state),
        start_s=T0 + start,
        end_s=T0 + life.end,
        elapsed_s=life.end - start - life.suspended,
        suspended_s=life.suspended,
    )


def _changed(life: Life, t: int) -> tuple[int | None, int]:
    """(when it was last suspended or resumed, how long it had run before its last suspension)."""
    changed, ran, suspended = None, 0, 0
    assert life.start is not None
    for a, b in life.pauses:
        if a <= t:
            changed, ran = a, a - life.start - suspended
        if b <= t and b < life.end:
            changed = b
            suspended += b - a
    return changed, ran


# ---------------------------------------------------------------- made up


@st.composite
def stories(draw: st.DrawFn, *, most_jobs: int = 3) -> Story:
    """Jobs with requeues, pauses, cancels in the queue and while suspended."""
    jobs = {}
    for number in range(1, draw(st.integers(1, most_jobs)) + 1):
        lives: list[Life] = []
        at = draw(st.integers(0, 60))
        for _ in range(draw(st.integers(1, 3))):
            life = draw(_lives(at))
            lives.append(life)
            if life.state != "REQUEUED":
                break
            at = life.gone
        if lives[-1].state == "REQUEUED":
            lives[-1] = replace(lives[-1], state="COMPLETED")
        jobs[number] = tuple(lives)
    return Story(jobs)


@st.composite
def _lives(draw: st.DrawFn, submit: int) -> Life:
    start = submit + draw(st.integers(0, 40))
    if draw(st.integers(0, 9)) == 0:
        return Life(submit, None, (), start, "CANCELLED", start)
    cuts = sorted(draw(st.sets(st.integers(1, 120), max_size=5)))
    end = start + draw(st.integers(1, 140))
    inside = [start + cut for cut in cuts if start + cut < end]
    pauses = tuple(zip(inside[::2], inside[1::2], strict=False))
    if len(inside) % 2:  # cancelled while it was suspended: Slurm dates that back to the suspension
        end = inside[-1]
    state = draw(st.sampled_from(["COMPLETED", "CANCELLED", "FAILED", "REQUEUED", "REQUEUED", "NODE_FAIL", "TIMEOUT"]))
    return Life(submit, start, pauses, end, state, max(end, submit + 1) + draw(st.integers(0, 5)))
