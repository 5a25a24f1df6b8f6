"""What the enforcer did, act by act, as the public views tell it; each in a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from enforcer.explain import CLASSES
from ledger.store.protocol import Store, Value
from tenure.cli.queries import read
from tenure.cli.text import gpu_hours, gpus, of_gpus, plural, when

PROTECTION: Final = {class_.name.lower(): told for class_, told in CLASSES.items()}
"""A run's class as a victim, by its name in the views."""
HOW: Final = {"requeue": "put back into the queue", "cancel": "cancelled"}

Row = dict[str, Any]
"""A row of a public view under its column names (docs/sql.md)."""


class Acted(NamedTuple):
    """One act: the row of the log, its plan, and the run it is about, if it is about one."""

    row: Row
    plan: Row
    run: Row | None

    @property
    def sentence(self) -> str:
        """What was done, with its numbers."""
        match self.row["act"]:
            case "plan":
                return planned(self.plan)
            case "order":
                return ordered(self.run or {})
            case "outcome":
                assert self.run is not None
                return f"{self.run['outcome']}: {self.run['sentence']}"
            case "hold":
                return held(self.plan)
            case _:
                return ended(self.plan)


def acts(store: Store, wanted: Mapping[str, Value]) -> list[Acted]:
    """The acts asked for, the latest first."""
    rows = store.query(read("enforcement_log"), dict(wanted)).dicts()
    asked: dict[str, Value] = {"cluster": wanted["cluster"], "plans": sorted({str(row["plan"]) for row in rows})}
    plans = {row["plan"]: row for row in store.query(read("plans_named"), asked).dicts()}
    runs = {(row["plan"], row["run"]): row for row in store.query(read("plans_runs"), asked).dicts()}
    return [Acted(row, plans[row["plan"]], runs.get((row["plan"], f"{row['job']}/{row['attempt']}"))) for row in rows]


def planned(plan: Row) -> str:
    """For whom a plan makes room, and what it costs whom."""
    must = ("has" if plan["victims"] == 1 else "have") if plan["mode"] == "enforce" else "would have"
    runs = plural(plan["victims"], "run")
    cost = f"{runs} {must} to leave, {gpu_hours(plan['lost_gpu_ms'])} GPU-hours of work lost"
    if plan["purpose"] == "drain":
        return f"{node_of(plan)} drains: {cost}"
    fits = f"it then fits on {', '.join(plan['host_nodes'])}"
    return f"room for {plan['job']} ({plan['account']}, {shape(plan)}) by {plan['rule']}: {cost}; {fits}"


def node_of(plan: Row) -> str:
    """The node that a drain empties, which is in the plan's name."""
    return str(plan["plan"]).split("/", 2)[2]


def shape(plan: Row) -> str:
    """`2 × 8 GPUs`."""
    return f"{plan['pieces']} × {of_gpus(plan['piece_milli'])}"


def ordered(run: Row) -> str:
    """What a run is told."""
    whose = f"{run['account']}, {PROTECTION[run['class']]}" if run["account"] else "unfunded"
    is_to = f"is to be {HOW[run['how']]} within {run['grace_s']} s"
    return f"{run['run']} ({whose}, {of_gpus(run['gpus_milli'])}) {is_to}"


def held(plan: Row) -> str:
    """What is kept for whom."""
    rooms = zip(plan["host_nodes"], plan["host_gpus_milli"], strict=True)
    where = ", ".join(f"{node} ({gpus(milli)} GPUs)" for node, milli in rooms)
    handle = f", as {plan['handle']}" if plan["handle"] else ""
    return f"room is kept for {plan['job']} on {where} until {when(plan['held_until'])}{handle}"


def ended(plan: Row) -> str:
    """Why a plan is over."""
    wasted = f" {gpu_hours(plan['wasted_gpu_ms'])} GPU-hours were kept for nothing." if plan["wasted_gpu_ms"] else ""
    return f"{plan['state']}: {plan['sentence']}{wasted}"
