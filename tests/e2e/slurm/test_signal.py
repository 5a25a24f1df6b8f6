"""What cannot go on elsewhere is warned, has its grace, and is cancelled after it; its own output is the witness."""

from __future__ import annotations

from pathlib import Path

import pytest

from ledger.runs import CLOCKS_APART_S
from tests.e2e.slurm.enforced import GANG, Enforced, contract
from tests.e2e.slurm.process import Tenure
from tests.support.slurm import SLEEPS, Cluster

pytestmark = pytest.mark.timeout(300)

GRACE_S = 8
SAVING_S = 2
KILLED_S = 5 + 2
"""Who was not gone when last asked is asked again within 5 s, and Slurm's KillWait is 2 s in the lab."""
GOES_ON = "while :; do echo on $(date +%s); sleep 0.2; done"
IGNORES = f"trap 'echo warned $(date +%s)' TERM; {GOES_ON}"
SAVES = f"trap 'echo warned $(date +%s); sleep {SAVING_S}; echo saved $(date +%s); exit 0' TERM; {GOES_ON}"


def test_who_is_warned_may_save_and_is_cancelled_after_the_grace(
    slurm: Cluster, notes: Path, tmp_path: Path, stopped: list[Tenure]
):
    here = Enforced(tmp_path, slurm, enforcement="enforce", grace_s=GRACE_S)
    stopped.append(here)
    here.start()
    jobs = {}
    for name, script, node in (("ignores", IGNORES, "gn1"), ("saves", SAVES, "gn2")):
        jobs[slurm.running(script, f"--output={notes}/{name}", on=node)] = name
    for node in ("gn3", "gn4"):
        slurm.running(SLEEPS, contract("10m"), user="labbob", on=node)
    asker = slurm.submit(SLEEPS, GANG, user="labbob", nodes=2, gpus=8)
    slurm.wait(asker, "RUNNING", limit_s=60)
    here.more_polls(2)
    here.over()
    (rows,) = here.ask(
        "SELECT v.job, v.how, v.outcome, toUnixTimestamp(v.issued_at), toUnixTimestamp(r.ended_at), r.outcome "
        "FROM report_preemptions AS v INNER JOIN report_runs AS r ON r.run = v.run",
    )
    found = {jobs[job]: told for job, *told in rows}
    ended = slurm.run("sacct", "-X", "-n", "-P", "-j", ",".join(jobs), "--format=JobID,State").split("\n")
    states = {jobs[job]: state for job, state in (line.split("|") for line in ended if line)}

    how, outcome, issued_s, end_s, reads = found["ignores"]
    said = words(notes / "ignores")
    in_time = end_s - issued_s <= GRACE_S + CLOCKS_APART_S  # as far as two clocks can tell
    assert (how, outcome, reads) == ("cancel", "preempted" if in_time else "ignored_signal", "preempted")
    assert 0 <= said["warned"][0] - issued_s <= 2
    assert said["on"][-1] - said["warned"][0] >= GRACE_S - 1, "it had all of its grace"
    assert GRACE_S <= end_s - issued_s <= GRACE_S + KILLED_S
    assert states["ignores"].startswith("CANCELLED")

    how, outcome, issued_s, end_s, reads = found["saves"]
    said = words(notes / "saves")
    assert (how, outcome, reads) == ("cancel", "ended_by_itself", "succeeded"), "with exit code 0 it has done its work"
    assert said["saved"][0] - said["warned"][0] >= SAVING_S
    assert len(said["warned"]) == 1
    assert end_s - issued_s < GRACE_S, "who is done leaves at once"
    assert states["saves"] == "COMPLETED"
    here.agrees()


def words(file: Path) -> dict[str, list[int]]:
    """What a job said, and when."""
    found: dict[str, list[int]] = {}
    for line in file.read_text().splitlines():
        word, _, second = line.partition(" ")
        if second.isdigit():
            found.setdefault(word, []).append(int(second))
    return found
