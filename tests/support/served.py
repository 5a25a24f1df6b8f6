"""An HTTP server in this process, on loopback, answered by a function."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple


class Asked(NamedTuple):
    """A request."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


Answer = Callable[[Asked], tuple[int, object]]
"""The status, and what goes into the body as JSON."""


class Served:
    """Serves until closed; `away` refuses connections, at the same address afterwards."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._server = self._start(0)
        self._port = self._server.server_address[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @contextmanager
    def away(self) -> Iterator[None]:
        self.close()
        try:
            yield
        finally:
            self._server = self._start(self._port)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _start(self, port: int) -> ThreadingHTTPServer:
        answer = self._answer

        class Handler(BaseHTTPRequestHandler):
            def _do(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                status, content = answer(Asked(self.command, self.path, dict(self.headers), body))
                said = b"" if content is None else json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            do_GET = do_POST = do_PATCH = do_DELETE = _do  # noqa: N815 - as the library names them

            def log_message(self, *args: object) -> None:
                """Quiet."""

        server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return server
