"""A real Slurm's own word for the GPU time of a test's jobs, by sacct and by sreport, beside what a book says.

Three differences are Slurm's own, and stated here once:

- sreport counts GPUs of a suspended job as used; sacct's Elapsed does not, and neither does the book's running time.
- A job that was held while it ran is not in sreport, and not in sacct's default window. Asked by state, sacct has it.
- sreport knows whole hours that slurmdbd has rolled up. So the jobs are moved two hours back for it, in the database.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from typing import Final, NamedTuple

from deploy.processes import until
from tests.support.slurm import Cluster

STATES: Final = "CD,CA,F,TO,NF,PR,BF,DL,OOM,RQ,R,S,PD"
RUNS: Final = (
    "SELECT job, attempt, toUnixTimestamp(started_at), toUnixTimestamp(ended_at), intDiv(gpus_milli, 1000), running_s, "
    "splitByChar('/', account)[-1] FROM report_runs"
)
"""The runs of a book, to make `Ran` of."""
BACK_S: Final = 2 * 3600
_SHIFT: Final = f"""
UPDATE lab_job_table SET time_submit = time_submit - {BACK_S}, time_start = time_start - {BACK_S},
  time_end = time_end - {BACK_S}, time_eligible = IF(time_eligible IN (0, 4294967294), time_eligible,
  time_eligible - {BACK_S}) WHERE time_start > 0;
UPDATE lab_suspend_table SET time_start = time_start - {BACK_S}, time_end = time_end - {BACK_S};
UPDATE lab_event_table SET time_start = time_start - {BACK_S}, time_end = IF(time_end > 0, time_end - {BACK_S}, 0);
"""
_FORGET: Final = "".join(f"DELETE FROM lab_{name}_hour_table;" for name in ("assoc_usage", "usage")) + (
    "UPDATE lab_last_ran_table SET hourly_rollup = UNIX_TIMESTAMP() DIV 3600 * 3600 - 14400, "
    "daily_rollup = hourly_rollup, monthly_rollup = hourly_rollup;"
)
_DROP: Final = "DELETE FROM lab_job_table; DELETE FROM lab_step_table; DELETE FROM lab_suspend_table;"


class Ran(NamedTuple):
    """A run: GPUs held, seconds it ran, and Slurm's account."""

    start_s: int
    end_s: int
    gpus: int
    running_s: int
    account: str


def agree(slurm: Cluster, book: Mapping[tuple[str, str], Ran], since_s: int, *, lost: str = "") -> None:
    """The book has every run since then as sacct has it, to the second; sreport counts the same but for `lost`, a job.

    Once all jobs are over, and as the last word: the accounting of this cluster is empty afterwards.
    """
    assert until(lambda: set(told_by_sacct(slurm, since_s)) >= set(book), 10), "accounting lacks runs the book has"
    slurms = told_by_sacct(slurm, since_s)
    assert dict(book) == slurms
    assert slurms, "nothing ran, so nothing was compared"
    unsuspended = sum(run.gpus * run.running_s for run in book.values())
    assert unsuspended == sum(run.gpus * run.running_s for run in slurms.values())
    counted: Counter[str] = Counter()
    for (job, _), run in book.items():
        if job != lost:
            counted[run.account] += run.gpus * (run.end_s - run.start_s)
    assert told_by_sreport(slurm, since_s) == {account: n for account, n in counted.items() if n}


def told_by_sacct(slurm: Cluster, since_s: int) -> dict[tuple[str, str], Ran]:
    """Every run on GPUs submitted since then, as Slurm accounts for it."""
    said = slurm.run(
        *("sacct", "-a", "-D", "-X", "-P", "-n", "-S", "now-2hours", "-E", "now", f"--state={STATES}"),
        "--format=JobID,Submit,Start,End,ElapsedRaw,Account,AllocTRES",
    )
    found = {}
    for line in said.splitlines():
        job, submit, start, end, elapsed, account, tres = line.split("|")
        gpus = dict(part.split("=") for part in tres.split(",") if part).get("gres/gpu")
        if gpus is not None and int(submit) >= since_s:
            found[job, submit] = Ran(int(start), int(end), int(gpus), int(elapsed), account)
    return found


def told_by_sreport(slurm: Cluster, since_s: int) -> dict[str, int]:
    """GPU seconds of each account, of jobs since then, in hours that slurmdbd rolls up; forgotten afterwards."""
    lab = slurm.lab
    assert until(lambda: lab.sql("SELECT count(*) FROM lab_job_table WHERE time_start > 0 AND time_end = 0") == "0", 10)
    lab.stop("slurmdbd")
    lab.sql(f"DELETE FROM lab_job_table WHERE time_submit < {since_s};" + _SHIFT + _FORGET)
    lab.start("slurmdbd")
    this_hour_s = int(time.time()) // 3600 * 3600
    rolled = "SELECT hourly_rollup >= UNIX_TIMESTAMP() DIV 3600 * 3600 FROM lab_last_ran_table"
    assert until(lambda: lab.sql(rolled) == "1", 20), "slurmdbd did not roll up"
    window = [
        f"{word}={time.strftime('%FT%T', time.localtime(at))}"
        for word, at in (("start", this_hour_s - 14_400), ("end", this_hour_s))
    ]
    said = slurm.run(
        *("sreport", "-n", "-P", "-t", "Seconds", "-T", "gres/gpu", "cluster", "AccountUtilizationByUser", *window),
        "format=Account,Login,Used",
    )
    lab.sql(_DROP + _FORGET)
    rows = [line.split("|") for line in said.splitlines()]
    return {account: int(used) for account, login, used in rows if login and int(used)}
