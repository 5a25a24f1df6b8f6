"""A real Slurm is polled while it and the collector are killed: the book has its GPU time to the second."""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from streams.sources.slurm.live.jobs import SETTLED_S
from tests.e2e.cli.driver import many
from tests.e2e.slurm.collector import Collected
from tests.e2e.slurm.process import Tenure
from tests.support.slurm import Cluster

SAVED_S: Final = 6
"""slurmctld writes its state so late; what it had not written a kill takes back."""
pytestmark = pytest.mark.timeout(400)


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


def test_gpu_time_is_slurms_own_to_the_second(slurm: Cluster, tmp_path: Path, stopped: list[Tenure]) -> None:
    collected = Collected(tmp_path, slurm)
    stopped.append(collected)
    collected.start()
    jobs = submitted(slurm)
    seen_by_polls(slurm, collected, jobs)
    collected.kill()
    short = unseen(slurm, jobs)
    slurm.lab.kill("slurmctld")
    collected.start()
    collected.more_polls(2)
    assert collected.polls()[-1]["silent"], "a controller that is away must be told of"
    slurm.lab.start("slurmctld")
    collected.until(lambda: not collected.polls()[-1]["silent"])
    slurm.wait(jobs.gang, "RUNNING", limit_s=60)
    collected.kill()
    collected.start()
    slurm.run("scontrol", "suspend", jobs.paused)
    collected.more_polls(2)
    slurm.run("scancel", *jobs)
    collected.over()

    tasks = {f"{jobs.array}_{n}" for n in range(3)} | {f"{jobs.het}+{n}" for n in range(2)}
    (booked,) = collected.ask("SELECT job FROM report_runs")
    jobs_booked = [job for (job,) in booked]
    assert set(jobs_booked) == {jobs.plain, jobs.paused, jobs.held, jobs.gang, short, *tasks}
    assert jobs_booked.count(jobs.gang) == 3, "two requeues make three runs"
    collected.agrees(lost=jobs.held)

    log = collected.events()
    assert [n for n in Counter(event["id"] for event in log).values() if n > 1] == [], "each fact is told once"
    nodes = [event["data"] for event in log if event["data"].get("node") == "gn4"]
    told = [(data["state"], data["reason"]) for data in nodes]
    others = Counter(event["data"].get("node", "gn4") for event in log if "node.observed" in event["type"])
    assert [others[name] for name in ("gn1", "gn2", "gn3")] == [1, 1, 1], (
        "a restarted controller is no failure of nodes"
    )
    assert told[0] == told[-1] == ("available", "")
    assert {reason for _, reason in told[1:-1]} == {"fan 3 is loud"}, told
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

    def told(way: str) -> list[tuple[str, str, str]]:
        collected = Collected(tmp_path / way, slurm, ways[way])
        answer = collected.once("collect", "slurm", "--once", since)
        assert answer.code == 0, answer.out + answer.err
        events = collected.events()
        assert {e["data"]["job"] for e in events if "job" in e["data"]} >= {job, gone}
        assert sum("node" in e["data"] for e in events) == 4
        return sorted((e["id"], e["type"], str(e["data"])) for e in events if "node" not in e["data"])

    with ThreadPoolExecutor() as threads:
        said = dict(zip(ways, threads.map(told, ways), strict=True))
    assert said["socket"] == said["http"]
    assert [row[1:] for row in said["commands"]] == [row[1:] for row in said["socket"]]


def test_a_slurm_that_is_away_is_told_with_what_to_do(slurm: Cluster, tmp_path: Path) -> None:
    ways = ('folder = "/nowhere"\n', 'slurmrestd = "http://127.0.0.1:1"\n', f'slurmrestd = "{slurm.lab.rest_url}"\n')
    configs = [Collected(tmp_path / str(n), slurm, more).config for n, more in enumerate(ways)]
    asked = [["collect", "slurm", "--once", "--json", "--config", str(config)] for config in configs]
    lacking, closed, tokenless = many(tmp_path / "data", asked)
    assert lacking.code == closed.code == 6
    assert "install Slurm's client commands" in lacking.json["silent"][0]
    assert "is it up?" in closed.json["silent"][0]
    assert "scontrol token" in tokenless.json["silent"][0]
