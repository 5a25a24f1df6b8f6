"""`tenure plans`: what enforcement would do now, and for whom."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from enforcer.explain import CLASSES, sentences
from enforcer.gates import Refusal
from enforcer.gather import snapshots
from enforcer.plan import Plan, plan
from enforcer.rules import rules_of
from ledger.state import State
from tenure.cli import options, output
from tenure.cli.desk import reading
from tenure.cli.text import below_root, duration, gpu_hours, gpus, plural, ratio

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
        made, _ = planned(desk.state(name), pool)
        watermarks, caption = desk.watermarks(), desk.as_of(name)
    if as_json:
        output.emit({"watermarks": watermarks, "cluster": name, "plans": [plan_json(p, it) for p, it in made]})
        return
    if made:
        output.show(_table(name, made))
    for _, it in made:
        output.say()
        for sentence in sentences(it):
            output.tell(sentence)
    told = plural(len(made), "plan") if made else "Nobody would have to yield"
    output.tell(f"{told}. {caption}")


def planned(state: State, pool: str | None) -> Found:
    """By pool, the plans of the last tick, and why others get none."""
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


def plan_json(pool: str, it: Plan) -> dict[str, Any]:
    """A plan for programs."""
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
