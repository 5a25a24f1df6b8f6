"""A ClickHouse server for tests: the HTTP endpoint over chDB, as a process that can be stopped, killed, started again.

    with ClickHouseServer() as server:
        store = server.store()              # opened with open_server, tables not yet made
        server.kill(); server.start()       # the same address and the same data
        server.fault("lose", text="INSERT") # the next insert is done and never answered

`shared_server()` is one per test process, stopped at exit; tests keep apart in databases, as with chDB.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from select import select
from typing import Self
from urllib.parse import urlencode, urlsplit
from urllib.request import Request, urlopen

from ledger.store.clickhouse import ClickHouse, open_server
from tests.support.stores import Stores

ROOT = Path(__file__).resolve().parents[2]
START_S = 60


class ClickHouseServer:
    """One endpoint on one folder; `address` stays the same over restarts."""

    def __init__(
        self,
        folder: Path | str | None = None,
        *,
        password: str = "",
        users: Path | str = "",
        passwords: dict[str, str] | None = None,
        zone: str = "UTC",
    ) -> None:
        """`users` is a server's users.d file, and `passwords` those it takes from variables of the environment."""
        self._made = None if folder else tempfile.mkdtemp(prefix="tenure-clickhouse-")
        self.folder = str(folder or self._made)
        self.password = password
        self.users = str(users)
        self.passwords = passwords or {}
        self.zone = zone
        self.port = 0
        self.timeout_s = 300
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()
        if self._made:
            shutil.rmtree(self._made, ignore_errors=True)

    @property
    def host(self) -> str:
        return "127.0.0.1"

    @property
    def address(self) -> str:
        """For TENURE_CLICKHOUSE; the password goes into TENURE_CLICKHOUSE_PASSWORD."""
        return f"http://{self.host}:{self.port}"

    @property
    def process(self) -> subprocess.Popen[str]:
        assert self._process is not None, "the server is not started"
        return self._process

    def start(self) -> Self:
        """Start, and wait until it answers."""
        assert self._process is None, "the server runs already"
        arguments = ["--path", self.folder, "--port", str(self.port), "--with-parent"]
        arguments += ["--password", self.password, "--users", self.users]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.clickhouse_http", *arguments],
            cwd=ROOT,
            env=os.environ | {"TZ": self.zone} | self.passwords,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        ready, _, _ = select([self._process.stdout], [], [], START_S)
        line = self._process.stdout.readline() if ready else ""
        if not line:
            self.kill()
            raise AssertionError(f"the ClickHouse endpoint on {self.folder} did not start; its words are on stderr")
        self.port = urlsplit(line.strip()).port or 0
        return self

    def stop(self) -> None:
        """SIGTERM: what runs is finished and the engine closed."""
        if self._process:
            self._end(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL, in the middle of whatever it does."""
        if self._process:
            self._end(signal.SIGKILL)

    def restart(self) -> Self:
        self.stop()
        return self.start()

    def pause(self) -> None:
        """Connections are accepted by the system, and nobody answers."""
        os.kill(self.process.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)

    def fault(self, kind: str, **given: object) -> None:
        """Arm a fault: `refuse`, `lose`, `cut`, `tear` or `wait`; see tests.support.clickhouse_http."""
        self.post(f"/fault/{kind}?{urlencode(given)}")

    def post(self, path: str, body: bytes = b"", **headers: str) -> bytes:
        """Raises urllib's HTTPError for anything but success."""
        with urlopen(Request(f"{self.address}{path}", data=body, method="POST", headers=headers), timeout=60) as answer:
            return bytes(answer.read())

    def store(self, database: str = "tenure", user: str = "default", password: str | None = None) -> ClickHouse:
        """A store on it, its tables not yet made."""
        given = self.password if password is None else password
        return open_server(
            self.host, port=self.port, user=user, password=given, database=database, timeout_s=self.timeout_s
        )

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self.process, None
        process.send_signal(how)
        if how == signal.SIGTERM:
            process.send_signal(signal.SIGCONT)
        try:
            process.wait(30)
        finally:
            process.kill()
            process.wait()
            if process.stdout:
                process.stdout.close()


@cache
def shared_server() -> ClickHouseServer:
    """This process's server."""
    server = ClickHouseServer().start()
    atexit.register(server.__exit__)
    return server


STORES = Stores(lambda database: shared_server().store(database))
