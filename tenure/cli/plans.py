"""`tenure plans` and `tenure why-not`: what enforcement would do now, for whom, and why for others nothing."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.table import Table

from enforcer.explain import CLASSES, CLOSED, sentences
from enforcer.gates import Refusal
from enforcer.gather import snapshots
from enforcer.plan import Plan, plan
from enforcer.rules import rules_of
from ledger.state import State
from tenure.cli import exits, options, output
from tenure.cli.desk import reading
from tenure.cli.text import NONE, below_root, duration, gpu_hours, gpus, moment, plural, ratio

Found = tuple[list[tuple[str, Plan]], list[tuple[str, Refusal]]]


def plans(
    cluster: options.Cluster = None,
    pool: options.Pool = None,
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Show who would yield to whom at the last tick, and why. Nothing is done: it is what enforcement would decide."""
    with reading(data, config) as desk:
        name = desk.cluster(cluster)
        made, _ = _planned(desk.state(name), pool)
        watermarks, caption = desk.watermarks(), desk.as_of(name)
    if as_json:
        output.emit({"watermarks": watermarks, "cluster": name, "plans": [_json(p, it) for p, it in made]})
        return
    if made:
        output.show(_table(name, made))
    for _, it in made:
        output.say()
        for sentence in sentences(it):
            output.tell(sentence)
    told = plural(len(made), "plan") if made else "Nobody would have to yield"
    output.tell(f"{told}. {caption}")


def why_not(
    job: Annotated[str, typer.Argument(metavar="JOB", help="A job that waits.")],
    cluster: options.Cluster = None,
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Say why nobody yields to a waiting job: the gate it fails, and when that could change."""
    with reading(data, config) as desk:
        name = desk.cluster(cluster)
        made, refused = _planned(desk.state(name), None)
        watermarks, caption = desk.watermarks(), desk.as_of(name)
    mine = [it for _, it in made if it.asker.job == job]
    gates = [it for _, it in refused if it.job == job]
    if not mine and not gates:
        raise exits.Stop(
            f"{job} does not wait in {name} with a place in line: see `tenure explain {job}`", exits.NOTHING
        )
    if as_json:
        shown: dict[str, Any] = {"watermarks": watermarks, "cluster": name, "job": job}
        output.emit({**shown, "plans": [_json("", it) for it in mine], "refusals": [_refusal_json(it) for it in gates]})
        return
    for it in mine:
        for sentence in sentences(it):
            output.tell(sentence)
    for refused_ in gates:
        _tell(refused_)
    output.tell(caption)


def _planned(state: State, pool: str | None) -> Found:
    made: list[tuple[str, Plan]] = []
    refused: list[tuple[str, Refusal]] = []
    rules = rules_of(state.policy_at(state.ticked_s))
    for name, snapshot in snapshots(state).items():
        if pool is None or name == pool:
            found, others = plan(snapshot, rules)
            made += [(name, it) for it in found]
            refused += [(name, it) for it in others]
    return made, refused


def _table(cluster: str, made: list[tuple[str, Plan]]) -> Table:
    columns = ("*Job", "*Pool", "~Account", ">GPUs", ">Contract", "*Rule", ">Yield", ">Lost GPU-h", ">ρ then")
    table = output.table(f"Who would be made room for in {cluster}", *columns)
    rows = [
        [
            it.asker.job,
            pool,
            below_root(it.asker.account),
            gpus(it.asker.gpus_milli),
            duration(it.asker.min_runtime_s),
            it.rule,
            plural(len(it.victims), "unit"),
            gpu_hours(it.lost_gpu_ms),
            ratio(it.after[-1][1]),
        ]
        for pool, it in made
    ]
    return output.fill(table, rows)


def _tell(refused: Refusal) -> None:
    output.tell(f"{refused.job} fails {refused.gate} ({refused.name}): {refused.sentence}.")
    if refused.until_s is not None:
        output.tell(f"That changes at {moment(refused.until_s)} UTC by itself.")
    if refused.closed:
        table = output.table("Closed to it", ">Units", "~Why")
        output.show(output.fill(table, [[str(n), CLOSED.get(why, NONE)] for why, n in refused.closed]))


def _json(pool: str, it: Plan) -> dict[str, Any]:
    return {
        "pool": pool,
        "job": it.asker.job,
        "account": it.asker.account,
        "gpus_milli": it.asker.gpus_milli,
        "rule": it.rule,
        "lost_gpu_ms": it.lost_gpu_ms,
        "hosts": [{"node": name, "gpus_milli": pieces * it.asker.piece_milli} for name, pieces in it.hosts],
        "victims": [
            {
                "runs": [{"job": job, "attempt": attempt} for job, attempt in victim.unit.runs],
                "account": victim.unit.account,
                "class": CLASSES[victim.class_],
                "rule": victim.rule,
                "gpus_milli": victim.unit.gpus_milli,
                "lost_gpu_ms": victim.unit.lost_gpu_ms,
            }
            for victim in it.victims
        ],
        "explanation": list(sentences(it)),
    }


def _refusal_json(it: Refusal) -> dict[str, Any]:
    told = {"gate": it.gate, "name": it.name, "sentence": it.sentence, "until_s": it.until_s}
    return {**told, "closed": dict(it.closed)}
