"""What sources say of what happened, before lateness: one statement per fact, in the words of the events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import blake2b
from typing import Final

from ledger.events.jobs import Outcome
from ledger.units import GPU_MILLI, HOUR_S
from tenure.demo.cluster import CLUSTER, GPUS_PER_NODE
from tenure.demo.jobs import Ask, Job
from tenure.demo.tree import OWN
from tenure.demo.truth import Attempt, Cancelled, NodeChange, Requeue
from tenure.demo.wire import ACCOUNTING, GPUS, NODES, SLURM, Fields, Statement, iso

IDLE_AFTER_S: Final = 2 * HOUR_S
"""All samples zero for this long are worth a statement."""
EXIT_CODES: Final[dict[Outcome, int]] = {"succeeded": 0, "failed": 1, "out_of_memory": 137}


def submitted(job: Job) -> Statement:
    """The job as asked for; a job of several nodes or of several GPUs says its shape."""
    ask = job.ask
    data = _terms(ask) | {"cluster": CLUSTER, "job": job.job, "gpus_milli": job.gpus * GPU_MILLI}
    if job.gpus > 1:
        data["shape"] = {"nodes": ask.nodes, "gpus_per_node_milli": ask.gpus_per_node * GPU_MILLI}
    if job.held:
        data["held"] = True
    elif job.eligible_s > job.submit_s:
        data["eligible_from"] = iso(job.eligible_s)
    return Statement(job.submit_s, "job.submitted", SLURM, f"submitted/{job.job}", job.job, data)


def updated(job: Job, at_s: int, **changes: object) -> Statement:
    """Some of the job's terms changed."""
    data: Fields = {"cluster": CLUSTER, "job": job.job, **changes}
    return Statement(at_s, "job.updated", SLURM, f"updated/{job.job}/{at_s}", job.job, data)


def requeued(requeue: Requeue) -> Statement:
    """The job waits again, and may start from an instant on."""
    return updated(requeue.job, requeue.at_s, eligible_from=iso(requeue.eligible_s))


def cancelled(cancel: Cancelled) -> Statement:
    """The job left the queue without running again."""
    job = cancel.job.job
    data: Fields = {"cluster": CLUSTER, "job": job, "outcome": "cancelled"}
    return Statement(cancel.at_s, "job.ended", SLURM, f"cancelled/{job}", job, data)


def started(attempt: Attempt) -> Statement:
    """The attempt holds its GPUs."""
    return _step(attempt, "job.started", attempt.started_s, placements=_placements(attempt))


def stops(attempt: Attempt) -> Iterator[Statement]:
    """Suspensions, and what was resumed of them before the attempt ended."""
    for stop in attempt.stops:
        yield _step(attempt, "job.suspended", stop.since_s, releases_gpus=stop.releases_gpus)
        if stop.until_s is not None and stop.until_s != attempt.ended_s:
            yield _step(attempt, "job.resumed", stop.until_s)


def checkpoints(attempt: Attempt) -> Iterator[Statement]:
    """Progress banked."""
    for at_s in attempt.checkpoints_s:
        yield _step(attempt, "job.checkpointed", at_s)


def ended(attempt: Attempt, at_s: int, outcome: Outcome) -> Statement:
    """The attempt's end as first reported, at `at_s`."""
    code = EXIT_CODES.get(outcome)
    more: Fields = {} if code is None else {"exit_code": code}
    return _step(attempt, "job.ended", at_s, outcome=outcome, **more)


def idle(attempt: Attempt, ends_s: int) -> Iterator[Statement]:
    """That all samples of the attempt have been zero for two hours, if they were before `ends_s`."""
    from_s = attempt.job.nature.idle_from_s
    if from_s is None or attempt.stops:
        return
    since_s = attempt.started_s + from_s
    until_s = ends_s if attempt.ended_s is None else attempt.ended_s
    if since_s + IDLE_AFTER_S < until_s:
        data: Fields = _names(attempt) | {"since": iso(since_s)}
        name = f"idle/{attempt.job.job}/{attempt.name}"
        at_s = since_s + IDLE_AFTER_S
        yield Statement(at_s, "gpu.idle_observed", GPUS, name, attempt.job.job, data)


def observed(attempt: Attempt, at_s: int, *, running: bool, bare: bool = False, lag_s: int | None = None) -> Statement:
    """The whole run as accounting knows it at `at_s`: `running` whatever became of it, pauses as a `bare` total."""
    job = attempt.job
    data = _terms(job.ask) | _names(attempt)
    data |= {
        "submitted_at": iso(attempt.queued_s),
        "eligible_at": iso(attempt.eligible_s),
        "started_at": iso(attempt.started_s),
        "placements": _placements(attempt),
    }
    data |= _suspensions(attempt, at_s, bare=bare)
    if not running and attempt.ended_s is not None and attempt.outcome is not None:
        data |= {"ended_at": iso(attempt.ended_s), "outcome": attempt.outcome}
        code = EXIT_CODES.get(attempt.outcome)
        data |= {} if code is None else {"exit_code": code}
    digest = blake2b(json.dumps(data).encode(), digest_size=8).hexdigest()
    name = f"{CLUSTER}/{job.job}/{attempt.name}/{digest}"
    return Statement(at_s, "run.observed", ACCOUNTING, name, job.job, data, lag_s)


def node(change: NodeChange, lag_s: int | None = None) -> Statement:
    """The node as it was seen when its state changed."""
    name = f"{change.node}/{change.at_s}/{change.state}"
    data: Fields = {"cluster": CLUSTER, "node": change.node}
    if change.state == "removed":
        return Statement(change.at_s, "node.removed", NODES, name, change.node, data, lag_s)
    data |= {
        "gpu_type": change.gpu_type,
        "gpus_milli": GPUS_PER_NODE * GPU_MILLI,
        "state": change.state,
        "reason": change.reason,
    }
    return Statement(change.at_s, "node.observed", NODES, name, change.node, data, lag_s)


def _terms(ask: Ask) -> Fields:
    """The terms that a job and its runs share; what is at its default is left out, as sources do."""
    data: Fields = {"user": ask.user, "kind": ask.kind, "time_limit_s": ask.time_limit_s}
    if ask.account is not None:
        data["account"] = ask.account.removesuffix(f"/{OWN}")
    if ask.gpu_type is not None:
        data["gpu_type"] = ask.gpu_type
    if ask.min_runtime_s:
        data["min_runtime_s"] = ask.min_runtime_s
    if ask.resumable:
        data["resumable"] = True
    if ask.priority:
        data["priority"] = ask.priority
    return data


def _names(attempt: Attempt) -> Fields:
    return {"cluster": CLUSTER, "job": attempt.job.job, "attempt": attempt.name}


def _step(attempt: Attempt, kind: str, at_s: int, **more: object) -> Statement:
    word = kind.removeprefix("job.")
    name = f"{word}/{attempt.job.job}/{attempt.name}"
    if word not in {"started", "ended"}:
        name = f"{name}/{at_s}"
    return Statement(at_s, kind, SLURM, name, attempt.job.job, _names(attempt) | more)


def _placements(attempt: Attempt) -> list[Fields]:
    return [
        {
            "node": part.node,
            "gpus_milli": len(part.gpu_indices) * GPU_MILLI,
            "gpu_indices": part.gpu_indices,
        }
        for part in attempt.parts
    ]


def _suspensions(attempt: Attempt, at_s: int, *, bare: bool) -> Fields:
    past = [stop for stop in attempt.stops if stop.since_s < at_s]
    if not past:
        return {}
    if bare:
        return {"suspended_s": sum((s.until_s or at_s) - s.since_s for s in past)}
    intervals: list[Fields] = []
    for stop in past:
        interval: Fields = {"since": iso(stop.since_s), "releases_gpus": stop.releases_gpus}
        if stop.until_s is not None and stop.until_s <= at_s:
            interval["until"] = iso(stop.until_s)
        intervals.append(interval)
    return {"suspensions": intervals}
