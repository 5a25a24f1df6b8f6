"""ClickHouse's HTTP interface over chDB: a server for tests, in a process of its own.

    python -m tests.support.clickhouse_http --path DIR --port 0

prints `http://127.0.0.1:PORT` once it answers, and stops on SIGTERM with the engine closed. Tests start it through
`tests.support.clickhouse.ClickHouseServer`; `open_server("127.0.0.1", port=PORT)` is then a store on it. As many
processes as wish may talk to it at once, and it may be killed and started again on the same folder.

What is behind it is the real engine, so types, settings, parameters, limits and errors are ClickHouse's own. Each
request gets a connection of its own to the engine, as the settings of a request are its own. What differs from a
server: no Keeper and no `ON CLUSTER`; answers are made whole before they are sent; Native blocks are those of protocol
version 0.

`--users FILE` takes the users of a server's `users.d` file. The engine has one user, `default`, so each of the file's
becomes a role with its grants. Before a query of theirs is read, the role is taken and the settings of the profile are
set: the engine itself then refuses what grants, `readonly` and limits do not allow. Quotas are not kept.

Faults on request, each for the next `times` queries (default 1) whose text contains `text` (default: any):

    POST /fault/refuse?code=243     answer with an error of this code, without running the query
    POST /fault/lose                run the query and cut the connection instead of answering
    POST /fault/cut                 cut the connection without running the query
    POST /fault/tear                run the query and cut the connection in the middle of the answer
    POST /fault/wait?seconds=2      wait before running the query
"""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import os
import re
import signal
import socket
import sys
import threading
import time
import zlib
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit
from uuid import uuid4
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

import chdb
import lz4.frame  # type: ignore[import-untyped]
from backports import zstd

# ---------------------------------------------------------------- what a request may carry besides settings

RESERVED: Final = {
    "query",
    "database",
    "user",
    "password",
    "quota_key",
    "role",
    "stacktrace",
    "query_id",
    "session_id",
    "session_timeout",
    "session_check",
    "close_session",
    "compress",
    "decompress",
    "buffer_size",
    "wait_end_of_query",
    "client_protocol_version",
    "default_format",
}

STATUS: Final = {
    194: 401,  # REQUIRED_PASSWORD
    **dict.fromkeys((192, 193, 497, 512, 516), 403),
    **dict.fromkeys(
        (6, 25, 26, 36, 38, 41, 62, 72, 117, 15, 44, 427, 441, 53, 69, 167, 168, 179, 321, 675, 676, 377, 376), 400
    ),
    **dict.fromkeys((60, 46, 47, 50, 56, 81, 115, 63, 73, 336, 78, 511), 404),
    48: 501,  # NOT_IMPLEMENTED
    **dict.fromkeys((76, 209, 439), 503),
    159: 408,  # TIMEOUT_EXCEEDED
}
"""HTTP status by the code of the error; 500 for all others, as the server's exceptionCodeToHTTPStatus has it."""

_CODE: Final = re.compile(r"Code: (\d+)\.")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PROLOGUE: Final = re.compile(rb"(?:\s|--[^\n]*\n|/\*.*?\*/|\()*(\w+)", re.DOTALL)
_CLAUSE: Final = re.compile(
    rb"""
    '(?:[^'\\]|\\.|'')*' | `(?:[^`\\]|\\.|``)*` | "(?:[^"\\]|\\.|"")*" | --[^\n]*\n | /\*.*?\*/
  | \bFORMAT\s+(?P<format>\w+)[ \t\f]*\r?\n? | \b(?P<values>VALUES)\b | \b(?P<select>SELECT|WITH|FROM)\b
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_FORMAT: Final = re.compile(rb"\bFORMAT\s+(\w+)(?:\s+SETTINGS\b[^']*)?[\s;]*$", re.IGNORECASE)
_TEXT: Final = re.compile(rb"""'(?:[^'\\]|\\.|'')*'|`[^`]*`|"[^"]*"|--[^\n]*|/\*.*?\*/""", re.DOTALL)
_IN_A_FILE: Final = re.compile(rb"\bINTO\s+OUTFILE\b|\bFROM\s+INFILE\b", re.IGNORECASE)
_ANSWERING: Final = {"select", "with", "show", "describe", "desc", "exists", "explain", "check", "from"}


class Refused(Exception):
    """An error with ClickHouse's code, before the engine was asked."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"Code: {code}. DB::Exception: {message}")


def quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


# ---------------------------------------------------------------- compression


def unpacked(data: bytes, encoding: str) -> bytes:
    """The body of a request; several frames may follow one another."""
    match encoding:
        case "" | "identity":
            return data
        case "gzip":
            return gzip.decompress(data)
        case "deflate":
            return zlib.decompress(data)
        case "zstd":
            return zstd.decompress(data)
        case "lz4":
            whole = b""
            while data:
                frame = lz4.frame.LZ4FrameDecompressor()
                whole += frame.decompress(data)
                if not frame.eof:
                    raise Refused(33, "Cannot read all data. The lz4 frame is cut off. (CANNOT_READ_ALL_DATA)")
                data = frame.unused_data or b""
            return whole
        case _:
            raise Refused(48, f"Unknown compression method '{encoding}'. (NOT_IMPLEMENTED)")


def packed(data: bytes, accepted: str) -> tuple[bytes, str]:
    """The answer in the first encoding of the server's own order that the client takes, and its name."""
    if "zstd" in accepted:
        return zstd.compress(data), "zstd"
    if "lz4" in accepted:
        return lz4.frame.compress(data), "lz4"
    if "gzip" in accepted:
        return gzip.compress(data, 1), "gzip"
    if "deflate" in accepted:
        return zlib.compress(data, 1), "deflate"
    return data, ""


# ---------------------------------------------------------------- the engine


@dataclass(frozen=True)
class Login:
    """Who may log in. One that is not `free` has a role of its name, and the settings of its profile."""

    name: str
    password: str
    free: bool = True
    profile: dict[str, str] = field(default_factory=dict)


@dataclass
class Answer:
    body: bytes = b""
    format: str | None = None
    summary: dict[str, str] = field(default_factory=dict)


@dataclass
class Request:
    """A query and what came with it. `text` is all of it, data behind an INSERT included."""

    login: Login
    text: bytes
    settings: dict[str, str]
    parameters: dict[str, str]
    database: str
    default_format: str
    read_only: bool
    session: str
    external: list[tuple[str, str, str, bytes]]


class Engine:
    """One chDB in this process. Requests run at once, as far as the engine lets them."""

    def __init__(self, path: str, config: str = "") -> None:
        self._address = f"{os.path.realpath(path)}?config-file={config}" if config else os.path.realpath(path)
        self._kept = chdb.connect(self._address)
        self._sessions: dict[str, tuple[Any, threading.Lock]] = {}
        self._guard = threading.Lock()
        version, zone = (
            self._kept.query("SELECT version(), timezone()", "TSV").bytes().decode().rstrip("\n").split("\t")
        )
        self.version, self.timezone = version, zone

    def close(self) -> None:
        for connection, _ in self._sessions.values():
            connection.close()
        self._kept.close()

    def run(self, request: Request) -> Answer:
        with self._connection(request) as connection:
            for name, structure, fmt, data in request.external:
                connection.query(f"CREATE TEMPORARY TABLE `{name}` ({structure})", "TSV")
                self._insert(connection, f"INSERT INTO `{name}`", fmt, data)
            return self._answer(connection, request)

    @contextmanager
    def _connection(self, request: Request) -> Iterator[Any]:
        """A connection in the request's database, with its settings and its rights."""
        if not request.session:
            connection = chdb.connect(self._address)
            try:
                self._enter(connection, request)
                yield connection
            finally:
                connection.close()
            return
        with self._guard:
            key = f"{request.login.name}/{request.session}"
            known = self._sessions.get(key)
            connection, lock = self._sessions[key] = known or (chdb.connect(self._address), threading.Lock())
        if not lock.acquire(blocking=False):
            raise Refused(373, f"Session {request.session} is locked by a concurrent client. (SESSION_IS_LOCKED)")
        try:
            self._enter(connection, request)
            yield connection
            for name in request.settings:
                connection.query(f"SET {name} = DEFAULT", "TSV")
        finally:
            lock.release()

    def _enter(self, connection: Any, request: Request) -> None:
        if request.database:
            connection.query(f"USE `{request.database}`", "TSV")
        if not request.login.free:
            connection.query(f"SET ROLE `{request.login.name}`", "TSV")
        if request.login.profile:
            connection.query(f"SET {_assigned(request.login.profile)}", "TSV")
        for name in request.settings:
            if not _NAME.fullmatch(name):
                raise Refused(115, f"Unknown setting '{name}'. (UNKNOWN_SETTING)")
        if request.settings:
            changes = _assigned(request.settings)
            if not request.login.free:
                _allowed(connection, changes)
            connection.query(f"SET {changes}", "TSV")
        if request.read_only and connection.query("SELECT getSetting('readonly')", "TSV").bytes() == b"0\n":
            connection.query("SET readonly = 2", "TSV")

    def _answer(self, connection: Any, request: Request) -> Answer:
        word = _PROLOGUE.match(request.text)
        verb = word[1].decode().lower() if word else ""
        if verb == "insert" and (clause := _data_clause(request.text)):
            head, fmt, data = clause
            if not (fmt == "Values" and request.parameters):
                return self._insert(connection, head, fmt, data)
        text = request.text.decode("utf-8", "surrogateescape")
        if verb == "set" and not request.login.free:
            _allowed(connection, text.lstrip()[3:])
        if _IN_A_FILE.search(_TEXT.sub(b"''", request.text)):
            raise Refused(474, "INTO OUTFILE is not allowed. (INTO_OUTFILE_NOT_ALLOWED)")
        if ";" in text.rstrip("; \t\r\n"):
            connection.query(f"SELECT formatQuery({quoted(text)}) FORMAT Null", "TSV")
        trailing = _FORMAT.search(request.text)
        fmt = trailing[1].decode() if trailing else request.default_format
        result = connection.query(text, fmt, params=request.parameters)
        body = result.bytes() or b""
        answers = verb in _ANSWERING
        if fmt == "Native" and not body and answers:
            body = _empty_block(connection, text, request.parameters)
        summary = {"read_rows": str(result.storage_rows_read()), "read_bytes": str(result.storage_bytes_read())}
        summary |= {"result_rows": str(result.rows_read()), "elapsed_ns": str(int(result.elapsed() * 1e9))}
        return Answer(body, fmt if answers else None, summary)

    @staticmethod
    def _insert(connection: Any, head: str, fmt: str, data: bytes) -> Answer:
        inserter = connection.send_insert(head, fmt)
        try:
            for start in range(0, len(data), 1 << 20):
                inserter.append(data[start : start + (1 << 20)])
            done = inserter.finish()
        except BaseException:
            inserter.cancel()
            raise
        written = {"written_rows": str(done.rows_written), "written_bytes": str(done.bytes_written)}
        return Answer(summary=written | {"elapsed_ns": str(int(done.elapsed * 1e9))})


def _assigned(settings: dict[str, str]) -> str:
    return ", ".join(f"{name} = {quoted(value)}" for name, value in settings.items())


def _allowed(connection: Any, changes: str) -> None:
    """Raise what the engine says to such settings. It lets `SET` through, which only a server holds to `readonly`."""
    if re.match(r"\s*(DEFAULT\s+)?ROLE\b", changes, re.IGNORECASE):
        raise Refused(512, "Role should be granted to set it. (SET_NON_GRANTED_ROLE)")
    connection.query(f"SELECT 1 FORMAT Null SETTINGS {changes}", "TSV")


def _data_clause(text: bytes) -> tuple[str, str, bytes] | None:
    """An INSERT with its data behind it: the statement, the format, the data. None where it selects instead."""
    for found in _CLAUSE.finditer(text):
        if found["select"]:
            return None
        if found["format"]:
            return text[: found.start()].decode(), found["format"].decode(), text[found.end() :]
        if found["values"]:
            return text[: found.start()].decode(), "Values", text[found.end() :]
    return None


def _empty_block(connection: Any, text: str, parameters: dict[str, str]) -> bytes:
    """A Native block of no rows, which chDB leaves out and a server sends."""
    query = re.sub(r"\bFORMAT\s+Native[\s;]*$", "", text, flags=re.IGNORECASE)
    try:
        described = connection.query(f"DESCRIBE (\n{query}\n)", "JSONCompactEachRow", params=parameters).bytes()
    except Exception:  # noqa: BLE001 -- SHOW and the like have no description; an empty body means no rows as well
        return b""
    columns = [json.loads(line)[:2] for line in described.splitlines()]
    block = bytes((len(columns), 0))
    for name, kind in columns:
        for part in (name.encode(), kind.encode()):
            block += _leb128(len(part)) + part
    return block


def _leb128(number: int) -> bytes:
    low, rest = number & 0x7F, number >> 7
    return bytes((low | 0x80,)) + _leb128(rest) if rest else bytes((low,))


# ---------------------------------------------------------------- faults


@dataclass
class Fault:
    kind: str
    times: int
    text: bytes
    code: int
    seconds: float


class Faults:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[Fault] = deque()

    def add(self, kind: str, given: dict[str, str]) -> None:
        fault = Fault(
            kind,
            int(given.get("times", "1")),
            given.get("text", "").encode(),
            int(given.get("code", "243")),
            float(given.get("seconds", "1")),
        )
        with self._lock:
            self._waiting.append(fault)

    def take(self, text: bytes) -> Fault | None:
        """The first fault that waits for such a query; it has happened once more then."""
        with self._lock:
            for fault in self._waiting:
                if fault.text in text:
                    fault.times -= 1
                    if not fault.times:
                        self._waiting.remove(fault)
                    return fault
        return None


# ---------------------------------------------------------------- HTTP


class Server(ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True

    def __init__(self, engine: Engine, logins: dict[str, Login], port: int) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.engine = engine
        self.logins = logins
        self.faults = Faults()
        self.running = 0
        self.changed = threading.Condition()

    @contextmanager
    def counted(self) -> Iterator[None]:
        with self.changed:
            self.running += 1
        try:
            yield
        finally:
            with self.changed:
                self.running -= 1
                self.changed.notify_all()

    def drained(self, seconds: float) -> bool:
        with self.changed:
            return self.changed.wait_for(lambda: not self.running, seconds)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is its own business; everything else is printed."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    server_version = "ClickHouse-over-chDB"
    sys_version = ""
    disable_nagle_algorithm = True
    wbufsize = -1
    timeout = 60

    def do_GET(self) -> None:
        self._handled()

    def do_POST(self) -> None:
        self._handled()

    def do_HEAD(self) -> None:
        self._handled()

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _handled(self) -> None:
        address = urlsplit(self.path)
        given = dict(parse_qsl(address.query, keep_blank_values=True))
        body = self._body()
        if address.path in ("/ping", "/replicas_status"):
            self._send(200, b"Ok.\n", {"Content-Type": "text/html; charset=UTF-8"})
        elif address.path.startswith("/fault/"):
            self.server.faults.add(address.path.removeprefix("/fault/"), given)
            self._send(200, b"", {})
        elif address.path == "/" and not given and not body:
            self._send(200, b"Ok.\n", {"Content-Type": "text/html; charset=UTF-8"})
        elif address.path in ("/", "/query"):
            with self.server.counted():
                self._query(given, body)
        else:
            self._send(404, f"There is no handle {address.path}\n".encode(), {})

    def _query(self, given: dict[str, str], body: bytes) -> None:
        query_id = given.get("query_id") or str(uuid4())
        own = {
            "X-ClickHouse-Query-Id": query_id,
            "X-ClickHouse-Timezone": self.server.engine.timezone,
            "X-ClickHouse-Server-Display-Name": "chdb",
        }
        accepted = self.headers.get("Accept-Encoding", "") if given.get("enable_http_compression") == "1" else ""
        try:
            request = self._request(given, body)
            fault = self.server.faults.take(request.text)
            if fault:
                self._before(fault)
            answer = self.server.engine.run(request)
        except ConnectionAbortedError:
            self._hang_up()
            return
        except Exception as error:  # noqa: BLE001 -- whatever it is, the client is told
            self._fail(str(error), own, accepted)
            return
        if fault and fault.kind == "lose":
            self._hang_up()
            return
        if answer.format:
            own["X-ClickHouse-Format"] = answer.format
        nothing = dict.fromkeys(("read_rows", "read_bytes", "written_rows", "written_bytes", "total_rows_to_read"), "0")
        own["X-ClickHouse-Summary"] = json.dumps(nothing | answer.summary, separators=(",", ":"))
        kind = "application/octet-stream" if answer.format == "Native" else "text/tab-separated-values; charset=UTF-8"
        self._send(200, answer.body, own | {"Content-Type": kind}, accepted, torn=bool(fault and fault.kind == "tear"))

    def _before(self, fault: Fault) -> None:
        match fault.kind:
            case "refuse":
                raise Refused(fault.code, "as the test wishes. (FAULT)")
            case "cut":
                raise ConnectionAbortedError
            case "wait":
                time.sleep(fault.seconds)
            case _:
                pass

    def _request(self, given: dict[str, str], body: bytes) -> Request:
        external: list[tuple[str, str, str, bytes]] = []
        kind = self.headers.get("Content-Type", "")
        if kind.startswith("multipart/form-data"):
            body, given, external = _form(kind, body, given)
        query = given.get("query", "").encode("utf-8", "surrogateescape")
        text = query + b"\n" + body if query else body
        if not text.strip():
            raise Refused(62, "Syntax error: failed at position 1 (end of query): Empty query. (SYNTAX_ERROR)")
        settings = {
            name: value for name, value in given.items() if name not in RESERVED and not name.startswith("param_")
        }
        return Request(
            login=self._login(given),
            text=text,
            settings=settings,
            parameters={name[6:]: value for name, value in given.items() if name.startswith("param_")},
            database=self.headers.get("X-ClickHouse-Database") or given.get("database", ""),
            default_format=self.headers.get("X-ClickHouse-Format") or given.get("default_format", "TabSeparated"),
            read_only=self.command != "POST",
            session=given.get("session_id", ""),
            external=external,
        )

    def _login(self, given: dict[str, str]) -> Login:
        name, password = given.get("user", "default"), given.get("password", "")
        if header := self.headers.get("X-ClickHouse-User"):
            name, password = header, self.headers.get("X-ClickHouse-Key", "")
        elif (basic := self.headers.get("Authorization", "")).startswith("Basic "):
            name, _, password = base64.b64decode(basic.removeprefix("Basic ")).decode().partition(":")
        known = self.server.logins.get(name)
        if known is None or known.password != password:
            raise Refused(
                516,
                f"{name}: Authentication failed: password is incorrect, or there is no user with such name. "
                "(AUTHENTICATION_FAILED)",
            )
        return known

    # ------------------------------------------------------------ bytes in and out

    def _hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _body(self) -> bytes:
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            data = b"".join(self._chunks())
        else:
            length = int(self.headers.get("Content-Length") or 0)
            data = self.rfile.read(length)
            if len(data) < length:
                raise ConnectionResetError
        try:
            return unpacked(data, self.headers.get("Content-Encoding", ""))
        except (Refused, OSError, RuntimeError, zlib.error, zstd.ZstdError) as error:
            self._fail(str(error), {}, "")
            raise ConnectionAbortedError from error

    def _chunks(self) -> Iterator[bytes]:
        while True:
            line = self.rfile.readline()
            if not line.endswith(b"\r\n"):
                raise ConnectionResetError
            size = int(line.split(b";")[0], 16)
            chunk = self.rfile.read(size)
            if len(chunk) < size or self.rfile.readline() != b"\r\n":
                raise ConnectionResetError
            if not size:
                return
            yield chunk

    def _fail(self, message: str, headers: dict[str, str], accepted: str) -> None:
        message = message[max(message.find("Code: "), 0) :].strip()
        code = int(found[1]) if (found := _CODE.search(message)) else 1001
        if not found:
            message = f"Code: 1001. DB::Exception: {message} (STD_EXCEPTION)"
        if "(version " not in message:
            message += f" (version {self.server.engine.version} (official build))"
        own = {"X-ClickHouse-Exception-Code": str(code), "Content-Type": "text/plain; charset=UTF-8"}
        self._send(STATUS.get(code, 500), message.encode("utf-8", "backslashreplace") + b"\n", headers | own, accepted)

    def _send(
        self, status: int, body: bytes, headers: dict[str, str], accepted: str = "", *, torn: bool = False
    ) -> None:
        body, encoding = packed(body, accepted) if accepted and body else (body, "")
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if encoding:
            self.send_header("Content-Encoding", encoding)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[: len(body) // 2] if torn else body)
        self.wfile.flush()
        if torn:
            self._hang_up()


def _form(
    kind: str, body: bytes, given: dict[str, str]
) -> tuple[bytes, dict[str, str], list[tuple[str, str, str, bytes]]]:
    """A multipart body: plain fields join the parameters of the address, files are tables of this query alone."""
    message = BytesParser(policy=HTTP).parsebytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body)
    fields, external = dict(given), []
    for part in message.iter_parts():
        name = str(part.get_param("name", header="content-disposition"))
        payload = part.get_payload(decode=True)
        data = payload if isinstance(payload, bytes) else b""
        if part.get_filename() is None:
            fields[name] = data.decode("utf-8", "surrogateescape")
        else:
            types = given.get(f"{name}_types", "")
            structure = given.get(f"{name}_structure", "")
            structure = structure or ", ".join(f"_{n} {t}" for n, t in enumerate(types.split(","), 1))
            external.append((name, structure, given.get(f"{name}_format", "TabSeparated"), data))
    for name, *_ in external:
        for suffix in ("types", "structure", "format"):
            fields.pop(f"{name}_{suffix}", None)
    return b"", fields, external


# ---------------------------------------------------------------- users


def users_of(file: str) -> dict[str, Login]:
    """The users of a `users.d` file, with the settings of their profiles."""
    root = ET.parse(file).getroot()
    logins = {}
    for user in root.findall("users/*"):
        password = user.find("password")
        if password is not None:
            variable = password.get("from_env")
            profile = root.findall(f"profiles/{user.findtext('profile', 'default').strip()}/*")
            logins[user.tag] = Login(
                user.tag,
                os.environ[variable] if variable else (password.text or ""),
                free=False,
                profile={setting.tag: (setting.text or "").strip() for setting in profile},
            )
    return logins


def engine_config(file: str, folder: Path) -> str:
    """A configuration in which the engine's `default` may take each user's grants as a role."""
    root = ET.parse(file).getroot()
    roles = {"everything": ["GRANT ALL ON *.* WITH GRANT OPTION"]}
    roles |= {
        user.tag: [grant.text or "" for grant in user.findall("grants/query")] for user in root.findall("users/*")
    }
    granting = "".join(f"<{name}><grants>{_queries(grants)}</grants></{name}>" for name, grants in roles.items())
    own = _queries([f"GRANT `{name}`" for name in roles])
    default = f"<default><password/><networks><ip>::/0</ip></networks><grants>{own}</grants></default>"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "users.xml").write_text(
        f"<clickhouse><profiles><default/></profiles><roles>{granting}</roles><users>{default}</users></clickhouse>"
    )
    (folder / "config.xml").write_text(
        f"<clickhouse><users_config>{folder.resolve()}/users.xml</users_config></clickhouse>"
    )
    return str(folder.resolve() / "config.xml")


def _queries(texts: list[str]) -> str:
    return "".join(f"<query>{escape(' '.join(text.split()))}</query>" for text in texts)


# ---------------------------------------------------------------- the process


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--path", required=True, help="the data folder")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--password", default="", help="of the user `default`")
    parser.add_argument("--users", default="", metavar="FILE", help="a server's users.d file; then its users alone")
    parser.add_argument("--with-parent", action="store_true", help="stop when the parent process is gone")
    given = parser.parse_args()
    logins = {"default": Login("default", given.password)}
    config = ""
    if given.users:
        logins = users_of(given.users)
        config = engine_config(given.users, Path(given.path) / "endpoint")
    engine = Engine(given.path, config)
    server = Server(engine, logins, given.port)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.signal(signal.SIGINT, lambda *_: stop.set())
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    parent = os.getppid()
    while not stop.wait(0.5):
        if given.with_parent and os.getppid() != parent:
            break
    server.shutdown()
    server.server_close()
    server.drained(10)
    engine.close()


if __name__ == "__main__":
    main()
