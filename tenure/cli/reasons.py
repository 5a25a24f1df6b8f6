"""The plans in which a job asked or had to yield, and why they were made, as the public views tell it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from rich.table import Table

from enforcer.explain import CLOSED, RULES, considered
from ledger.ranking import Ratio
from ledger.store.protocol import Store, Value
from tenure.cli import output
from tenure.cli.acting import PROTECTION, Row, node_of, shape
from tenure.cli.queries import read
from tenure.cli.text import count, gpu_hours, of_gpus, plural, ratio

NAMED: Final = 3
"""Runs that are named in a sentence; of more it is said how many."""


@dataclass(frozen=True, slots=True)
class Reason:
    """A plan with the runs it names. `detail` is what the enforcer wrote of its numbers; {} of a drain."""

    plan: Row
    runs: list[Row]

    @property
    def detail(self) -> dict[str, Any]:
        """Place in line, ratios, alternatives, what was closed (docs/events.md)."""
        found: dict[str, Any] = json.loads(self.plan["detail"] or "{}")
        return found

    @property
    def enforces(self) -> bool:
        """Whether it was carried out, and not only told."""
        return bool(self.plan["mode"] == "enforce")

    def run(self, job: str, attempt: str) -> Row | None:
        """A run as the plan names it."""
        return next((run for run in self.runs if (run["job"], run["attempt"]) == (job, attempt)), None)


def reasons(store: Store, cluster: str, job: str) -> list[Reason]:
    """The plans in which a job asked or had to yield, the earliest first."""
    plans = store.query(read("job_plans"), {"cluster": cluster, "job": job}).dicts()
    asked: dict[str, Value] = {"cluster": cluster, "plans": [str(plan["plan"]) for plan in plans]}
    runs = store.query(read("plans_runs"), asked).dicts() if plans else []
    return [Reason(plan, [run for run in runs if run["plan"] == plan["plan"]]) for plan in plans]


# ---------------------------------------------------------------- in sentences


def for_whom(plan: Row) -> str:
    """`urgent (lab/a, 1 × 8 GPUs)`, or the node that drains."""
    return f"node {node_of(plan)}, which drains" if plan["purpose"] == "drain" else f"{plan['job']} ({_asker(plan)})"


def _asker(plan: Row) -> str:
    return f"{plan['account']}, {shape(plan)}"


def who_yields(reason: Reason) -> str:
    """`sweep/1 (lab/b, over its claim, 8 GPUs) by R1`; of many the first ones."""
    told = [
        f"{run['run']} ({run['account'] + ', ' if run['account'] else ''}{PROTECTION[run['class']]}, "
        f"{of_gpus(run['gpus_milli'])}) by {run['rule']}"
        for run in reason.runs
    ]
    more = f" and {count(len(told) - NAMED)} more" if len(told) > NAMED else ""
    return "; ".join(told[:NAMED]) + more


def place(reason: Reason) -> str:
    """Where the asker stood in line, and the key it was ranked by; '' where the plan does not say."""
    detail = reason.detail
    if "place" not in detail:
        return ""
    key = " › ".join(ratio(Ratio(*value)) for _, value in _path(detail["before"]))
    return f"place {detail['place']} of {detail['askers']} in {reason.plan['pool']} with ρ {key}"


def why(reason: Reason) -> Iterator[str]:
    """What opened the runs to the asker, and what else was considered."""
    for rule in sorted({str(run["rule"]) for run in reason.runs if run["rule"] in RULES}):
        yield f"{rule}: {RULES[rule]}."
    detail = reason.detail
    for account, windows in _path(detail.get("windows", {})):
        if windows != "1":
            yield f"The contract is larger than {account}'s claim in one window: it was held to {windows} of them."
    for other in detail.get("alternatives", ()):
        yield considered(other["units"], other["why"], detail["objective"], other["objective"])
    shut = [f"{plural(n, 'unit')} {CLOSED[name]}" for name, n in detail.get("closed", {}).items() if name in CLOSED]
    if shut:
        yield f"Not to be had: {', '.join(shut)}."


def ratios(reason: Reason) -> Table | None:
    """ρ on both paths before and after; None for a drain. Those who yield had nothing bound, so theirs stays."""
    detail = reason.detail
    if "before" not in detail:
        return None
    made = output.table(
        "ρ on both paths", "*Account", "*Whose", ">Before", ">After", ">Used", ">Bound", ">Claim, GPU-hours"
    )
    rows = [(a, "asks", Ratio(*was), Ratio(*detail["after"][a])) for a, was in _path(detail["before"])]
    theirs = detail.get("theirs", detail.get("sides", {}))
    rows += [(a, "yields", Ratio(*was), Ratio(*was)) for a, was in _path(theirs) if a not in detail["before"]]
    return output.fill(
        made,
        [
            [
                account,
                whose,
                ratio(was),
                ratio(then),
                *map(gpu_hours, (then.used_gpu_ms, then.committed_gpu_ms, then.claim_gpu_ms)),
            ]
            for account, whose, was, then in rows
        ],
    )


def tell(reason: Reason, title: str) -> None:
    """Why the plan was made, with its numbers."""
    output.say()
    output.say(title, style="bold")
    stood = place(reason)
    if stood:
        output.tell(f"{reason.plan['job']} had {stood}.")
    for sentence in why(reason):
        output.tell(sentence)
    table = ratios(reason)
    if table is not None:
        output.show(table)


def _path(by_account: dict[str, Any]) -> list[tuple[str, Any]]:
    """From the root down: JSON has them by name, and a path sorts before what is below it."""
    return sorted(by_account.items(), key=lambda pair: (pair[0].count("/"), pair[0]))


def reason_json(reason: Reason) -> output.Report:
    """A plan for programs: its row and its runs' rows, `detail` as an object."""
    return {**reason.plan, "detail": reason.detail, "runs": reason.runs}
