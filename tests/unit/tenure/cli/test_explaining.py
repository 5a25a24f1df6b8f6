"""Why one job is ahead of another, and a job's story."""

import json
from datetime import UTC, datetime
from typing import Any

from ledger.ranking import Pending, Ranked, Ratio, rank
from tenure.cli.explaining import Explained, Loss, comparison
from tenure.cli.reasons import Reason, for_whom, place, ratios, why
from tenure.cli.story import story

LOW, HIGH = Ratio(1, 0, 4), Ratio(3, 0, 4)


def pending(job: str, account: str | None, **more: Any) -> Pending:
    return Pending(
        **{"job": job, "account": account, "priority": 0, "gpus_milli": 16_000, "min_runtime_s": 3_600} | more
    )


def ranked(*jobs: Pending) -> list[Ranked]:
    ratios = {"lab": LOW, "lab/.": Ratio(0, 0, 0), "lab/a": LOW, "lab/b": HIGH}
    return list(rank(ratios, jobs))


def test_the_first_account_in_which_they_differ_decides():
    first, second = ranked(pending("1", "lab/b", submitted_s=0), pending("2", "lab/a", submitted_s=1))
    assert first.job.job == "2"
    assert comparison(second, first) == "lab/a has ρ 0.250, lab/b has 0.750"


def test_inside_one_account_priority_debug_and_time_decide():
    by_priority = ranked(pending("1", "lab/a", submitted_s=0), pending("2", "lab/a", submitted_s=1, priority=5))
    assert comparison(by_priority[1], by_priority[0]) == "same account, and its priority is 5 against 0"
    small = pending("2", "lab/a", submitted_s=1, gpus_milli=1_000, min_runtime_s=600)
    by_debug = ranked(pending("1", "lab/a", submitted_s=0), small)
    assert comparison(by_debug[1], by_debug[0]) == "same account, and it is a debug run"
    by_time = ranked(pending("1", "lab/a", submitted_s=0), pending("2", "lab/a", submitted_s=1))
    assert comparison(by_time[1], by_time[0]) == "same account, and it was submitted earlier"


def test_unfunded_work_is_told_why_it_comes_last():
    jobs = ranked(
        pending("1", None, submitted_s=0), pending("2", None, submitted_s=1), pending("3", "lab/a", submitted_s=2)
    )
    assert comparison(jobs[1], jobs[0]) == "it is funded, and unfunded work comes last"
    assert comparison(jobs[2], jobs[1]) == "it was submitted earlier"


def at(hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 3, 2, hour, minute, tzinfo=UTC)


def run(**more: Any) -> dict[str, Any]:
    return {
        "run": "7/1",
        "ordinal": 1,
        "started_at": at(1),
        "ended_at": at(4),
        "outcome": "preempted",
        "exit_code": None,
        "elapsed_s": 10_800,
        "wait_s": 1_800,
        "suspended_s": 0,
        "gpus_milli": 8_000,
        "placed_nodes": ["n1"],
        "funded": True,
        "funding_reason": "",
        "class": "interruptible",
        "ledger_account": "lab/a",
        "contract_end": at(3),
        "refunded_gpu_ms": 0,
        "flags": [],
    } | more


def known(*runs: dict[str, Any], **more: Any) -> Explained:
    job = {
        "submitted_at": at(0, 30),
        "user": "u",
        "account": "lab/a",
        "gpus_milli": 8_000,
        "min_runtime_s": 7_200,
        "resumable": True,
    }
    empty: dict[str, Any] = {"losses": [], "corrections": [], "remarks": [], "reassigned": [], "waiting": None}
    use = {"sampled_gpu_ms": 0, "utilized_gpu_ms": 0, "idle_gpu_ms": 0}
    return Explained(cluster="c", name="7", job=job, runs=list(runs), **(empty | use | more))


def test_a_preemption_is_told_with_what_it_lost_and_who_came_next():
    stopped = run()
    loss = Loss(
        stopped,
        3_600_000,
        at(3, 52),
        checkpointed=True,
        successors=[{"job": "8", "account": "lab/b", "gpus_milli": 8_000}],
    )
    told = [sentence for _, sentence in story(known(stopped, losses=[loss]))]
    assert told == [
        "submitted by u for lab/a: 8 GPUs, minimum runtime 2 h, resumable",
        "attempt 1 starts after 30 min on n1, funded by lab/a, protected until 2026-03-02 03:00",
        "its minimum runtime is banked: it runs on while nobody ranks ahead of it",
        "attempt 1 was preempted after 3 h",
        (
            "it lost 1.00 GPU-hours of work since its last checkpoint at 2026-03-02 03:52; "
            "next on its nodes: 8 (lab/b, 8 GPUs)"
        ),
    ]


def test_refunds_pauses_and_doubts_are_told_where_the_run_ends():
    ended = run(outcome="node_failure", refunded_gpu_ms=7_200_000, suspended_s=600, flags=["unknown_node"], exit_code=1)
    told = story(known(ended))[-1].sentence
    assert told == (
        "attempt 1 lost a node after 3 h, 10 min of them suspended, exit code 1; 2.00 GPU-hours are given back; "
        "it ran on a node nobody has described"
    )


def test_unfunded_runs_are_told_why_and_corrections_by_how_much():
    unfunded = run(funded=False, funding_reason="no_min_runtime", contract_end=None)
    correction = {
        "recorded_at": at(9),
        "occurred_at": at(8),
        "type": "tenure.run.observed.v1",
        "source": "sacct",
        "since": at(1),
        "until": at(3),
        "charge_gpu_ms": 0,
        "refund_gpu_ms": 0,
        "occupied_gpu_ms": -3_600_000,
    }
    told = [sentence for _, sentence in story(known(unfunded, corrections=[correction]))]
    assert "unfunded: it declares no minimum runtime" in told[1]
    assert told[-1] == (
        "correction of 2 closed hours by run.observed of 2026-03-02 08:00 (sacct): occupied -1.00 GPU-hours"
    )


def plan(**more: Any) -> dict[str, Any]:
    return {
        "plan": "h100/5/8",
        "pool": "h100",
        "purpose": "asker",
        "mode": "enforce",
        "state": "asker_started",
        "rule": "R1",
        "job": "8",
        "account": "lab/b",
        "pieces": 2,
        "piece_milli": 4_000,
        "host_nodes": ["n1"],
        "host_gpus_milli": [8_000],
        "victims": 1,
        "lost_gpu_ms": 3_600_000,
        "committed_at": at(3, 59),
        "held_at": at(4),
        "held_until": at(4, 5),
        "handle": "",
        "expired_at": at(4, 1),
        "wasted_gpu_ms": 0,
        "sentence": "8 runs.",
        "detail": "",
    } | more


def victim(**more: Any) -> dict[str, Any]:
    return {
        "plan": "h100/5/8",
        "job": "7",
        "attempt": "1",
        "run": "7/1",
        "account": "lab/a",
        "class": "over",
        "rule": "R1",
        "gpus_milli": 8_000,
        "lost_gpu_ms": 3_600_000,
        "how": "requeue",
        "grace_s": 60,
        "issued_at": at(3, 59),
        "settled_at": at(4),
        "outcome": "preempted",
        "sentence": "7/1 left after 60 s.",
    } | more


DETAIL: dict[str, Any] = {
    "place": 1,
    "askers": 3,
    "before": {"lab/b": [1, 0, 4], "lab": [2, 0, 4]},
    "after": {"lab/b": [1, 2, 4], "lab": [2, 2, 4]},
    "theirs": {"lab/a": [5, 0, 4]},
    "windows": {"lab": "1", "lab/b": "3/2"},
    "objective": [0, 1, 2, 8000, 0],
    "alternatives": [{"units": ["x/1", "y/1"], "objective": [0, 2, 3, 8000, 1], "why": "by rank alone"}],
    "closed": {"contract": 2, "ratio": 1},
}


def test_who_had_to_leave_is_told_for_whom_by_which_rule_and_what_came_of_it():
    reason = Reason(plan(), [victim()])
    told = [sentence for _, sentence in story(known(run(), reasons=[reason]))]
    assert (
        "7/1 (lab/a, over its claim, 8 GPUs) is to be put back into the queue within 60 s, for 8 (lab/b, 2 × 4 GPUs) "
        "by R1, plan h100/5/8"
    ) in told
    assert "that order is settled, preempted: 7/1 left after 60 s." in told


def test_a_plan_that_is_only_told_orders_nobody_off():
    reason = Reason(plan(mode="observe"), [victim(issued_at=None, settled_at=None)])
    told = [sentence for _, sentence in story(known(run(), reasons=[reason]))]
    assert "plan h100/5/8, only told: 7/1 would leave for 8 (lab/b, 2 × 4 GPUs) by R1" in told


def test_for_whom_a_plan_is_made_it_is_told_with_its_place_and_its_end():
    reason = Reason(plan(job="7", detail=json.dumps(DETAIL)), [victim(job="6", run="6/1")])
    told = [sentence for _, sentence in story(known(run(), reasons=[reason]))]
    assert (
        "plan h100/5/8 makes room for it, at place 1 of 3 in h100 with ρ 0.500 › 0.250; who leaves: "
        "6/1 (lab/a, over its claim, 8 GPUs) by R1"
    ) in told
    assert "room is kept for 7 on n1 (8 GPUs) until 2026-03-02 04:05" in told
    assert "that plan is over, asker_started: 8 runs." in told


def test_the_reason_of_a_plan_says_what_else_there_was():
    assert list(why(Reason(plan(detail=json.dumps(DETAIL)), [victim()]))) == [
        "R1: work over its claim yields while the asker stays within its own, its new contract included.",
        "The contract is larger than lab/b's claim in one window: it was held to 3/2 of them.",
        "Also considered: x/1, y/1 (by rank alone); it is worse: units over their claim 2 instead of 1.",
        (
            "Not to be had: 2 units inside their minimum runtime, 1 unit of accounts that are not further above their "
            "claim than the asker."
        ),
    ]
    table = ratios(Reason(plan(detail=json.dumps(DETAIL)), [victim()]))
    assert table is not None
    assert [list(column.cells)[-1].plain for column in table.columns[:4]] == ["lab/a", "yields", "1.250", "1.250"]  # type: ignore[union-attr]
    assert table.row_count == 3


def test_a_drain_has_no_ratios_and_no_asker():
    drained = Reason(plan(plan="drain/5/n1", purpose="drain", job="", account="", pieces=0), [victim(rule="drain")])
    assert (ratios(drained), place(drained), list(why(drained))) == (None, "", [])
    assert for_whom(drained.plan) == "node n1, which drains"


def test_who_goes_on_is_told_when():
    first, again = run(), run(ordinal=2, started_at=at(5), ended_at=None, outcome="", contract_end=None)
    loss = Loss(first, 0, at(3), checkpointed=True, successors=[], next=again)
    told = [sentence for _, sentence in story(known(first, again, losses=[loss]))]
    assert any(sentence.endswith("; it goes on as attempt 2, 1 h later") for sentence in told)
