"""`tenure explain`: one job, and why."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer
from rich.table import Table

from ledger.standing import REASONS
from tenure.cli import exits, options, output, reasons
from tenure.cli.desk import Desk, reading
from tenure.cli.explaining import Explained, Loss, Row, Waiting, comparison, gather, waiting
from tenure.cli.queries import read
from tenure.cli.queue import entry_json
from tenure.cli.reasons import for_whom, reason_json
from tenure.cli.story import story
from tenure.cli.text import NONE, count, duration, gpu_hours, gpus, moment, of_gpus, percent, plural, ratio, when
from tenure.cli.why import CLASSES, FUNDING


def explain(
    job: Annotated[str, typer.Argument(metavar="JOB", help="The job's id, as its scheduler names it.")],
    cluster: options.Cluster = None,
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Tell a job's story: is it safe, until when, what was it charged, why does it wait, why was it stopped."""
    with reading(data, config) as desk:
        known = explained(desk, job, cluster)
        watermarks, caption = desk.watermarks(), desk.as_of(known.cluster)
    if as_json:
        output.emit({"watermarks": watermarks, **as_report(known)})
        return
    tell(known)
    output.tell(caption)


def explained(desk: Desk, job: str, cluster: str | None) -> Explained:
    """All that is known of the job; stops where nobody knows it."""
    known = gather(desk.store, cluster_of(desk, job, cluster), job)
    if known is None:
        raise exits.Stop(f"{job}: no such job in the book; `tenure jobs` lists those there are", exits.NOTHING)
    return replace(known, waiting=waiting(desk.state(known.cluster), job)) if known.waits else known


def cluster_of(desk: Desk, job: str, cluster: str | None) -> str:
    """The cluster named, or the one that knows the job."""
    if cluster is not None or desk.settings.cluster is not None:
        return desk.cluster(cluster)
    found = [str(name) for (name,) in desk.store.query(read("job_clusters"), {"job": job}).rows]
    if len(found) > 1:
        raise exits.Stop(f"several clusters know a job {job}: say --cluster with one of {', '.join(found)}")
    return found[0] if found else next(iter(desk.checkpoints))


# ---------------------------------------------------------------- for people


def tell(known: Explained) -> None:
    """The job, where it stands, its attempts, its story, and why it waits."""
    output.say(f"Job {known.name} on {known.cluster}", style="bold")
    if known.job is not None:
        output.say(_asked(known.job))
    output.say(_now(known))
    if known.runs:
        output.say()
        output.show(_attempts(known))
        if known.last is not None and known.last["ended_at"] is None:
            output.say("What is charged of the attempt that runs is what closed hours hold.")
        if known.sampled_gpu_ms:
            output.say(_use(known))
    output.say()
    output.say("Story", style="bold")
    for told in story(known):
        output.wrapped(f"{when(told.at)}  ", told.sentence)
    _tell_reasons(known)
    if known.waiting is not None:
        _tell_waiting(known.waiting)
    output.say()


def _asked(job: Row) -> str:
    shape = f" ({job['shape_nodes']} × {gpus(job['shape_gpus_milli'])})" if job["shape_nodes"] else ""
    asked = f"{job['kind']}, {of_gpus(job['gpus_milli'])}{shape} {job['gpu_type'] or 'of any type'}"
    asked += f", for {job['account'] or 'no account'}, by {job['user']}"
    contract = duration(job["min_runtime_s"]) if job["min_runtime_s"] else "none"
    resumable = "resumable" if job["resumable"] else "not resumable"
    return f"{asked}\nminimum runtime {contract}, {resumable}, priority {job['priority']}"


def _now(known: Explained) -> str:
    """Is it safe, and until when."""
    last = known.last
    if known.job is not None and known.job["state"] == "held":
        return "Now: held in the queue."
    if known.waits:
        return "Now: waiting."
    if last is None:
        outcome = known.job["outcome"] if known.job is not None else ""
        return f"Now: ended without a start ({outcome})." if outcome else "Now: not started."
    if last["ended_at"] is not None:
        return f"Now: ended, {last['outcome']}."
    if last["class"] == "protected":
        until = f"until {when(last['contract_end'])} UTC" if last["contract_end"] is not None else "while it is paused"
        return f"Now: running, protected {until}; nobody may stop it before."
    because = FUNDING[last["funding_reason"]] if last["class"] == "unfunded" else CLASSES["interruptible"]
    return f"Now: running, {last['class']}: {because}."


def _attempts(known: Explained) -> Table:
    made = output.table(
        "Attempts, GPU-hours",
        ">#",
        "*Started",
        "*Ended",
        "*Outcome",
        ">GPUs",
        ">Ran",
        "*Class",
        ">Held",
        ">Charged",
        ">Refund",
    )
    for run in known.runs:
        output.fill(
            made,
            [
                [
                    str(run["ordinal"]),
                    f"{run['started_at']:%m-%d %H:%M}",
                    f"{run['ended_at']:%m-%d %H:%M}" if run["ended_at"] is not None else NONE,
                    run["outcome"] or "running",
                    gpus(run["gpus_milli"]),
                    duration(run["elapsed_s"]),
                    run["class"],
                    gpu_hours(run["held_gpu_ms"]),
                    gpu_hours(charged_gpu_ms(run)),
                    gpu_hours(run["refunded_gpu_ms"]),
                ]
            ],
        )
    return made


def charged_gpu_ms(run: Row) -> int:
    """What a run was charged; of one that lasts, what is posted in closed hours."""
    known = run["charged_gpu_ms"] if run["charged_gpu_ms"] is not None else run["posted_charge_gpu_ms"]
    return int(known or 0)


def _use(known: Explained) -> str:
    held = sum(run["held_gpu_ms"] for run in known.runs)
    used = percent(known.utilized_gpu_ms, known.sampled_gpu_ms)
    idle = gpu_hours(known.idle_gpu_ms)
    coverage = percent(known.sampled_gpu_ms, held)
    return f"Utilization {used}, idle {idle} GPU-hours; samples cover {coverage} of its time."


def _tell_reasons(known: Explained) -> None:
    """The last plan by which it had to leave, and the last that was made for it, with their numbers."""
    for reason, run in [pair for pair in known.yielded if pair[0].enforces][-1:]:
        reasons.tell(reason, f"Why {run['run']} had to leave for {for_whom(reason.plan)}")
    for reason in known.asked[-1:]:
        reasons.tell(reason, f"The last plan for it, {reason.plan['plan']}: {reason.plan['state']}")


def _tell_waiting(waits: Waiting) -> None:
    entry = waits.entry
    output.say()
    output.say("Why it waits", style="bold")
    output.say(
        f"Since {moment(entry.since_s)} UTC, {duration(max(0, waits.at_s - entry.since_s))}: {REASONS[entry.reason]}."
    )
    if entry.funding_reason:
        output.say(f"No budget pays for it: {FUNDING[entry.funding_reason]}.")
    if entry.eligible_s is not None:
        output.say(f"It may start from {moment(entry.eligible_s)} UTC on.")
    for s in entry.slots:
        output.say(f"{s.account} runs {gpus(s.running_milli)} of at most {gpus(s.limit_milli)} GPUs.")
    if entry.ranked is None:
        return
    ask = "asks" if waits.ahead_count == 1 else "ask"
    ahead = f"behind {plural(waits.ahead_count, 'job')} that {ask} for {of_gpus(waits.ahead_gpus_milli)}"
    output.say(
        f"Rank {count(entry.ranked.position)} in {entry.pool}, {ahead if waits.ahead_count else 'first in line'}."
    )
    if entry.ranked.path:
        made = output.table("ρ on its path", "*Account", ">ρ", ">Used", ">Committed", ">Claim, GPU-hours")
        for account, value in entry.ranked.path:
            parts = (value.used_gpu_ms, value.committed_gpu_ms, value.claim_gpu_ms)
            output.fill(made, [[account, ratio(value), *map(gpu_hours, parts)]])
        output.show(made)
    for other in waits.ahead:
        assert other.ranked is not None
        whom = f"#{other.ranked.position}  {other.job.job} ({other.terms.account or 'no account'}): "
        output.wrapped(whom, comparison(entry.ranked, other.ranked))


# ---------------------------------------------------------------- for programs


def as_report(known: Explained) -> output.Report:
    """The explanation for programs."""
    waits = known.waiting
    last = known.last
    running = last is not None and last["ended_at"] is None
    return {
        "cluster": known.cluster,
        "job": known.name,
        "terms": known.job,
        "now": {
            "state": known.job["state"] if known.job is not None else ("running" if running else "ended"),
            "class": last["class"] if running and last is not None else None,
            "protected_until": last["contract_end"] if running and last and last["class"] == "protected" else None,
            "sentence": _now(known),
        },
        "runs": known.runs,
        "losses": [_loss_json(loss) for loss in known.losses],
        "asked": [reason_json(reason) for reason in known.asked],
        "yielded": [reason_json(reason) | {"run": run} for reason, run in known.yielded],
        "story": [{"at": told.at, "sentence": told.sentence} for told in story(known)],
        "corrections": known.corrections,
        "remarks": known.remarks,
        "reassigned": known.reassigned,
        "samples": {
            "sampled_gpu_ms": known.sampled_gpu_ms,
            "utilized_gpu_ms": known.utilized_gpu_ms,
            "idle_gpu_ms": known.idle_gpu_ms,
        },
        "waiting": None if waits is None else _waiting_json(waits),
    }


def _loss_json(loss: Loss) -> output.Report:
    return {
        "run": loss.run["run"],
        "lost_gpu_ms": loss.lost_gpu_ms,
        "since": loss.since,
        "checkpointed": loss.checkpointed,
        "successors": loss.successors,
        "next_attempt": loss.next["attempt"] if loss.next is not None else None,
    }


def _waiting_json(waits: Waiting) -> output.Report:
    mine = waits.entry.ranked
    ahead = [
        entry_json(e) | {"because": comparison(mine, e.ranked)}
        for e in waits.ahead
        if mine is not None and e.ranked is not None
    ]
    return entry_json(waits.entry) | {
        "ahead_count": waits.ahead_count,
        "ahead_gpus_milli": waits.ahead_gpus_milli,
        "ahead": ahead,
    }
