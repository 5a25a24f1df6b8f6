"""deploy/slurm: what is missing, said in a sentence; a cluster that can be killed in parts and ends as a whole."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.processes import Missing, Trouble, until
from deploy.slurm import lab as module
from deploy.slurm import packages
from deploy.slurm.lab import MARK, Lab, main
from tests.support.slurm import GONE, STUBBORN, Cluster

ROOT = Path(__file__).resolve().parents[4]


def test_who_is_not_root_is_told_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(Missing, match="has to run as root"):
        Lab(tmp_path).up()
    with pytest.raises(Missing, match="as root"):
        main(["fetch"])


def test_missing_programs_are_named_with_what_to_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(packages, "PROGRAMS", ("sh", "nonesuch"))
    with pytest.raises(Missing, match=r"lacks nonesuch.*python3 -m deploy\.slurm\.lab fetch"):
        Lab(tmp_path).up()


def test_a_folder_that_is_not_the_labs_is_left_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "check", lambda: None)
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(Trouble, match="holds what is not the lab's"):
        Lab(tmp_path).up()
    assert (tmp_path / "thesis.txt").read_text() == "mine"


def test_stopping_what_does_not_run_is_no_trouble(tmp_path: Path) -> None:
    assert main(["down", "--data", str(tmp_path / "nowhere")]) == "Slurm was not running"


def test_a_pid_given_to_another_program_is_left_alone(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        (tmp_path / "pids.json").write_text(f'{{"slurmctld": {other.pid}}}')
        assert main(["down", "--data", str(tmp_path)]) == "Slurm was not running"
        assert other.poll() is None
        other.kill()


def test_the_shell_of_who_uses_the_lab_is_left_alone(tmp_path: Path) -> None:
    env = os.environ | {"SLURM_CONF": f"{tmp_path}/slurm.conf"}
    with subprocess.Popen([sys.executable, "-c", "input()"], env=env, stdin=subprocess.PIPE) as shell:
        main(["down", "--data", str(tmp_path)])
        assert shell.poll() is None
        shell.kill()


def test_a_job_outlives_a_kill_of_slurmctld_and_of_its_slurmd(slurm: Cluster) -> None:
    job = slurm.running(on="gn2")
    slurm.saved(job)
    for name in ("slurmctld", "slurmd-gn2"):
        slurm.lab.kill(name)
        assert name not in slurm.lab.running
        slurm.lab.start(name)
    assert slurm.row(job).state == "RUNNING"


def test_a_requeued_job_starts_again_soon(slurm: Cluster) -> None:
    job = slurm.running()
    slurm.run("scontrol", "requeue", job)
    slurm.wait(job, "PENDING", limit_s=3)
    slurm.wait(job, "RUNNING", limit_s=12)


def test_a_cluster_ends_with_the_process_that_started_it_and_down_finds_the_jobs(slurm: Cluster) -> None:
    """`slurm` is asked for so that the test is skipped where nothing can run."""
    data = Path(f"{slurm.lab.data}-short")
    code = (
        "import sys; from pathlib import Path\n"
        "from deploy.slurm.lab import Lab\n"
        "from deploy.slurm.layout import Shape\n"
        "lab = Lab(Path(sys.argv[1]), Shape(nodes=1)); lab.up(with_parent=True); print('up', flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(data)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as starter:
        assert starter.stdout is not None
        assert starter.stdout.readline() == "up\n"
        lab = Lab(data)
        job = Cluster(lab).running(STUBBORN)
        assert job != GONE
        assert lab.running.keys() >= {"munged", "mariadbd", "slurmdbd", "slurmctld", "slurmd-gn1"}
        starter.send_signal(signal.SIGKILL)
    assert until(lambda: not lab.running, 10)
    assert lab.down() is False
    assert until(lambda: not _processes_of(data), 10)
    shutil.rmtree(data)


def _processes_of(data: Path) -> list[bytes]:
    wanted = (f"{MARK}={data}".encode(), f"{data}/spool".encode())
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            said = (process / "environ").read_bytes() + (process / "cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        if any(word in said for word in wanted):
            found.append((process / "cmdline").read_bytes())
    return found
