"""What can go wrong between the book and its database, as a small tree; each message says what to do.

`translated` is the only place that knows the wording and the numbers of ClickHouse's errors.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import LOCK_NB, LOCK_SH, flock
from pathlib import Path

from clickhouse_connect.driver.exceptions import ClickHouseError, OperationalError
from clickhouse_connect.driver.exceptions import Error as DriverError


class StoreError(Exception):
    """The store could not do what was asked; the message is a sentence a person can act on."""


class StoreBusy(StoreError):
    """Another process has the data folder open."""


class StoreFull(StoreError):
    """The disk is full, or what this process may write of it; nothing of the failed write is kept."""


class StoreUnreachable(StoreError):
    """The database server does not answer, or cannot take it now. Worth trying again."""


class StoreDenied(StoreError):
    """The database server does not let this user in."""


class SchemaTooNew(StoreError):
    """The tables were made by a newer Tenure than this one."""


class QueryRefused(StoreError):
    """The query is wrong, or asks for what a reader may not do."""


class QueryTooLarge(StoreError):
    """The query ran into its limit of time, rows or memory."""


FEWER = ": ask for fewer hours or columns"

NOT_ENOUGH_SPACE = 243
UNREACHABLE = {95, 96, 203, 209, 210, 279}
"""The server could not reach another one, or its client: sockets, connections, network."""
NOT_NOW = {
    202,  # too many queries at once
    225,  # no Keeper
    236,  # aborted, as by a server that stops
    242,  # the table is read-only until Keeper answers
    244,
    252,  # too many parts: merges are behind
    254,
    265,
    285,  # too few live replicas for the quorum
    286,
    289,
    319,  # the insert's fate is unknown: the quorum did not answer in time
    364,
    394,  # cancelled, as by a server that stops
    439,
    574,
    733,
    745,  # overloaded
    762,
    999,  # Keeper's own errors
}
"""A server that is up but cannot do it at the moment. Every write of ours may be done twice."""
DENIED = {192, 193, 194, 516}
"""Unknown user, wrong or missing password."""
TOO_LARGE = {158, 159, 160, 201, 241, 307, 396}
"""Too many rows, timeout, too slow, quota, memory limit, too many bytes, too many rows or bytes."""
REFUSED = {
    6,
    27,
    36,
    41,
    43,
    44,
    46,
    47,
    53,
    60,
    62,
    63,
    70,
    81,
    115,
    164,
    179,
    215,
    386,
    403,
    456,
    457,
    497,
    801,
}
"""Unparsable, unknown or ill-typed names and values, readonly, access denied, a missing parameter."""

_NOT_STARTED = "Error initializing EmbeddedServer"
_OTHER_PATH = re.compile(r"already initialized with path '(?P<held>[^']*)'")
_FULL = {
    errno.ENOSPC: ("no space left", "free some"),
    errno.EDQUOT: ("the disk quota is used up", "free some, or have it raised"),
    errno.EFBIG: ("a file would be larger than this process may write", "raise its limit (`ulimit -f`)"),
}
"""How a disk can be full for a writer, and what to do."""
_NO_SPACE = re.compile("|".join((*map(os.strerror, _FULL), "NOT_ENOUGH_SPACE")))
_FOLDER = re.compile(r"filesystem error: in \w+: (?P<why>[^\[\n]+)")
_REFUSED_BY_HOST = re.compile(r"\[Errno -?\d+\] (?P<why>[^\")]+)")
_SYNTAX = re.compile(r"Syntax error: failed at position \d+( \((?P<near>.*?)\))?.*")
_OF_REPLICAS = re.compile(r"SYNC REPLICA|[Dd]istributed.?(DDL|ddl)|quorum")
_OF_A_PROXY = re.compile(r"HTTP status (429|50[234])\b")
_NOISE = re.compile(
    r"\s*\(version [^()]*(\([^()]*\))?\)|\bCode: \d+\. |DB::Exception: |\.? \([A-Z][A-Z_]+\)"
    r"|Received ClickHouse exception, code: \d+, server response: | \(for url [^)]*\)"
)


def _sentence(text: str) -> str:
    """ClickHouse's own words, first line, without codes and versions."""
    lines = text.strip().splitlines()
    if syntax := _SYNTAX.search(text):
        return f"syntax error near {syntax['near'] or 'the end'!r}"
    return _NOISE.sub("", lines[0]).strip() if lines else "no reason given"


def _translate(error: Exception, where: str) -> StoreError:
    """The StoreError that says what `error` means for the store at `where`."""
    text = str(error)
    code = error.code if isinstance(error, DriverError) else None
    if _NOT_STARTED in text and (holder := _holder(where)):
        return StoreBusy(
            f"{where} is open in another process ({holder}), and chDB allows one: stop that process first "
            "(a `tenure up` that is started again goes on where it was), or keep the book on a ClickHouse server"
        )
    if other := _OTHER_PATH.search(text):
        return StoreBusy(f"this process already has {other['held']} open, and chDB allows one folder: close it")
    if folder := _FOLDER.search(text):
        return StoreError(f"{where} cannot be opened as a data folder: {folder['why'].strip()}")
    full = _NO_SPACE.search(text)
    if code == NOT_ENOUGH_SPACE or full:
        found, advice = _full(full[0] if full else "")
        return StoreFull(f"{found} for {where}: {advice}, then start again; nothing written was lost")
    if isinstance(error, OSError) or code in UNREACHABLE or (code is None and _is_transport(error)):
        why = _REFUSED_BY_HOST.search(text)
        return StoreUnreachable(f"{where} does not answer: {why['why'] if why else _sentence(text)}")
    if code in NOT_NOW or (code in TOO_LARGE and _OF_REPLICAS.search(text)):
        return StoreUnreachable(f"{where} cannot do it now: {_sentence(text)}")
    if code in DENIED:
        return StoreDenied(f"{where} refuses the login: check the user in its address, and the password")
    if code in TOO_LARGE:
        return QueryTooLarge(_sentence(text) + FEWER)
    if code in REFUSED:
        return QueryRefused(_sentence(text))
    return StoreError(f"{where}: {_sentence(text)}")


def _full(words: str) -> tuple[str, str]:
    """What is full, in the operating system's words, and what to do; else it is the disk."""
    return next((told for number, told in _FULL.items() if os.strerror(number) == words), _FULL[errno.ENOSPC])


def _holder(folder: str) -> str | None:
    """Who has the folder open, as its status file says; None for nobody.

    chDB prints the reason to stderr and raises without it, so the lock is asked itself.
    """
    try:
        with (Path(folder) / "status").open() as status:
            try:
                flock(status, LOCK_SH | LOCK_NB)
            except BlockingIOError:
                return status.readline().strip()
    except OSError:
        return None
    return None


def _is_transport(error: Exception) -> bool:
    return isinstance(error, OperationalError) or _OF_A_PROXY.search(str(error)) is not None


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Raise what the block raises as a StoreError about the store at `where`."""
    try:
        yield
    except ClickHouseError as error:
        raise _translate(error, where) from error
    except OSError as error:
        if error.errno in _FULL:
            found, advice = _FULL[error.errno]
            raise StoreFull(f"{found} for the temporary file of a write to {where}: {advice}") from error
        raise _translate(error, where) from error


@contextmanager
def written(where: str) -> Iterator[None]:
    """As `translated`, for a write: what it lacked for, memory or time, the next attempt may have."""
    try:
        with translated(where):
            yield
    except QueryTooLarge as error:
        why = str(error).removesuffix(FEWER)
        raise StoreUnreachable(f"{where} cannot do it now: {why}") from error


@contextmanager
def answered(where: str) -> Iterator[None]:
    """As `translated`, for a typed query: what is not the store's trouble is the query's, such as 1 % 0."""
    try:
        with translated(where):
            yield
    except StoreError as error:
        if type(error) is StoreError:
            raise QueryRefused(str(error).removeprefix(f"{where}: ")) from error
        raise
