"""A live Slurm by slurmrestd: over a unix socket, where the socket's owner is known, or over HTTP with a JWT."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from streams.sources.slurm.live.port import Answer, LiveFormat, Silent, Told

VERSIONS: Final = ("v0.0.44", "v0.0.43", "v0.0.42", "v0.0.41", "v0.0.40", "v0.0.39", "v0.0.38")
"""Newest first; the first that slurmrestd knows is taken."""
NOTHING_FOUND: Final = 9003
"""How it says that a question to accounting has no rows."""
SHOWN: Final = 300
OK, UNAUTHORIZED, FORBIDDEN, NOT_FOUND, WRONG_TOKEN = 200, 401, 403, 404, 511


@dataclass(slots=True)
class Rest:
    """`address` is `unix:/path` or `http[s]://host:port`; `user` and `token` go with the latter.

    `version` is that of the API, '' to find it out.
    """

    address: str
    timeout_s: int
    user: str = ""
    token: str = field(default="", repr=False)
    version: str = ""

    def jobs(self) -> Answer:
        """`/slurm/…/jobs`."""
        return self._get("slurm-jobs-json", "slurm", "jobs")

    def ended(self, since_s: int, until_s: int) -> Answer:
        """`/slurmdb/…/jobs` over the window. Jobs held while they ran are not in it; they are asked for by number."""
        window = f"jobs?start_time=uts{since_s}&end_time=uts{until_s + 1}"
        return self._get("slurmdb-jobs-json", "slurmdb", window)

    def accounting(self, jobs: Sequence[str]) -> Answer:
        """`/slurmdb/…/job/N` of each, all attempts."""
        rows: list[object] = []
        numbers = sorted({job.partition("_")[0] for job in jobs})
        for number in numbers:
            told = self._get("slurmdb-jobs-json", "slurmdb", f"job/{number}")
            if isinstance(told, Silent):
                return told
            rows += json.loads(told.data).get("jobs", [])
        return Told("slurmdb-jobs-json", json.dumps({"jobs": rows}).encode())

    def nodes(self) -> Answer:
        """`/slurm/…/nodes`."""
        return self._get("slurm-nodes-json", "slurm", "nodes")

    def reservations(self) -> Answer:
        """`/slurm/…/reservations`."""
        return self._get("slurm-reservations-json", "slurm", "reservations")

    def _get(self, format: LiveFormat, part: str, what: str) -> Answer:
        if not self.version:
            found = self._find_version()
            if isinstance(found, Silent):
                return found
            self.version = found
        path = f"/{part}/{self.version}/{what}"
        told = self._request(path)
        if isinstance(told, Silent):
            return told
        status, body = told
        if _nothing_found(body):
            return Told(format, b'{"jobs": []}')
        if status != OK:
            return Silent(f"slurmrestd at {self.address} answers {status} to {path}: {_why(status, body)}")
        return Told(format, body)

    def _find_version(self) -> str | Silent:
        for version in VERSIONS:
            told = self._request(f"/slurm/{version}/ping")
            if isinstance(told, Silent):
                return told
            status, body = told
            if status == OK:
                return version
            if status != NOT_FOUND:
                return Silent(f"slurmrestd at {self.address} answers {status}: {_why(status, body)}")
        return Silent(
            f"slurmrestd at {self.address} knows none of {', '.join(VERSIONS)}: say `api` as it is in its /openapi"
        )

    def _request(self, path: str) -> tuple[int, bytes] | Silent:
        connection = self._connection()
        try:
            connection.request("GET", path, headers=self._headers())
            answer = connection.getresponse()
            return answer.status, answer.read()
        except TimeoutError:
            return Silent(
                f"slurmrestd at {self.address} gave no answer to {path} in {self.timeout_s} s: is slurmctld (for "
                "/slurmdb: slurmdbd) up? If it only is slow, raise `timeout`"
            )
        except (OSError, http.client.HTTPException) as wrong:
            return Silent(f"slurmrestd at {self.address} cannot be asked for {path} ({wrong}): is it up?")
        finally:
            connection.close()

    def _headers(self) -> Mapping[str, str]:
        headers = {"Accept": "application/json"}
        if self.user:
            headers["X-SLURM-USER-NAME"] = self.user
        if self.token:
            headers["X-SLURM-USER-TOKEN"] = self.token
        return headers

    def _connection(self) -> http.client.HTTPConnection:
        if self.address.startswith("unix:"):
            return _Unix(self.address.removeprefix("unix:"), self.timeout_s)
        parts = urlsplit(self.address)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        return kind(parts.hostname or "localhost", parts.port, timeout=self.timeout_s)


class _Unix(http.client.HTTPConnection):
    def __init__(self, path: str, timeout_s: int) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        """To the socket, whatever the host."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _nothing_found(body: bytes) -> bool:
    if b"9003" not in body:
        return False
    try:
        errors = json.loads(body).get("errors") or []
    except (ValueError, AttributeError):
        return False
    return bool(errors) and all(isinstance(e, dict) and e.get("error_number") == NOTHING_FOUND for e in errors)


def _why(status: int, body: bytes) -> str:
    if status in {UNAUTHORIZED, FORBIDDEN, WRONG_TOKEN}:
        return "it takes no one without a token: `scontrol token username=NAME lifespan=SECONDS` makes one"
    said = " ".join(body.decode("utf-8", "replace").split())[:SHOWN]
    return said or "it says nothing more"
