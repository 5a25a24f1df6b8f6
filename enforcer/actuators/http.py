"""One HTTP exchange, with everything that can go wrong in it as a value. Standard library only."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final, NamedTuple
from urllib.parse import urlsplit

TIMEOUT_S: Final = 30.0
MOST_BYTES: Final = 16 * 1024 * 1024
"""Of an answer; a Slurm of 10,000 jobs says less."""


class Reply(NamedTuple):
    """What was answered."""

    status: int
    body: bytes

    @property
    def ok(self) -> bool:
        """2xx."""
        return HTTPStatus.OK <= self.status < HTTPStatus.MULTIPLE_CHOICES

    @property
    def final(self) -> bool:
        """4xx that will be the same when it is asked again."""
        again = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}
        return HTTPStatus.BAD_REQUEST <= self.status < HTTPStatus.INTERNAL_SERVER_ERROR and self.status not in again

    @property
    def json(self) -> dict[str, object]:
        """The body as an object; empty where it is none."""
        try:
            said = json.loads(self.body or b"{}")
        except ValueError:
            return {}
        return said if isinstance(said, dict) else {}

    @property
    def text(self) -> str:
        """The body as one line, for a sentence."""
        return " ".join(self.body[:500].decode(errors="replace").split())


class NoReply(NamedTuple):
    """Why nothing came back, in a sentence."""

    sentence: str


class Http:
    """A server at `http://host:port`, `https://host:port` or `unix:/path`. Redirects are not followed."""

    def __init__(
        self,
        address: str,
        headers: Mapping[str, str] | None = None,
        *,
        tls: ssl.SSLContext | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._address = address
        self._headers = dict(headers or {})
        self._tls = tls
        self._timeout_s = timeout_s

    def ask(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Reply | NoReply:
        """Send one request and read the whole answer."""
        connection = self._connection()
        try:
            connection.request(method, path, body, self._headers | dict(headers or {}))
            response = connection.getresponse()
            return Reply(response.status, response.read(MOST_BYTES))
        except TimeoutError:
            return NoReply(f"{self._address} did not answer within {self._timeout_s:g} s.")
        except (OSError, http.client.HTTPException) as error:
            return NoReply(f"{self._address} does not answer: {error}.")
        finally:
            connection.close()

    def send(
        self, method: str, path: str, content: object, headers: Mapping[str, str] | None = None
    ) -> Reply | NoReply:
        """The same, with a body in JSON."""
        return self.ask(
            method, path, json.dumps(content).encode(), {"Content-Type": "application/json"} | dict(headers or {})
        )

    def _connection(self) -> http.client.HTTPConnection:
        parts = urlsplit(self._address)
        match parts.scheme:
            case "unix":
                return _Local(parts.path, self._timeout_s)
            case "https":
                return http.client.HTTPSConnection(
                    parts.hostname or "", parts.port, timeout=self._timeout_s, context=self._tls
                )
            case "http":
                return http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=self._timeout_s)
            case _:
                raise ValueError(f"{self._address!r} is no address: write http://, https:// or unix:/path")


class _Local(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path: str, timeout_s: float) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)
