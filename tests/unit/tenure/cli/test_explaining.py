"""Why one job is ahead of another, and a job's story."""

from datetime import UTC, datetime
from typing import Any

from ledger.ranking import Pending, Ranked, Ratio, rank
from tenure.cli.explaining import Explained, Loss, comparison
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
        "attempt 1 starts after 30 min on n1, funded by lab/a",
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
