"""§1 Run and §2 of docs/accounting.md, read slowly: what is known of one attempt of a job."""

from __future__ import annotations

from typing import Any, NamedTuple

from ledger.events.decisions import RunReassigned
from ledger.events.jobs import JobCheckpointed, JobEnded, JobResumed, JobStarted, JobSuspended, RunObserved
from ledger.events.nodes import GpuIdleObserved
from ledger.units import FOREVER_S, HOUR_S, epoch_s
from tests.oracle.facts import Facts, Said

REFUND_S = 4 * HOUR_S


class Pause(NamedTuple):
    """[since, until) without running; `until_s` is FOREVER_S while it is open."""

    since_s: int
    until_s: int
    releases: bool


class Terms(NamedTuple):
    """What the run was started under."""

    user: str = ""
    account: str = ""
    kind: str = ""
    min_runtime_s: int = 0
    resumable: bool = False
    priority: int = 0
    gang: str = ""
    gpu_type: str = ""


class Run(NamedTuple):
    """A run as all statements together say it is; `end_s` is FOREVER_S while it has no end."""

    job: str
    attempt: str
    start_s: int
    end_s: int
    outcome: str
    told: str  # the outcome as its source told it
    exit_code: int | None
    placements: dict[str, int]  # node -> milli-GPUs, in the order of the statement
    pools: list[str]  # of its nodes at the start, in the order of the statement, each once
    pauses: list[Pause]  # inside [start, end), one after another
    terms: Terms
    booked: str
    reason: str  # '' when funded
    checkpoints: list[int]
    idle_since_s: int | None
    eligible_s: int | None
    submitted_s: int | None
    second_start_s: int | None
    observed: bool  # there is a full statement
    flags: frozenset[str]

    @property
    def name(self) -> str:
        return f"{self.job}/{self.attempt}"

    @property
    def funded(self) -> bool:
        return self.reason == ""

    def running(self) -> list[tuple[int, int]]:
        """The stretches of [start, end) outside every pause."""
        stretches, since = [], self.start_s
        for pause in self.pauses:
            stretches.append((since, pause.since_s))
            since = pause.until_s
        stretches.append((since, self.end_s))
        return [(a, b) for a, b in stretches if a < b]

    def running_s(self, a: int, b: int) -> int:
        """Seconds of running in [a, b)."""
        return sum(max(0, min(b, until) - max(a, since)) for since, until in self.running())

    def piece(self, t: int) -> str:
        """§2 Pieces: the class of the run at t; '' where it occupies nothing."""
        if not self.start_s <= t < self.end_s:
            return ""
        for pause in self.pauses:
            if pause.since_s <= t < pause.until_s:
                return "" if pause.releases else "suspended"
        if not self.funded:
            return "unfunded"
        return "protected" if self.running_s(self.start_s, t) < self.terms.min_runtime_s else "interruptible"

    def released(self, t: int) -> bool:
        return any(pause.releases and pause.since_s <= t < pause.until_s for pause in self.pauses)

    def contract_end_s(self) -> int | None:
        """§2 "s + minimum runtime + the pauses before it"; None if unfunded or behind a pause that lasts."""
        if not self.funded:
            return None
        at = self.start_s + self.terms.min_runtime_s
        for pause in self.pauses:
            if pause.since_s < at:
                at += pause.until_s - pause.since_s
        return at if at < FOREVER_S else None

    def refund_from_s(self) -> int | None:
        """§4 refund: from where running time is given back; None where nothing is."""
        if self.outcome != "node_failure" or not self.funded or self.end_s == FOREVER_S:
            return None
        banked = [at for at in self.checkpoints if at <= self.end_s]
        return max([self.start_s, self.last_running_from_s(REFUND_S), *banked])

    def last_running_from_s(self, seconds: int) -> int:
        """The instant from which the running time until the end is `seconds`; the start if there is less."""
        for a, b in reversed(self.running()):
            if b - a >= seconds:
                return b - seconds
            seconds -= b - a
        return self.start_s


def all_runs(facts: Facts) -> list[Run]:
    """Every attempt whose start is known."""
    seen = {(one.data.job, one.data.attempt) for one in facts.of(RunObserved, JobStarted)}
    starts = {key: start_of(facts, *key)[0] for key in sorted(seen)}
    return [derive(facts, starts, job, attempt) for job, attempt in starts]


def about(facts: Facts, kind: type, job: str, attempt: str | None) -> list[Said]:
    """Statements of this type about this attempt, by stamp."""
    return [one for one in facts.of(kind) if one.data.job == job and one.data.attempt == attempt]


def full_of(facts: Facts, job: str, attempt: str) -> Said | None:
    """§1 full: the greatest `run.observed` that tells of an end; where none does, the greatest."""
    full = about(facts, RunObserved, job, attempt)
    ended = [one for one in full if one.data.ended_at is not None]
    return (ended or full)[-1] if full else None


def started_of(facts: Facts, job: str, attempt: str) -> list[Said]:
    """§1 start: each `job.started` with a stamp greater than full's, by stamp."""
    full = full_of(facts, job, attempt)
    return [one for one in about(facts, JobStarted, job, attempt) if full is None or one.stamp > full.stamp]


def ended_of(facts: Facts, job: str, attempt: str) -> list[tuple[Said, int]]:
    """§1 end: (statement, instant) of full's, if it tells of one, and of each `job.ended` it does not settle."""
    full = full_of(facts, job, attempt)
    ended = [(one, one.at_s) for one in about(facts, JobEnded, job, attempt)]
    if full is None or full.data.ended_at is None:
        return ended
    return [(full, epoch_s(full.data.ended_at)), *(one for one in ended if one[0].stamp > full.stamp)]


def second_start_of(facts: Facts, job: str, attempt: str) -> Said | None:
    """§1 the least `job.started` at or after an end told before it, of what had started by then."""
    full = full_of(facts, job, attempt)
    started = started_of(facts, job, attempt)
    ends = ended_of(facts, job, attempt) + [(one, one.at_s) for one in about(facts, JobEnded, job, None)]
    for n, one in enumerate(started):
        before = [other.at_s for other in started[:n]] + ([] if full is None else [epoch_s(full.data.started_at)])
        for end, at in ends:
            if end.stamp < one.stamp and at <= one.at_s and any(start <= at for start in before):
                return one
    return None


def start_of(facts: Facts, job: str, attempt: str) -> tuple[int, Any]:
    """§1 start: (instant, placements) of the greatest that counts, else of full."""
    second = second_start_of(facts, job, attempt)
    counting = [one for one in started_of(facts, job, attempt) if second is None or one.stamp < second.stamp]
    if counting:
        return counting[-1].at_s, counting[-1].data.placements
    full = full_of(facts, job, attempt)
    assert full is not None
    return epoch_s(full.data.started_at), full.data.placements


def end_of(facts: Facts, starts: dict[tuple[str, str], int], job: str, attempt: str) -> tuple[int, str, int | None]:
    """§1 end: (instant, outcome, exit code), maybe before the start; FOREVER_S where it is unknown."""
    second = second_start_of(facts, job, attempt)
    own = [(one, at) for one, at in ended_of(facts, job, attempt) if second is None or one.stamp < second.stamp]
    if own:
        last, at = max(own, key=lambda told: told[0].stamp)
        return at, last.data.outcome or "", last.data.exit_code
    start = starts[job, attempt]
    later = [other for (name, a), other in starts.items() if name == job and (other, a) > (start, attempt)]
    of_job = [
        one
        for one in about(facts, JobEnded, job, None)
        if start <= one.at_s and not any(o <= one.at_s for o in later) and (second is None or one.stamp < second.stamp)
    ]
    if of_job:
        return of_job[-1].at_s, of_job[-1].data.outcome, of_job[-1].data.exit_code
    return FOREVER_S, "", None


def read_as(facts: Facts, job: str, attempt: str, end_s: int, told: str) -> str:
    """§1 outcome: a run that was ordered off, and then ended in one of these ways, was preempted."""
    in_time = any(end_s >= ordered - 5 for ordered in facts.ordered_s(job, attempt))
    return "preempted" if in_time and told in {"cancelled", "requeued", "failed", "timeout"} else told


def one_after_another(pauses: list[Pause]) -> list[Pause]:
    """§1 "each is cut to start no earlier than the last one ended"; by their starts, empty ones dropped."""
    result: list[Pause] = []
    last = -FOREVER_S
    for pause in sorted(pauses, key=lambda p: p.since_s):
        cut = pause._replace(since_s=max(pause.since_s, last))
        if cut.since_s < cut.until_s:
            result.append(cut)
            last = cut.until_s
    return result


def pauses_of_full(full: Said | None, start_s: int, end_s: int) -> list[Pause]:
    """§1 pauses: "the intervals of full", or the bare total placed before the end."""
    if full is None:
        return []
    if full.data.suspensions is not None:
        stated = [
            Pause(epoch_s(p.since), FOREVER_S if p.until is None else epoch_s(p.until), p.releases_gpus)
            for p in full.data.suspensions
        ]
        return one_after_another(stated)
    if full.data.suspended_s > 0:
        x = end_s if end_s != FOREVER_S else full.at_s
        return [Pause(max(start_s, x - full.data.suspended_s), x, releases=False)]
    return []


def pauses_of(facts: Facts, job: str, attempt: str, start_s: int, end_s: int) -> list[Pause]:
    """§1 pauses, inside [start, end): of full, then suspended / resumed with a greater stamp."""
    full = full_of(facts, job, attempt)
    pauses = pauses_of_full(full, start_s, end_s)
    steps = about(facts, JobSuspended, job, attempt) + about(facts, JobResumed, job, attempt)
    for one in sorted(steps, key=lambda one: one.stamp):
        if full is not None and one.stamp < full.stamp:
            continue
        is_open = bool(pauses) and pauses[-1].until_s == FOREVER_S
        if isinstance(one.event, JobSuspended) and not is_open:
            pauses.append(Pause(one.at_s, FOREVER_S, one.data.releases_gpus))
        if isinstance(one.event, JobResumed) and is_open:
            pauses[-1] = pauses[-1]._replace(until_s=one.at_s)
    inside = [
        p._replace(since_s=max(p.since_s, start_s), until_s=min(p.until_s, end_s)) for p in one_after_another(pauses)
    ]
    return [p for p in inside if p.since_s < p.until_s]


def terms_of(facts: Facts, job: str, attempt: str, start_s: int) -> Terms:
    """§1 the run's terms: from full, else from the job's at the start, else empty; then `run.reassigned`."""
    full = full_of(facts, job, attempt)
    source = full.data if full is not None else facts.wanted(job, start_s)
    terms = Terms()
    if source is not None:
        terms = Terms(**{name: getattr(source, name) or empty for name, empty in Terms()._asdict().items()})
    for one in facts.decided(RunReassigned):
        if (one.data.job, one.data.attempt) == (job, attempt):
            terms = terms._replace(account=one.data.account)
    return terms


def derive(facts: Facts, starts: dict[tuple[str, str], int], job: str, attempt: str) -> Run:
    """§2 the derived run."""
    full = full_of(facts, job, attempt)
    start_s, placed = start_of(facts, job, attempt)
    stated_end_s, told, exit_code = end_of(facts, starts, job, attempt)
    end_s = max(start_s, stated_end_s)
    terms = terms_of(facts, job, attempt, start_s)
    placements: dict[str, int] = {}
    for p in placed:  # "Two placements of one run on one node are added up."
        placements[p.node] = placements.get(p.node, 0) + p.gpus_milli
    pools: list[str] = []
    for node in placements:
        pool = facts.node_pool(node, start_s, terms.gpu_type)
        if pool not in pools:
            pools.append(pool)
    booked, reason = facts.funding(terms.account, terms.min_runtime_s, pools, start_s)
    flags = set()
    if stated_end_s < start_s:
        flags.add("end_before_start")
    if full is not None and full.data.suspensions is None and full.data.suspended_s > 0:
        flags.add("suspension_placed")
    idle = about(facts, GpuIdleObserved, job, attempt)
    second = second_start_of(facts, job, attempt)
    return Run(
        job=job,
        attempt=attempt,
        start_s=start_s,
        end_s=end_s,
        outcome=read_as(facts, job, attempt, stated_end_s, told),
        told=told,
        exit_code=exit_code,
        placements=placements,
        pools=pools,
        pauses=pauses_of(facts, job, attempt, start_s, end_s),
        terms=terms,
        booked=booked,
        reason=reason,
        checkpoints=[one.at_s for one in about(facts, JobCheckpointed, job, attempt)],
        idle_since_s=epoch_s(idle[-1].data.since) if idle else None,
        eligible_s=None if full is None or full.data.eligible_at is None else epoch_s(full.data.eligible_at),
        submitted_s=None if full is None or full.data.submitted_at is None else epoch_s(full.data.submitted_at),
        second_start_s=None if second is None else second.at_s,
        observed=full is not None,
        flags=frozenset(flags),
    )
