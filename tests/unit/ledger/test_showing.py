"""Runs and jobs as rows people read."""

from typing import Any

import pytest

from ledger.rows import Job, Run
from ledger.units import FOREVER_S
from tests.support.folded import Folded, folded
from tests.support.said import (
    checkpointed,
    ended,
    resumed,
    run,
    s,
    say,
    small_cluster,
    started,
    submitted,
    suspended,
    t,
    updated,
)


def the_run(*log: Any) -> Run:
    (row,) = told(*log).tables[Run].values()
    assert isinstance(row, Run)
    return row


def the_job(*log: Any) -> Job:
    row = told(*log).tables[Job]["j",]
    assert isinstance(row, Job)
    return row


def told(*log: Any) -> Folded:
    return folded([*small_cluster(), *log])


def fields(row: Run | Job, *names: str) -> tuple[Any, ...]:
    return tuple(getattr(row, name) for name in names)


def test_a_run_that_goes_on():
    row = the_run(submitted("08:00"), started("08:10"))
    assert fields(row, "ended_s", "running_s", "suspended_s", "outcome", "exit_code") == (None, None, None, "", None)
    assert fields(row, "submitted_s", "eligible_s", "started_s") == (s("08:00"), s("08:00"), s("08:10"))
    assert fields(row, "ledger_account", "contract_end_s", "funding_reason") == ("lab/a", s("09:10"), "")


def test_a_run_that_is_over():
    log = [submitted("08:00", gpus=2), started("08:10", on={"n": 2}), suspended("08:20"), checkpointed("08:15")]
    row = the_run(*log, ended("08:30", outcome="node_failure", exit_code=7))
    assert fields(row, "ended_s", "running_s", "suspended_s") == (s("08:30"), 600, 600)
    assert fields(row, "outcome", "exit_code", "checkpointed_s") == ("node_failure", 7, s("08:15"))
    assert row.refunded_gpu_ms == 2000 * 300
    assert row.contract_end_s == s("09:20")  # as if it had gone on: the pause ended with the run


def test_a_contract_behind_a_pause_that_lasts_has_no_end():
    assert the_run(submitted("08:00"), started("08:10"), suspended("08:20")).contract_end_s is None


def test_pauses_that_gave_the_gpus_back_are_told():
    kept, away = suspended("08:20"), suspended("08:40", releases_gpus=True)
    row = the_run(submitted("08:00"), started("08:10"), kept, resumed("08:30"), away)
    assert row.released == ((s("08:40"), FOREVER_S),)


def test_an_unfunded_run_has_no_ledger_account_and_no_contract():
    row = the_run(submitted("08:00", account="lab/ghost"), started("08:10"))
    assert fields(row, "account", "ledger_account", "funded", "contract_end_s") == ("lab/ghost", "", False, None)


def test_placements_are_parallel_arrays():
    placements = [{"node": "n", "gpus_milli": 1000, "gpu_indices": [3]}, {"node": "m", "gpus_milli": 500}]
    row = the_run(say("job.started", "08:10", job="j", attempt="1", placements=placements))
    assert row.placed_nodes == ("m", "n")
    assert row.placed_gpus_milli == (500, 1000)
    assert row.placed_gpu_indices == ((), (3,))


def test_idleness_is_shown():
    row = the_run(started("08:10"), say("gpu.idle_observed", "08:40", job="j", attempt="1", since=t("08:20")))
    assert row.idle_since_s == s("08:20")


def test_when_an_attempt_was_asked_for():
    log = [submitted("08:00"), started("08:10"), ended("08:20", outcome="requeued"), started("08:40", attempt="2")]
    rows = told(*log).tables[Run]
    assert [fields(row, "submitted_s", "eligible_s", "ordinal") for row in rows.values()] == [
        (s("08:00"), s("08:00"), 1),
        (s("08:00"), s("08:20"), 2),
    ]
    record = the_run(run("09:00", start="08:30", submitted_at=t("07:00"), eligible_at=t("07:30")))
    assert fields(record, "submitted_s", "eligible_s") == (s("07:00"), s("07:30"))
    unknown = the_run(started("08:10"))
    assert fields(unknown, "submitted_s", "eligible_s") == (None, None)


@pytest.mark.parametrize(
    ("log", "state", "ended_s", "outcome", "waited_s"),
    [
        ([submitted("08:00")], "pending", None, "", 0),
        ([submitted("08:00", held=True)], "held", None, "", 0),
        ([submitted("08:00"), updated("08:10", held=True)], "held", None, "", 600),
        ([submitted("08:00"), started("08:10")], "running", None, "", 600),
        ([submitted("08:00"), started("08:10"), ended("08:30")], "ended", "08:30", "succeeded", 600),
        ([submitted("08:00"), started("08:10"), ended("08:30", outcome="requeued")], "pending", None, "", 600),
        ([submitted("08:00"), ended("08:30", attempt=None, outcome="cancelled")], "ended", "08:30", "cancelled", 1800),
    ],
)
def test_the_state_of_a_job(log: list[Any], state: str, ended_s: str | None, outcome: str, waited_s: int):
    row = the_job(*log)
    assert fields(row, "state", "outcome", "waited_s") == (state, outcome, waited_s)
    assert row.ended_s == (s(ended_s) if ended_s else None)


def test_a_job_ended_when_the_last_of_its_attempts_did():
    log = [submitted("08:00"), started("08:10"), ended("08:20", outcome="requeued"), started("08:30", attempt="2")]
    row = the_job(*log, ended("08:50", attempt="2", outcome="failed"))
    assert fields(row, "ended_s", "outcome", "state", "attempts") == (s("08:50"), "failed", "ended", 2)


def test_a_job_has_its_latest_terms_and_its_run_those_of_its_start():
    book = told(submitted("08:00", priority=1), started("08:10"), updated("08:20", priority=9))
    assert book.tables[Job]["j",].priority == 9
    assert book.tables[Run]["j", "1"].priority == 1


def test_a_job_known_by_its_runs_alone():
    log = [run("09:00", start="08:30", end="09:00", submitted_at=t("08:10"), on={"n": 2})]
    log.append(run("10:00", attempt="2", start="09:30", submitted_at=t("09:10")))
    row = the_job(*log)
    assert fields(row, "user", "account", "submitted_s", "attempts", "state") == (
        "ann",
        "lab/a",
        s("08:10"),
        2,
        "running",
    )
    assert row.gpus_milli == 1000  # of its last run
    assert the_job(started("08:10")).submitted_s is None
