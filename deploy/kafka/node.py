"""Run one Kafka node on loopback, without Docker: jars by Maven, one JVM, one folder. Needs the standard library alone.

    python3 -m deploy.kafka.node fetch                        the jars, once
    python3 -m deploy.kafka.node up   [--data DIR] [--port N] start it unless it runs, wait until it serves, say where
    python3 -m deploy.kafka.node down [--data DIR]            stop it if it runs; the records stay in DIR

In DIR: `log/` (the records), `server.properties` (as started), `kafka.log` (what it says), `pid`, `address`.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from deploy.processes import HOST, START_S, Missing, Trouble, free_ports, is_free, locked, until

HERE = Path(__file__).resolve().parent
CACHE = HERE.parent.parent / ".cache" / "kafka"
STARTED = "Kafka Server started"
CLUSTER = "dGVudXJlLWxvb3BiYWNrIQ"  # any 16 bytes; every node here is a cluster of its own
GRACE_S = 15.0


class Node:
    """A Kafka node in a folder; whether it runs is read from there, so any process may stop what another started."""

    def __init__(self, data: Path, port: int | None = None) -> None:
        self.data = data.resolve()
        self._wanted = port
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """Host and port, as in `bootstrap.servers`; known once the node has been started."""
        return (self.data / "address").read_text().strip()

    @property
    def pid(self) -> int | None:
        """The running JVM, or None. A pid that was given to another program since is not ours."""
        if self._child is not None:
            return self._child.pid if self._child.poll() is None else None
        try:
            pid = int((self.data / "pid").read_text())
        except (FileNotFoundError, ValueError):
            return None
        return pid if str(self.data / "server.properties") in _command(pid) else None

    def up(self, *, jvm: Sequence[str] = (), with_parent: bool = False) -> str:
        """Start unless running, wait until clients are served, return the address.

        `with_parent`: the kernel kills the node should the process that started it die, however it dies (Linux).
        """
        self.data.mkdir(parents=True, exist_ok=True)
        with locked(self.data / "lock"):
            if self.pid is None:
                self._start(_tool("java"), fetch(), jvm, with_parent=with_parent)
            self._wait_until_serving()
        return self.address

    def down(self, grace_s: float = GRACE_S) -> bool:
        """Stop by SIGTERM, after `grace_s` by SIGKILL; False when it did not run."""
        pid = self.pid
        if pid is None:
            return self.kill()
        os.kill(pid, signal.SIGTERM)
        if until(lambda: self.pid is None, grace_s):
            _keep_archive(self.address)
        self.kill()
        return True

    def kill(self) -> bool:
        """Stop as a power cut does, by SIGKILL; False when it did not run."""
        pid = self.pid
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
            until(lambda: self.pid is None, GRACE_S)
        if self._child is not None:
            self._child.wait()
            self._child = None
        (self.data / "pid").unlink(missing_ok=True)
        return pid is not None

    def _start(self, java: str, jars: Path, jvm: Sequence[str], *, with_parent: bool) -> None:
        self._write_properties()
        if not (self.data / "log" / "meta.properties").exists():
            self._format(java, jars)
        guard = ["setpriv", "--pdeathsig", "KILL"] if with_parent and shutil.which("setpriv") else []
        with (self.data / "kafka.log").open("wb") as log:
            self._child = subprocess.Popen(
                [*guard, *_java(java, jars, self.address), *jvm, "kafka.Kafka", str(self.data / "server.properties")],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        (self.data / "pid").write_text(f"{self._child.pid}\n")

    def _write_properties(self) -> None:
        """The committed settings, and the ports: the wanted one, the last one, or one that is free."""
        wanted = self._wanted
        if wanted is None and (self.data / "address").exists():
            wanted = int(self.address.rpartition(":")[2])
        if wanted is not None and not is_free(wanted):
            raise Trouble(f"Port {wanted} of {HOST} is taken. Stop what holds it, or choose another port.")
        first, second = free_ports("clients", "controller").values()
        port = wanted or first
        controller = first if second == port else second
        own = f"""
# Written by node.py at each start.
listeners=PLAINTEXT://{HOST}:{port},CONTROLLER://{HOST}:{controller}
advertised.listeners=PLAINTEXT://{HOST}:{port}
controller.quorum.voters=1@{HOST}:{controller}
log.dirs={self.data / "log"}
"""
        (self.data / "server.properties").write_text((HERE / "server.properties").read_text() + own)
        (self.data / "address").write_text(f"{HOST}:{port}\n")

    def _format(self, java: str, jars: Path) -> None:
        done = subprocess.run(
            [
                *_java(java, jars),
                *("kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", str(self.data / "server.properties")),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise Trouble(_explained("Kafka could not format its folder", done.stdout + done.stderr))

    def _wait_until_serving(self) -> None:
        """Kafka says that it started once it has let itself in as a broker; its port is open before that."""
        said = self.data / "kafka.log"
        try:
            until(lambda: STARTED in said.read_text() or self.pid is None, START_S)
        except BaseException:  # Ctrl-C must not leave a half-started node behind
            self.kill()
            raise
        if self.pid is None or STARTED not in said.read_text():
            self.kill()
            raise Trouble(_explained(f"Kafka did not start at {self.address}", said.read_text()))


def kafka_version() -> str:
    """The one that pom.xml names."""
    named = re.search(r"<kafka\.version>(.+?)</kafka\.version>", (HERE / "pom.xml").read_text())
    assert named, "pom.xml has no kafka.version"
    return named[1]


def fetch() -> Path:
    """The folder with the jars that pom.xml names, copied by Maven the first time; safe to call from many processes."""
    _tool("java")  # without it the jars are of no use
    jars = CACHE / kafka_version()
    if jars.is_dir():
        return jars
    maven = _tool("mvn")
    CACHE.mkdir(parents=True, exist_ok=True)
    with locked(CACHE / "lock"):
        if jars.is_dir():
            return jars
        print(f"Fetching Kafka {jars.name} by Maven (once, 45 MB)", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as half:  # a half-filled folder never gets the real name
            ask = ["dependency:copy-dependencies", f"-DoutputDirectory={half}/jars"]
            done = subprocess.run(
                [maven, "-q", "-B", "-f", str(HERE / "pom.xml"), *ask], capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise Trouble(_explained("Maven could not fetch Kafka", done.stdout + done.stderr))
            Path(half, "jars").rename(jars)
    return jars


def _java(java: str, jars: Path, address: str = "") -> list[str]:
    """The start of a command line: small heap, quick start.

    A broker that runs for minutes is better off without the second compiler, and with its classes mapped from an
    archive: 1 s to start instead of 3 s. The first node that is stopped gently leaves the archive behind.
    """
    archive = jars / "classes.jsa"
    if archive.exists():
        classes = [f"-XX:SharedArchiveFile={archive}"]
    else:
        classes = [f"-XX:ArchiveClassesAtExit={jars / f'{address}.jsa'}"] if address else []
    return [
        *(java, "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xlog:disable", "-Xlog:all=error:stderr"),
        *classes,
        f"-Dlog4j2.configurationFile={HERE / 'log4j2.properties'}",
        *("-cp", f"{jars}/*"),
    ]


def _keep_archive(address: str) -> None:
    """Give the archive of classes that this node left its name; two nodes writing under one name would spoil it."""
    jars = CACHE / kafka_version()
    left = jars / f"{address}.jsa"
    if left.exists():
        left.replace(jars / "classes.jsa")


def _tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise Missing(
            f"Kafka needs Java 17 or newer and Maven, and `{name}` is not on the PATH. "
            "On Debian: apt-get install default-jre-headless maven."
        )
    return found


def _explained(what: str, said: str) -> str:
    """A sentence, with Java's or Maven's last words below it."""
    if "UnsupportedClassVersionError" in said:
        return f"{what}: this `java` is older than 17. On Debian: apt-get install default-jre-headless."
    last = "\n".join(f"  {line}" for line in said.strip().splitlines()[-12:])
    return f"{what}. Its last words:\n{last or '  (none)'}"


def _command(pid: int) -> str:
    """What a process runs; empty when it is gone, or only waits to be reaped."""
    if Path("/proc/self/cmdline").exists():
        try:
            return Path(f"/proc/{pid}/cmdline").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return ""
    return subprocess.run(["ps", "-p", str(pid), "-o", "command="], capture_output=True, text=True, check=False).stdout


def main(words: Sequence[str]) -> str:
    """Do what the words say and return the sentence to print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["fetch", "up", "down"])
    parser.add_argument("--data", type=Path, default=CACHE / "data", help="the node's folder (.cache/kafka/data)")
    parser.add_argument("--port", type=int, help="where clients connect; the last one, or a free one, if not given")
    said = parser.parse_args(words)
    node = Node(said.data, said.port)
    match said.what:
        case "fetch":
            return f"Kafka's jars are in {fetch()}"
        case "up":
            running = node.pid
            address = node.up()
            runs = "already runs" if running else "runs"
            return f"Kafka {runs} at {address} (process {node.pid}, data in {node.data})"
        case _:
            return "Kafka is stopped" if node.down() else "Kafka was not running"


if __name__ == "__main__":
    try:
        print(main(sys.argv[1:]))
    except Trouble as trouble:
        sys.exit(str(trouble))
