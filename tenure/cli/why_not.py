"""`tenure why-not`: the gate a waiting job fails, and when that could change."""

from __future__ import annotations

from typing import Annotated, Any, Final

import typer

from enforcer.explain import CLOSED, sentences
from ledger.units import instant
from tenure.cli import exits, options, output
from tenure.cli.desk import Desk, reading
from tenure.cli.explain import cluster_of
from tenure.cli.plans import plan_json
from tenure.cli.queries import read
from tenure.cli.text import NONE, when
from tenure.cli.verdicts import DONE, Verdict, json_of, told, verdict

WAITS: Final = frozenset({"pending", "held"})
"""States of a job that waits, now or once it is released."""


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
        found = verdict(lambda: desk.state(name), job)
        state, sentence = ("waiting", "") if found is not None else _elsewhere(desk, name, job)
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


def _elsewhere(desk: Desk, cluster: str, job: str) -> tuple[str, str]:
    """What a job does that does not wait; stops where nobody knows it."""
    asked = {"cluster": cluster, "job": job}
    runs = desk.store.query(read("job_runs"), asked).dicts()
    known = desk.store.query(read("job"), asked).dicts()
    if not runs and not known:
        raise exits.Stop(f"{job}: no such job in the book; `tenure queue` lists those that wait", exits.NOTHING)
    last: dict[str, Any] = runs[-1] if runs else {"ended_at": None, "outcome": "it never started"}
    if runs and last["ended_at"] is None:
        safe = f", protected until {when(last['contract_end'])} UTC" if last["class"] == "protected" else ""
        return "running", f"{job} runs since {when(last['started_at'])} UTC{safe}: nobody has to yield to it."
    if known and known[0]["state"] in WAITS:
        return "not_looked_at", f"{job} began to wait after the last tick, and nobody has looked at it yet."
    return "ended", f"{job} is over ({last['outcome']}): `tenure explain {job}` tells its story."


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
