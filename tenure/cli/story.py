"""A job's life as dated sentences. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from ledger.units import epoch_s
from tenure.cli.explaining import Explained, Loss, Row, size
from tenure.cli.text import duration, gpu_hours, of_gpus, when
from tenure.cli.why import CLASSES, FLAGS, FUNDING, OUTCOMES


class Told(NamedTuple):
    """One sentence, and the instant it is about."""

    at: datetime
    sentence: str


def story(known: Explained) -> list[Told]:
    """What happened, in the order it did."""
    told = [*_submitted(known), *(t for run in known.runs for t in _attempt(run))]
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
    yield Told(run["started_at"], f"attempt {run['ordinal']} starts{waited} on {size(run).split(' on ')[1]}, {funded}")
    end, contract = run["ended_at"], run["contract_end"]
    if run["funded"] and contract is not None and (end is None or contract < end):
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
    return Told(loss.run["ended_at"], told)


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
