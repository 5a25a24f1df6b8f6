"""A real Slurm is polled while it and the collector are killed: the book has its GPU time to the second."""

from __future__ import annotations

import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from streams.sources.slurm.live.jobs import SETTLED_S
from tests.e2e.slurm.collector import Collected
from tests.support.slurm import Cluster

STATES: Final = "CD,CA,F,TO,NF,PR,BF,DL,OOM,RQ,R,S,PD"
SAVED_S: Final = 6
"""slurmctld writes its state so late; what it had not written a kill takes back."""
pytestmark = pytest.mark.timeout(400)


class Ran(NamedTuple):
    """A run: GPUs held, and seconds it ran."""

    start_s: int
    end_s: int
    gpus: int
    running_s: int


def told_by_sacct(slurm: Cluster) -> dict[tuple[str, str], Ran]:
    """Every run that is over, as Slurm accounts for it."""
    said = slurm.run(
        *("sacct", "-a", "-D", "-X", "-P", "-n", "-S", "now-2hours", "-E", "now", f"--state={STATES}"),
        "--format=JobID,Submit,Start,End,ElapsedRaw,AllocTRES",
    )
    found = {}
    for line in said.splitlines():
        job, submit, start, end, elapsed, tres = line.split("|")
        gpus = dict(part.split("=") for part in tres.split(",") if part).get("gres/gpu")
        if gpus is not None:
            found[job, submit] = Ran(int(start), int(end), int(gpus), int(elapsed))
    return found


def told_by_book(collected: Collected) -> dict[tuple[str, str], Ran]:
    rows = collected.ask(
        "SELECT job, attempt, toUnixTimestamp(started_at) AS a, toUnixTimestamp(ended_at) AS b, gpus_milli, running_s "
        "FROM report_runs"
    )
    return {(r["job"], r["attempt"]): Ran(r["a"], r["b"], r["gpus_milli"] // 1000, r["running_s"]) for r in rows}


class Jobs(NamedTuple):
    """One of each kind."""

    plain: str
    paused: str
    held: str
    gang: str
    array: str
    het: str
    waiting: str


def submitted(slurm: Cluster) -> Jobs:
    plain, paused, held = slurm.running(gpus=2), slurm.running(gpus=4), slurm.running(gpus=1)
    gang = slurm.submit(nodes=2, gpus=3)
    array = slurm.submit("sleep 3", "--array=0-2%2", gpus=1)
    user = ("--uid=labalice", "--gid=labalice", "--account=teama", "--chdir=/tmp", "--output=/dev/null")
    het = slurm.run(
        *("sbatch", "--parsable", *user, "--gres=gpu:h100:1", ":", "--gres=gpu:h100:2", "--wrap=sleep 4"),
    ).strip()
    waiting = slurm.submit("sleep 1", "--hold", gpus=1)
    slurm.wait(gang, "RUNNING")
    return Jobs(plain, paused, held, gang, array, het, waiting)


def seen_by_polls(slurm: Cluster, collected: Collected, jobs: Jobs) -> None:
    """A pause, a hold of what runs, a requeue, a drain with its reason."""
    collected.more_polls()
    slurm.run("scontrol", "suspend", jobs.paused)
    slurm.run("scontrol", "hold", jobs.held)
    slurm.run("scontrol", "requeue", jobs.gang)
    slurm.run("scontrol", "update", "nodename=gn4", "state=drain", "reason=fan 3 is loud")
    collected.more_polls()
    slurm.run("scontrol", "resume", jobs.paused)
    collected.more_polls()
    slurm.run("scontrol", "update", "nodename=gn4", "state=resume")
    collected.more_polls()


def unseen(slurm: Cluster, jobs: Jobs) -> str:
    """A pause, a whole job, a cancel in the queue, an end of the gang; the whole job."""
    slurm.wait(jobs.gang, "RUNNING")
    slurm.run("scontrol", "requeue", jobs.gang)
    slurm.run("scontrol", "suspend", jobs.plain)
    short = slurm.submit("sleep 1", gpus=1)
    slurm.run("scancel", jobs.waiting)
    time.sleep(3)
    slurm.run("scontrol", "resume", jobs.plain)
    slurm.wait(short, "COMPLETED")
    time.sleep(SAVED_S)
    return short


def test_gpu_time_is_slurms_own_to_the_second(slurm: Cluster, tmp_path: Path) -> None:
    begin_s = int(time.time())  # what ended before it is of other tests
    collected = Collected(tmp_path, slurm)
    collected.start()
    jobs = submitted(slurm)
    seen_by_polls(slurm, collected, jobs)
    collected.kill()
    short = unseen(slurm, jobs)
    slurm.lab.kill("slurmctld")
    collected.start()
    collected.more_polls(2)
    assert collected.reports()[-1]["silent"], "a controller that is away must be told of"
    slurm.lab.start("slurmctld")
    collected.until(lambda: not collected.reports()[-1]["silent"])
    slurm.wait(jobs.gang, "RUNNING", limit_s=60)
    collected.kill()
    collected.start()
    slurm.run("scontrol", "suspend", jobs.paused)
    collected.more_polls(2)
    slurm.run("scancel", *jobs)
    collected.until(lambda: not {"running", "waiting", "suspended"} & set(collected.reports()[-1]["jobs"]), 60)
    collected.stop()

    slurms = {key: run for key, run in told_by_sacct(slurm).items() if int(key[1]) >= begin_s}
    books = told_by_book(collected)
    assert books == slurms
    tasks = {f"{jobs.array}_{n}" for n in range(3)} | {f"{jobs.het}+{n}" for n in range(2)}
    assert {job for job, _ in books} == {jobs.plain, jobs.paused, jobs.held, jobs.gang, short, *tasks}
    assert sum(job == jobs.gang for job, _ in books) == 3, "two requeues make three runs"
    held = slurm.run("sacct", "-a", "-X", "-n", "-P", "-S", "now-2hours", "--format=JobID").split()
    assert jobs.held not in held, "this Slurm has not lost the held job, so nothing was shown of it"

    log = collected.events()
    assert [n for n in Counter(event["id"] for event in log).values() if n > 1] == [], "each fact is told once"
    nodes = [event["data"] for event in log if event["data"].get("node") == "gn4"]
    told = [(data["state"], data["reason"]) for data in nodes]
    others = Counter(event["data"].get("node", "gn4") for event in log if "node.observed" in event["type"])
    assert [others[name] for name in ("gn1", "gn2", "gn3")] == [1, 1, 1], (
        "a restarted controller is no failure of nodes"
    )
    assert told[0] == told[-1] == ("available", "")
    assert {reason for _, reason in told[1:-1]} == {"fan 3 is loud"}
    assert {state for state, _ in told[1:-1]} <= {"draining", "planned_down"}


def test_slurmrestd_tells_the_same_as_the_commands(slurm: Cluster, tmp_path: Path) -> None:
    job = slurm.running(gpus=3)
    gone = slurm.submit("sleep 1", gpus=2)
    slurm.wait(gone, "COMPLETED")
    slurm.run("scontrol", "suspend", job)
    time.sleep(SETTLED_S + 2)
    token = tmp_path / "token"
    token.write_text(slurm.lab.token("labrest"))
    ways = {
        "commands": "",
        "socket": f'slurmrestd = "unix:{slurm.lab.rest_socket}"\n',
        "http": f'slurmrestd = "{slurm.lab.rest_url}"\nuser = "labrest"\ntoken_file = "{token}"\n',
    }
    since = f"--since={datetime.fromtimestamp(time.time() - 60, UTC).isoformat()}"
    said = {}
    for way, more in ways.items():
        collected = Collected(tmp_path / way, slurm, more)
        answer = collected.once(since)
        assert answer.code == 0, answer.out + answer.err
        said[way] = sorted((e["id"], e["type"], str(e["data"])) for e in collected.events() if "node" not in e["data"])
        assert {e["data"]["job"] for e in collected.events() if "job" in e["data"]} >= {job, gone}
        assert sum("node" in e["data"] for e in collected.events()) == 4
    assert said["socket"] == said["http"]
    assert [row[1:] for row in said["commands"]] == [row[1:] for row in said["socket"]]


def test_a_slurm_that_is_away_is_told_with_what_to_do(slurm: Cluster, tmp_path: Path) -> None:
    collected = Collected(tmp_path, slurm, 'folder = "/nowhere"\n')
    answer = collected.once()
    assert answer.code == 6, answer.err
    assert "install Slurm's client commands" in answer.json["silent"][0]
    closed = Collected(tmp_path / "rest", slurm, 'slurmrestd = "http://127.0.0.1:1"\n').once()
    assert closed.code == 6
    assert "is it up?" in closed.json["silent"][0]
    tokenless = Collected(tmp_path / "token", slurm, f'slurmrestd = "{slurm.lab.rest_url}"\n').once()
    assert "scontrol token" in tokenless.json["silent"][0]
