"""`tenure why-not`: the gate a waiting job fails, and when that could change."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from enforcer.explain import CLOSED, sentences
from enforcer.gather import snapshot_of
from enforcer.outlook import earliest
from enforcer.rules import rules_of
from ledger.standing import QueueEntry, queue
from ledger.units import instant
from tenure.cli import exits, options, output
from tenure.cli.desk import Desk, reading
from tenure.cli.explain import cluster_of
from tenure.cli.plans import plan_json, planned
from tenure.cli.queries import read
from tenure.cli.text import NONE, when
from tenure.cli.verdicts import DONE, NO_TIME, Verdict, json_of, told


def why_not(
    job: Annotated[str, typer.Argument(metavar="JOB", help="A job that waits.")],
    cluster: options.Cluster = None,
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Say why nobody yields to a waiting job: the gate it fails, and when that could change."""
    with reading(data, config) as desk:
        name = cluster_of(desk, job, cluster)
        entry = next((e for e in queue(desk.state(name)) if e.job.job == job), None)
        found = _judged(desk, name, entry) if entry is not None else None
        state, sentence = ("waiting", "") if entry is not None else _elsewhere(desk, name, job)
        watermarks, caption = desk.watermarks(), desk.as_of(name)
    if as_json:
        head: dict[str, Any] = {"watermarks": watermarks, "cluster": name, "job": job, "state": state}
        output.emit(head | _json(found))
        return
    if found is None:
        output.tell(sentence)
    else:
        _tell(found)
    output.tell(caption)


def _judged(desk: Desk, cluster: str, entry: QueueEntry) -> Verdict:
    """The job before the gates, after all that are ahead of it."""
    state, job = desk.state(cluster), entry.job.job
    policy = state.policy_at(state.ticked_s)
    if entry.ranked is None:
        return Verdict(entry, state.ticked_s, policy.enforcement)
    made, refused = planned(state, entry.pool)
    refusal = next((it for _, it in refused if it.job == job), None)
    by_time = refusal is not None and refusal.name not in NO_TIME
    return Verdict(
        entry,
        state.ticked_s,
        policy.enforcement,
        next((it for _, it in made if it.asker.job == job), None),
        refusal,
        state.acts.open_for(job),
        earliest(desk.state(cluster), entry.pool, job) if by_time else None,
        snapshot_of(state, entry.pool),
        rules_of(policy),
    )


def _elsewhere(desk: Desk, cluster: str, job: str) -> tuple[str, str]:
    """What a job does that does not wait; stops where nobody knows it."""
    asked = {"cluster": cluster, "job": job}
    runs = desk.store.query(read("job_runs"), asked).dicts()
    if not runs and not desk.store.query(read("job"), asked).dicts():
        raise exits.Stop(f"{job}: no such job in the book; `tenure queue` lists those that wait", exits.NOTHING)
    last: dict[str, Any] = runs[-1] if runs else {"ended_at": None, "outcome": ""}
    if runs and last["ended_at"] is None:
        safe = f", protected until {when(last['contract_end'])} UTC" if last["class"] == "protected" else ""
        told_ = f"{job} runs since {when(last['started_at'])} UTC{safe}: nobody has to yield to it."
        return "running", told_
    return "ended", f"{job} is over ({last['outcome'] or 'it never started'}): `tenure explain {job}` tells its story."


def _tell(found: Verdict) -> None:
    if found.plan is not None:
        for sentence in sentences(found.plan):
            output.tell(sentence)
        output.tell(DONE[found.enforcement])
    for sentence in told(found):
        output.tell(sentence)
    if found.refusal is not None and found.refusal.closed:
        table = output.table("Closed to it", ">Units", "Why")
        output.show(output.fill(table, [[str(n), CLOSED.get(why, NONE)] for why, n in found.refusal.closed]))


def _json(found: Verdict | None) -> dict[str, Any]:
    if found is None:
        return {"pool": None, "plans": [], "refusals": [], "open_plan": None, "earliest": None, "told": []}
    pool, refusal = found.entry.pool, found.refusal
    return {
        "pool": pool,
        "reason": found.entry.reason,
        "plans": [plan_json(pool, found.plan)] if found.plan is not None else [],
        "refusals": [
            {
                "pool": pool,
                "gate": refusal.gate,
                "name": refusal.name,
                "sentence": refusal.sentence,
                "until_s": refusal.until_s,
                "until": None if refusal.until_s is None else output.iso(instant(refusal.until_s)),
                "closed": dict(refusal.closed),
            }
        ]
        if refusal is not None
        else [],
        "open_plan": None if found.open is None else found.open.made.plan,
        "earliest": json_of(found.earliest),
        "told": list(told(found)),
    }
