"""A job's life as dated sentences. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from ledger.units import epoch_s
from tenure.cli.acting import ended, held, ordered
from tenure.cli.explaining import Explained, Loss, Row, size
from tenure.cli.reasons import Reason, for_whom, place, who_yields
from tenure.cli.text import duration, gpu_hours, of_gpus, when
from tenure.cli.why import CLASSES, FLAGS, FUNDING, OUTCOMES


class Told(NamedTuple):
    """One sentence, and the instant it is about."""

    at: datetime
    sentence: str


def story(known: Explained) -> list[Told]:
    """What happened, in the order it did."""
    told = [*_submitted(known), *(t for run in known.runs for t in _attempt(run))]
    told += [t for reason in known.asked for t in _asked(reason)]
    told += [t for reason, run in known.yielded for t in _yielded(reason, run)]
    told += [_lost(loss) for loss in known.losses]
    told += [_moved(row) for row in known.reassigned]
    told += [_corrected(row) for row in known.corrections]
    told += [Told(row["recorded_at"], f"remark {row['name']}: {row['sentence']}") for row in known.remarks]
    return sorted(told, key=lambda t: t.at)


def _submitted(known: Explained) -> Iterator[Told]:
    job = known.job
    if job is None or job["submitted_at"] is None:
        return
    asked = f"submitted by {job['user']} for {job['account'] or 'no account'}: {of_gpus(job['gpus_milli'])}"
    if job["min_runtime_s"]:
        asked += f", minimum runtime {duration(job['min_runtime_s'])}"
    yield Told(job["submitted_at"], asked + (", resumable" if job["resumable"] else ""))


def _attempt(run: Row) -> Iterator[Told]:
    funded = f"funded by {run['ledger_account']}" if run["funded"] else f"unfunded: {FUNDING[run['funding_reason']]}"
    waited = f" after {duration(run['wait_s'])}" if run["wait_s"] is not None else ""
    end, contract = run["ended_at"], run["contract_end"]
    safe = f", protected until {when(contract)}" if run["funded"] and contract is not None else ""
    where = size(run).split(" on ")[1]
    yield Told(run["started_at"], f"attempt {run['ordinal']} starts{waited} on {where}, {funded}{safe}")
    if run["funded"] and contract is not None and (run["class"] != "protected" if end is None else contract < end):
        yield Told(contract, f"its minimum runtime is banked: {CLASSES['interruptible'].partition(': ')[2]}")
    if end is None:
        return
    told = f"attempt {run['ordinal']} {OUTCOMES.get(run['outcome'], run['outcome'] or 'ends')}"
    told += f" after {duration(run['elapsed_s'])}"
    if run["suspended_s"]:
        told += f", {duration(run['suspended_s'])} of them suspended"
    if run["exit_code"]:
        told += f", exit code {run['exit_code']}"
    if run["refunded_gpu_ms"]:
        told += f"; {gpu_hours(run['refunded_gpu_ms'])} GPU-hours are given back"
    yield Told(end, told + "".join(f"; {FLAGS.get(flag, flag)}" for flag in run["flags"]))


def _lost(loss: Loss) -> Told:
    since = "its last checkpoint" if loss.checkpointed else "its start"
    told = f"it lost {gpu_hours(loss.lost_gpu_ms)} GPU-hours of work since {since} at {when(loss.since)}"
    if loss.successors:
        names = [f"{s['job']} ({s['account'] or 'no account'}, {of_gpus(s['gpus_milli'])})" for s in loss.successors]
        told += f"; next on its nodes: {', '.join(names[:2])}"
    if loss.next is not None:
        after = duration(epoch_s(loss.next["started_at"]) - epoch_s(loss.run["ended_at"]))
        told += f"; it goes on as attempt {loss.next['ordinal']}, {after} later"
    return Told(loss.run["ended_at"], told)


def _asked(reason: Reason) -> Iterator[Told]:
    """A plan that was made for it, and what came of it."""
    plan, stands = reason.plan, place(reason)
    at = f", at {stands}" if stands else ""
    who = "who leaves" if reason.enforces else "only told, who would leave"
    yield Told(plan["committed_at"], f"plan {plan['plan']} makes room for it{at}; {who}: {who_yields(reason)}")
    if plan["held_at"] is not None:
        yield Told(plan["held_at"], held(plan))
    if plan["expired_at"] is not None:
        yield Told(plan["expired_at"], f"that plan is over, {ended(plan)}")


def _yielded(reason: Reason, run: Row) -> Iterator[Told]:
    """A plan by which one of its runs has to leave, and what came of the order."""
    plan, whom = reason.plan, for_whom(reason.plan)
    if run["issued_at"] is None:
        must = ": {} is to leave" if reason.enforces else ", only told: {} would leave"
        told = f"plan {plan['plan']}{must.format(run['run'])} for {whom} by {run['rule']}"
        yield Told(plan["committed_at"], told)
        return
    yield Told(run["issued_at"], f"{ordered(run)}, for {whom} by {run['rule']}, plan {plan['plan']}")
    if run["settled_at"] is not None:
        yield Told(run["settled_at"], f"that order is settled, {run['outcome']}: {run['sentence']}")


def _moved(row: Row) -> Told:
    why = f": {row['reason']}" if row["reason"] else ""
    return Told(row["recorded_at"], f"{row['author']} moved it {row['detail']}{why}")


def _corrected(row: Row) -> Told:
    hours = (epoch_s(row["until"]) - epoch_s(row["since"])) // 3_600
    what = f"{row['type'].removeprefix('tenure.').removesuffix('.v1')} of {when(row['occurred_at'])}"
    changes = [
        f"{name} {'+' if row[field] > 0 else '-'}{gpu_hours(abs(row[field]))}"
        for name, field in (
            ("charged", "charge_gpu_ms"),
            ("refunded", "refund_gpu_ms"),
            ("occupied", "occupied_gpu_ms"),
        )
        if row[field]
    ]
    moved = ", ".join(changes) or "only its class changed"
    return Told(
        row["recorded_at"], f"correction of {hours} closed hours by {what} ({row['source']}): {moved} GPU-hours"
    )
