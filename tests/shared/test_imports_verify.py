"""Every recording through the command line into a book of its own, and the book verified: exit 0 on all of them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.shared, pytest.mark.timeout(900)]

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"

BOOKS = {
    "mit": (["traces/mit_supercloud_slurm.csv"], ["--mapping", "mit_supercloud"]),
    "openb": (["traces/openb_pod_list_default.csv"], ["--mapping", "openb"]),
    "openb-nodes": (["traces/openb_node_list_gpu_node.csv"], ["--mapping", "openb_nodes"]),
    "xdmod": (["slurm/sacct_xdmod_*.log"], ["--cluster", "xdmod", "--config"]),
    "gcm": (["slurm/sacct_gcm_*.txt", "slurm/scontrol_*.txt"], ["--cluster", "gcm"]),
    "sonar": (
        ["slurm/sacct_sonar.txt", "slurm/sonar_jobs_messages.json"],
        ["--cluster", "sonar", "--config"],
    ),
    "lab2205": (["slurm/lab2205/01-scontrol-show-node.txt", "slurm/lab2205/04-sacct-all*.txt"], ["--cluster", "lab"]),
    "lab2205-json": (["slurm/lab2205/04-rest-slurm-nodes.json", "slurm/lab2205/04-sacct*.json"], ["--cluster", "lab"]),
    "lab2411": (["slurm/lab2411/01-scontrol-show-node.txt", "slurm/lab2411/04-sacct-all*.txt"], ["--cluster", "lab"]),
    "lab2411-json": (
        ["slurm/lab2411/04-rest-slurm-nodes.json", "slurm/lab2411/04-sacct.json", "slurm/lab2411/04-sacct-D.json"],
        ["--cluster", "lab"],
    ),
    "slurmrestd": (["slurm/slurmrestd/*/*/*jobs*.json", "slurm/slurmrestd/*/*/*nodes*.json"], ["--cluster", "rest"]),
}


CONFIG = """
[slurm.xdmod]
cluster = "xdmod"
fields = "xdmod"

[slurm.sonar]
cluster = "sonar"
fields = "sonar"
"""
"""Files without a header: the list their sacct was given."""


def tenure(*words: str, data: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tenure", *words, "--data", str(data)], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("name", BOOKS)
def test_the_book_of_a_recording_is_right(name: str, tmp_path: Path):
    if not SHARED.exists():
        pytest.skip("the shared recordings are not here")
    patterns, options = BOOKS[name]
    files = sorted(str(path) for pattern in patterns for path in SHARED.glob(pattern))
    assert files, patterns
    if options[-1] == "--config":
        (tmp_path / "tenure.toml").write_text(CONFIG, "utf-8")
        options = [*options, str(tmp_path / "tenure.toml")]
    said = tenure("ingest", *files, *options, "--json", data=tmp_path / "data")
    assert said.returncode in {0, 1}, said.stderr  # 1: some rows went to the dead letters
    checked = tenure("verify", "--json", data=tmp_path / "data")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert json.loads(checked.stdout)["errors"] == []


@pytest.mark.chaos
def test_the_book_of_philly_is_right(tmp_path: Path):
    trace = SHARED / "traces" / "philly.csv"
    assert tenure("ingest", str(trace), "--mapping", "philly", data=tmp_path).returncode == 0
    assert tenure("verify", data=tmp_path).returncode == 0
