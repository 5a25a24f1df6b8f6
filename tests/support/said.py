"""Events as short sentences, for tests: one cluster, times as text on one Monday."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from ledger.events import EVENT
from ledger.statements import digest
from ledger.units import epoch_s

CLUSTER = "c"
MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
SOURCE = "test"

_TIME = re.compile(r"(?:day (?P<day>-?\d+) )?(?P<h>\d\d):(?P<m>\d\d)(?::(?P<s>\d\d(?:\.\d+)?))?$")


def t(text: str) -> datetime:
    """`08:10`, `08:10:30.5`, or `day 40 08:10`; day 1 is the Monday, day 0 the Sunday before."""
    found = _TIME.match(text)
    assert found is not None, f"not a time: {text!r}"
    day = int(found["day"] or 1) - 1
    seconds = float(found["s"] or 0)
    return MONDAY + timedelta(days=day, hours=int(found["h"]), minutes=int(found["m"]), seconds=seconds)


def s(text: str) -> int:
    """The same as epoch second."""
    return epoch_s(t(text))


def say(
    kind: str, time: str, *, id: str | None = None, source: str = SOURCE, recorded: str | None = None, **data: Any
) -> Any:
    """One event as if it had come in; its id comes from what it says, so that saying it again is a repeat."""
    body = {"cluster": CLUSTER} | data
    told = id or f"{kind}-{digest([kind, time, repr(sorted(body.items()))]):032x}"[: len(kind) + 9]
    envelope = {"type": f"tenure.{kind}.v1", "id": told, "source": source, "time": t(time)}
    return EVENT.validate_python(envelope | {"recordedtime": t(recorded or time), "data": body})


def tick(time: str) -> Any:
    return say("clock.ticked", time, at=t(time))


def opens(time: str, said: str = "day 0 12:00", **policy: Any) -> Any:
    return say("policy.set", said, author="ann", opens_at=t(time), **policy)


def policy(time: str, **changes: Any) -> Any:
    return say("policy.set", time, author="ann", **changes)


def node(
    time: str, name: str = "n", gpus: float = 4, state: str = "available", gpu_type: str = "h100", **k: Any
) -> Any:
    milli = round(1000 * gpus)
    return say("node.observed", time, node=name, gpus_milli=milli, state=state, gpu_type=gpu_type, **k)


def shares(time: str, parent: str, children: dict[str, Any], revision: int = 0, **more: Any) -> Any:
    """`children` maps to a percent, or to (percent, slot limit in GPUs)."""
    lines = []
    for child, line in children.items():
        percent, limit = line if isinstance(line, tuple) else (line, None)
        slots = {} if limit is None else {"slot_limit_milli": round(1000 * limit)}
        lines.append({"child": child, "share_percent": percent} | slots)
    data: dict[str, Any] = {"author": "ann", "expected_revision": revision} | more
    return say("shares.set", time, parent=parent, children=lines, **data)


def grant(time: str, account: str, amount_gpu_ms: int, since: str, until: str, **more: Any) -> Any:
    data: dict[str, Any] = {"author": "ann", "gpu_type": "h100"} | more
    return say("grant.made", time, account=account, amount_gpu_ms=amount_gpu_ms, since=t(since), until=t(until), **data)


def maintenance(time: str, name: str, nodes: list[str], since: str, until: str, **more: Any) -> Any:
    data: dict[str, Any] = {"author": "ann", "window": name, "nodes": nodes} | more
    return say("maintenance.planned", time, since=t(since), until=t(until), **data)


def submitted(time: str, job: str = "j", gpus: float = 1, account: str | None = "lab/a", **more: Any) -> Any:
    data: dict[str, Any] = {"user": "ann", "min_runtime_s": 3600} | more
    return say("job.submitted", time, job=job, gpus_milli=round(1000 * gpus), account=account, **data)


def updated(time: str, job: str = "j", **more: Any) -> Any:
    return say("job.updated", time, job=job, **more)


def placed(**gpus: float) -> list[dict[str, Any]]:
    return [{"node": name, "gpus_milli": round(1000 * many)} for name, many in gpus.items()]


def started(time: str, job: str = "j", attempt: str = "1", *, on: dict[str, float] | None = None, **more: Any) -> Any:
    return say("job.started", time, job=job, attempt=attempt, placements=placed(**(on or {"n": 1})), **more)


def suspended(time: str, job: str = "j", attempt: str = "1", **more: Any) -> Any:
    return say("job.suspended", time, job=job, attempt=attempt, **more)


def resumed(time: str, job: str = "j", attempt: str = "1", **more: Any) -> Any:
    return say("job.resumed", time, job=job, attempt=attempt, **more)


def checkpointed(time: str, job: str = "j", attempt: str = "1", **more: Any) -> Any:
    return say("job.checkpointed", time, job=job, attempt=attempt, **more)


def ended(time: str, job: str = "j", attempt: str | None = "1", outcome: str = "succeeded", **more: Any) -> Any:
    data: dict[str, Any] = more if attempt is None else {"attempt": attempt} | more
    return say("job.ended", time, job=job, outcome=outcome, **data)


def run(
    time: str,
    job: str = "j",
    attempt: str = "1",
    *,
    start: str,
    end: str | None = None,
    on: dict[str, float] | None = None,
    **more: Any,
) -> Any:
    """A full statement of a run, by default funded and on one GPU of node n."""
    data: dict[str, Any] = {"user": "ann", "account": "lab/a", "min_runtime_s": 3600, "started_at": t(start)} | more
    if end is not None:
        data = {"ended_at": t(end), "outcome": "succeeded"} | data
    return say("run.observed", time, job=job, attempt=attempt, placements=placed(**(on or {"n": 1})), **data)


def reassigned(time: str, account: str, job: str = "j", attempt: str = "1") -> Any:
    return say("run.reassigned", time, author="ann", job=job, attempt=attempt, account=account)


def small_cluster() -> list[Any]:
    """From 08:00: four H100 on node n; lab/a has 60 %, lab/b 25 %, so lab/. 15 %."""
    return [opens("08:00"), node("08:00"), shares("08:00", "lab", {"a": 60, "b": 25})]


def committed(
    time: str,
    *victims: str,
    plan: str = "h100/1/ask",
    job: str | None = "ask",
    mode: str = "enforce",
    gpus: float = 4,
    **k: Any,
) -> Any:
    """A plan for a job of lab/a, or without one for a drain; victims are `job/attempt`."""
    asker = {"job": job, "account": "lab/a", "pieces": 1, "piece_milli": round(1000 * gpus), "min_runtime_s": 3600}
    data: dict[str, Any] = {
        "plan": plan,
        "pool": "h100",
        "purpose": "asker" if job else "drain",
        "mode": mode,
        "seq": 1,
        "at": t(time),
        "asker": asker if job else None,
        "victims": [
            {"job": v.split("/")[0], "attempt": v.split("/")[1], "protection": "unfunded", "rule": "R0"}
            | {"gpus_milli": round(1000 * gpus), "lost_gpu_ms": 7, "resumable": True}
            for v in victims
        ],
        "hosts": [{"node": "n", "gpus_milli": round(1000 * gpus)}],
        "rule": "R0",
        "sentences": ["ask asks for 4 GPUs."],
        "detail": "{}",
        "grace_s": 120,
        "hold_s": 300,
    }
    return _act("plan.committed", time, plan, **data | k)


def issued(time: str, run: str, plan: str = "h100/1/ask", how: str = "requeue", **k: Any) -> Any:
    job, attempt = run.split("/")
    return _act(
        "preemption.issued",
        time,
        f"{plan}/issued/{run}",
        plan=plan,
        job=job,
        attempt=attempt,
        how=how,
        **{"grace_s": 120} | k,
    )


def settled(time: str, run: str, outcome: str = "preempted", plan: str = "h100/1/ask", **k: Any) -> Any:
    job, attempt = run.split("/")
    run_of = {"plan": plan, "job": job, "attempt": attempt}
    return _act("preemption.settled", time, f"{plan}/settled/{run}", **run_of, outcome=outcome, **k)


def held(time: str, until: str, plan: str = "h100/1/ask", gpus: float = 4, **k: Any) -> Any:
    nodes = [{"node": "n", "gpus_milli": round(1000 * gpus)}]
    return _act("capacity.held", time, f"{plan}/held", plan=plan, nodes=nodes, until=t(until), **k)


def expired(time: str, why: str = "asker_started", plan: str = "h100/1/ask", **k: Any) -> Any:
    return _act("plan.expired", time, f"{plan}/expired", plan=plan, why=why, **k)


def _act(kind: str, time: str, id: str, **data: Any) -> Any:
    return say(kind, time, id=id, source="tenure/enforcer", **data)
