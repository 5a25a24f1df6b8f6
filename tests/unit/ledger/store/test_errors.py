"""Errors of the database as sentences a person can act on."""

import errno
import os

import pytest
from clickhouse_connect.driver.exceptions import (
    DatabaseError,
    OperationalError,
    ProgrammingError,
    StreamFailureError,
)

from ledger.store.errors import (
    QueryRefused,
    QueryTooLarge,
    StoreBusy,
    StoreDenied,
    StoreError,
    StoreFull,
    StoreUnreachable,
    answered,
    translated,
    written,
)

CASES = [
    (
        DatabaseError(
            "Code: 243. DB::Exception: Cannot reserve 1.00 MiB, not enough space. (NOT_ENOUGH_SPACE)", code=243
        ),
        StoreFull,
    ),
    (DatabaseError("write failed: errno: 28, strerror: No space left on device", code=75), StoreFull),
    (OSError(errno.ENOSPC, "No space left on device", "/tmp/x.native"), StoreFull),
    (OSError(errno.EFBIG, "File too large"), StoreFull),
    (OSError(errno.EDQUOT, "Disk quota exceeded"), StoreFull),
    (DatabaseError("Cannot write to file: , errno: 27, strerror: File too large", code=75), StoreFull),
    (DatabaseError("Cannot write to file: , errno: 122, strerror: Disk quota exceeded", code=75), StoreFull),
    (OSError(errno.EACCES, "Permission denied"), StoreUnreachable),
    (OperationalError('Error ... [Errno 111] Connection refused")) executing'), StoreUnreachable),
    (DatabaseError("HTTP driver received HTTP status 502, server response: Bad Gateway"), StoreUnreachable),
    (StreamFailureError("Stream ended unexpectedly (connection closed by server)"), StoreUnreachable),
    (DatabaseError("Code: 252. DB::Exception: Too many parts (300). Merges are slower", code=252), StoreUnreachable),
    (
        DatabaseError("Code: 999. Coordination::Exception: Session expired. (KEEPER_EXCEPTION)", code=999),
        StoreUnreachable,
    ),
    (
        DatabaseError(
            "Code: 159. DB::Exception: Distributed DDL task /clickhouse/task_queue/ddl/query-0000000012 is not "
            "finished on 1 of 3 hosts. (TIMEOUT_EXCEEDED)",
            code=159,
        ),
        StoreUnreachable,
    ),
    (DatabaseError("Code: 516. DB::Exception: default: Authentication failed", code=516), StoreDenied),
    (DatabaseError("Code: 159. DB::Exception: Timeout exceeded", code=159), QueryTooLarge),
    (DatabaseError("Code: 241. DB::Exception: Memory limit exceeded", code=241), QueryTooLarge),
    (
        DatabaseError("Code: 164. DB::Exception: Cannot execute query in readonly mode. (READONLY)", code=164),
        QueryRefused,
    ),
    (ProgrammingError("EmbeddedServer already initialized with path '/a', cannot connect with '/b'"), StoreBusy),
    (DatabaseError("Code: 117. DB::Exception: something of our own", code=117), StoreError),
]


@pytest.mark.parametrize(("raised", "expected"), CASES, ids=[str(e)[:40] for e, _ in CASES])
def test_each_error_has_its_place_in_the_tree(raised: Exception, expected: type[StoreError]):
    with pytest.raises(StoreError) as caught, translated("/data/book"):
        raise raised
    assert type(caught.value) is expected
    assert caught.value.__cause__ is raised


@pytest.mark.parametrize(("raised", "_expected"), CASES, ids=[str(e)[:40] for e, _ in CASES])
def test_no_message_shows_the_machinery(raised: Exception, _expected: type[StoreError]):
    with pytest.raises(StoreError) as caught, translated("/data/book"):
        raise raised
    assert not any(noise in str(caught.value) for noise in ("DB::Exception", "Code:", "(version", "(READONLY)"))


def test_a_full_disk_names_the_folder_and_what_to_do():
    with pytest.raises(StoreFull, match="no space left for /data/book: free some"), translated("/data/book"):
        raise CASES[0][0]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (errno.ENOSPC, "no space left for the temporary file of a write to /data/book: free some"),
        (errno.EDQUOT, "the disk quota is used up for the temporary file of a write to /data/book: free some, or"),
        (errno.EFBIG, "a file would be larger than this process may write for the temporary file of a write to"),
    ],
)
def test_a_full_disk_a_quota_and_a_limit_on_files_are_told_apart(error: int, told: str):
    with pytest.raises(StoreFull, match=told), translated("/data/book"):
        raise OSError(error, os.strerror(error))


def test_a_fault_of_ours_is_not_dressed_up():
    with pytest.raises(ZeroDivisionError), translated("/data/book"):
        _ = 1 // 0


def test_what_a_typed_query_does_wrong_is_refused_and_the_stores_trouble_is_not():
    with pytest.raises(QueryRefused, match=r"^something of our own$"), answered("/data/book"):
        raise CASES[-1][0]
    with pytest.raises(StoreFull), answered("/data/book"):
        raise CASES[0][0]


def test_a_syntax_error_says_where():
    text = "Code: 62. DB::Exception: Syntax error: failed at position 8 (FORM): FORM x. Expected one of: token, Dot"
    with pytest.raises(QueryRefused, match=r"^syntax error near 'FORM'$"), answered("/data/book"):
        raise DatabaseError(text, code=62)
    with pytest.raises(QueryRefused, match=r"^syntax error near 'the end'$"), answered("/data/book"):
        raise DatabaseError("Code: 62. DB::Exception: Syntax error: failed at position 8", code=62)


def test_over_http_the_words_are_the_same():
    inner = "Unknown expression identifier `nope`. (UNKNOWN_IDENTIFIER) (version 26.9.2.1 (official build))"
    text = f"Received ClickHouse exception, code: 47, server response: Code: 47. DB::Exception: {inner}"
    with pytest.raises(QueryRefused, match=r"^Unknown expression identifier `nope`$"), translated("the server"):
        raise DatabaseError(f"{text} (for url http://db:8123)", code=47)


def test_a_write_that_lacked_memory_may_be_tried_again():
    text = "Code: 241. DB::Exception: (total) memory limit exceeded: would use 3.00 GiB. (MEMORY_LIMIT_EXCEEDED)"
    with pytest.raises(StoreUnreachable, match=r"^the server cannot do it now: \(total\)"), written("the server"):
        raise DatabaseError(text, code=241)
