"""`tenure plans`: what enforcement would do now, and for whom."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.table import Table

from enforcer.explain import CLASSES, sentences
from enforcer.plan import Plan, Victim
from enforcer.preview import Emptied, preview
from enforcer.writing import DRAIN
from tenure.cli import options, output
from tenure.cli.desk import reading
from tenure.cli.text import NONE, below_root, duration, gpu_hours, gpus, of_gpus, plural, ratio


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
        made, _ = preview(desk.state(name), pool)
        watermarks, caption = desk.watermarks(), desk.as_of(name)
    if as_json:
        output.emit({"watermarks": watermarks, "cluster": name, "plans": [_json(p, it) for p, it in made]})
        return
    if made:
        output.show(_table(name, made))
    for _, it in made:
        output.say()
        for sentence in _sentences(it):
            output.tell(sentence)
    told = plural(len(made), "plan") if made else "Nobody would have to yield"
    output.tell(f"{told}. {caption}")


def _sentences(it: Plan | Emptied) -> Iterator[str]:
    if isinstance(it, Plan):
        yield from sentences(it)
        return
    yield it.why
    for victim in it.victims:
        unit = victim.unit
        whose = f"{unit.account or 'unfunded'}, {of_gpus(unit.gpus_milli)}"
        yield f"{unit.name} ({whose}) loses {gpu_hours(unit.lost_gpu_ms)} GPU-hours."


def _table(cluster: str, made: list[tuple[str, Plan | Emptied]]) -> Table:
    columns = ("*Job", "*Pool", "~Account", ">GPUs", ">Contract", "*Rule", ">Yield", ">Lost GPU-h", ">ρ then")
    table = output.table(f"Who would be made room for in {cluster}", *columns)
    return output.fill(table, [_row(pool, it) for pool, it in made])


def _row(pool: str, it: Plan | Emptied) -> list[str]:
    yielding, lost = plural(len(it.victims), "unit"), gpu_hours(it.lost_gpu_ms)
    if isinstance(it, Emptied):
        return [f"node {it.node}", pool, NONE, NONE, NONE, DRAIN, yielding, lost, NONE]
    asker = it.asker
    terms = [below_root(asker.account), gpus(asker.gpus_milli), duration(asker.min_runtime_s)]
    return [asker.job, pool, *terms, it.rule, yielding, lost, ratio(it.after[-1][1])]


def _json(pool: str, it: Plan | Emptied) -> dict[str, Any]:
    if isinstance(it, Plan):
        return plan_json(pool, it)
    return {
        "pool": pool,
        "job": None,
        "node": it.node,
        "account": None,
        "gpus_milli": None,
        "rule": DRAIN,
        "lost_gpu_ms": it.lost_gpu_ms,
        "hosts": [],
        "victims": [_victim(victim) for victim in it.victims],
        "explanation": list(_sentences(it)),
    }


def plan_json(pool: str, it: Plan) -> dict[str, Any]:
    """A plan for programs."""
    return {
        "pool": pool,
        "job": it.asker.job,
        "node": None,
        "account": it.asker.account,
        "gpus_milli": it.asker.gpus_milli,
        "rule": it.rule,
        "lost_gpu_ms": it.lost_gpu_ms,
        "hosts": [{"node": name, "gpus_milli": pieces * it.asker.piece_milli} for name, pieces in it.hosts],
        "victims": [_victim(victim) for victim in it.victims],
        "explanation": list(sentences(it)),
    }


def _victim(victim: Victim) -> dict[str, Any]:
    return {
        "runs": [{"job": job, "attempt": attempt} for job, attempt in victim.unit.runs],
        "account": victim.unit.account,
        "class": CLASSES[victim.class_],
        "rule": victim.rule,
        "gpus_milli": victim.unit.gpus_milli,
        "lost_gpu_ms": victim.unit.lost_gpu_ms,
    }
