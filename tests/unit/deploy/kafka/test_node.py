"""deploy/kafka/node.py: what is not running, said in sentences; what runs is found and stopped again."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from deploy.kafka import node as module
from deploy.kafka.node import Node, main
from deploy.processes import PORTS, Missing, Trouble
from tests.support.kafka import Broker

ROOT = Path(__file__).resolve().parents[4]


def gone(pid: int) -> bool:
    """Wait for a process to end; at most a few seconds."""
    for _ in range(100):
        if not module._command(pid):
            return True
        time.sleep(0.05)
    return False


@pytest.fixture
def jars(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder that stands for fetched jars, and a `java` that the test writes."""
    monkeypatch.setattr(module, "CACHE", tmp_path / "cache")
    jars = tmp_path / "cache" / module.kafka_version()
    jars.mkdir(parents=True)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return jars


def fake_java(tmp_path: Path, script: str) -> None:
    (tmp_path / "java").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "java").chmod(0o755)


@pytest.mark.parametrize("lacking", ["java", "mvn"])
def test_a_missing_program_is_named_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lacking: str
) -> None:
    monkeypatch.setattr(module, "CACHE", tmp_path / "cache")
    monkeypatch.setenv("PATH", str(tmp_path))
    fake_java(tmp_path, "exit 0")
    if lacking == "java":
        (tmp_path / "java").unlink()
    with pytest.raises(Missing, match=rf"`{lacking}` is not on the PATH.*apt-get install default-jre-headless maven"):
        main(["up", "--data", str(tmp_path / "data")])


def test_an_old_java_is_named(jars: Path, tmp_path: Path) -> None:
    fake_java(tmp_path, "echo 'java.lang.UnsupportedClassVersionError: kafka/tools/StorageTool' >&2; exit 1")
    with pytest.raises(Trouble, match="older than 17"):
        Node(tmp_path / "data").up()


def test_a_node_that_dies_at_start_says_its_last_words_and_leaves_no_process(jars: Path, tmp_path: Path) -> None:
    fake_java(tmp_path, "case $* in *StorageTool*) exit 0;; esac; echo 'no room for the log'; exit 1")
    node = Node(tmp_path / "data")
    with pytest.raises(Trouble, match=r"(?s)did not start at 127.0.0.1:\d+.*no room for the log"):
        node.up()
    assert node.pid is None
    assert not (tmp_path / "data" / "pid").exists()


def test_a_node_that_never_serves_is_ended(jars: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "START_S", 0.3)
    fake_java(tmp_path, f"case $* in *StorageTool*) exit 0;; esac; echo $$ > {tmp_path}/fake; exec sleep 60")
    with pytest.raises(Trouble, match="did not start"):
        Node(tmp_path / "data").up()
    assert gone(int((tmp_path / "fake").read_text()))


def test_a_taken_port_is_named(jars: Path, tmp_path: Path) -> None:
    fake_java(tmp_path, "exit 0")
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        with pytest.raises(Trouble, match=rf"Port {port} of 127.0.0.1 is taken"):
            Node(tmp_path / "data", port).up()


def test_a_pid_given_to_another_program_is_left_alone(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        (tmp_path / "pid").write_text(f"{other.pid}\n")
        assert main(["down", "--data", str(tmp_path)]) == "Kafka was not running"
        assert other.poll() is None
        other.kill()


def test_stopping_what_does_not_run_is_no_trouble(tmp_path: Path) -> None:
    assert main(["down", "--data", str(tmp_path / "nowhere")]) == "Kafka was not running"


def test_up_and_down_twice_are_as_once(kafka: Broker, tmp_path: Path) -> None:
    """With the real thing; `kafka` is asked for so that the test is skipped where nothing can run."""

    def said(what: str) -> str:
        command = [sys.executable, module.__file__, what, "--data", str(tmp_path)]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout

    node = Node(tmp_path)
    first = said("up")
    try:
        pid = node.pid
        assert pid is not None
        assert first.startswith(f"Kafka runs at {node.address} (process {pid},")
        assert said("up").startswith(f"Kafka already runs at {node.address} (process {pid},")
        assert int(node.address.rpartition(":")[2]) in PORTS
    finally:
        assert said("down") == "Kafka is stopped\n"
    assert gone(pid)
    assert said("down") == "Kafka was not running\n"


def test_a_node_dies_with_the_process_that_started_it(kafka: Broker, tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from tests.support.kafka import Broker\n"
        "broker = Broker(Path(sys.argv[1])); broker.start(); print(broker.node.pid, flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as starter:
        assert starter.stdout is not None
        pid = int(starter.stdout.readline())
        assert "kafka.Kafka" in module._command(pid)
        starter.send_signal(signal.SIGKILL)
    assert gone(pid)
