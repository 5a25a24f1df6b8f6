"""What somebody typed must be one SELECT over the public views.

ClickHouse's `readonly` alone does not see to it inside a process: `INTO OUTFILE` still writes files, the function
`file` still reads them, and a second statement after a semicolon still runs (all tried on chDB 26.9). So the query
is parsed by the database (`EXPLAIN AST`, which runs nothing) and the tree is held against what is allowed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from itertools import takewhile
from typing import Final

from ledger.store.errors import QueryRefused
from ledger.store.protocol import Limits

PUBLIC_PREFIX: Final = "report_"
"""Names of the public views begin with it."""

TABLE_FUNCTIONS: Final = {"numbers", "zeros", "generateseries", "generate_series", "values", "view"}
"""Tables out of nothing, for calendars and constants."""

_FORBIDDEN_FUNCTION = re.compile(
    r"file|joinget.*|dict.*|ai[a-z]+|catboost.*|sleep.*|eval.*|getserver.*|getmacro|getclient.*|showcert.*|hascolumn.*",
    re.IGNORECASE,
)
"""Functions that reach files, models, the network, the server's settings, or tables named by text."""

_MEMBERSHIP = re.compile(r"(global)?(not)?(null)?in(ignoreset)?", re.IGNORECASE)

_TOKEN = re.compile(
    r"""
    (?P<space>\s+)
  | (?P<comment>--[^\n]*|\#[ !][^\n]*|/\*.*?\*/)
  | (?P<text>'(?:[^'\\]|\\.|'')*')
  | (?P<name>`(?:[^`\\]|\\.|``)*`|"(?:[^"\\]|\\.|"")*")
  | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<number>[0-9][A-Za-z0-9_.]*)
  | (?P<other>/(?!\*)|[-+*%=<>!.,:?|&~^@(){}\[\];])
    """,
    re.VERBOSE | re.DOTALL,
)

_NODE = re.compile(r"(?P<indent> *)(?P<kind>\w+) ?(?P<name>\S*)")


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


def one_statement(sql: str) -> str:
    """The query without the semicolon at its end; QueryRefused where another statement follows it."""
    tokens = [token for token in _tokens(sql) if token[0] not in ("space", "comment")]
    while tokens and tokens[-1][1] == ";":
        sql = sql[: tokens.pop()[2]]
    if not tokens:
        raise QueryRefused("there is no query: start with SELECT or WITH")
    for kind, text, _ in tokens:
        if (kind, text) == ("other", ";"):
            raise QueryRefused("one statement at a time: drop what follows the semicolon")
        if kind == "name" and not text.isprintable():
            raise QueryRefused(f"a name with control characters, {text!r}, is not allowed here")
    return sql


def check_tree(ast: str, database: str, tables: AbstractSet[str]) -> None:
    """Raise QueryRefused unless the tree, as `EXPLAIN AST` prints it, reads public views of `database` alone.

    `tables` are all its tables and views: a name that is none of them is a common table expression, or unknown.
    """
    nodes = [
        (len(found["indent"]), found["kind"], found["name"]) for found in map(_NODE.match, ast.splitlines()) if found
    ]
    if not ast.startswith("SelectWithUnionQuery (children 1)\n"):
        raise QueryRefused("only SELECT is answered here, without INTO OUTFILE and FORMAT")
    for place, (depth, kind, name) in enumerate(nodes):
        inside_table = place > 0 and nodes[place - 1][1] == "TableExpression"
        if kind == "TableIdentifier":
            _check(_public(name, database, tables), name)
        elif kind == "Function" and inside_table:
            _check(name.lower() in TABLE_FUNCTIONS, name)
        elif kind == "Function":
            _check(not _FORBIDDEN_FUNCTION.fullmatch(name), name)
            if _MEMBERSHIP.fullmatch(name):
                _check_membership(list(_arguments(nodes[place + 1 :], depth)), database, tables)


def _arguments(below: list[tuple[int, str, str]], depth: int) -> Iterator[tuple[str, str]]:
    """Kind and name of each argument of a function at `depth`."""
    for deeper, kind, name in takewhile(lambda node: node[0] > depth, below):
        if deeper == depth + 2:
            yield kind, name


def _check_membership(arguments: list[tuple[str, str]], database: str, tables: AbstractSet[str]) -> None:
    """What stands to the right of IN may be a table, without being marked as one."""
    for kind, name in arguments[1:]:
        if kind == "Identifier":
            _check(_public(name, database, tables), name)


def _public(name: str, database: str, tables: AbstractSet[str]) -> bool:
    qualifier, _, table = name.rpartition(".")
    if qualifier:
        return qualifier == database and table.startswith(PUBLIC_PREFIX)
    return table.startswith(PUBLIC_PREFIX) or table not in tables


def _check(allowed: bool, name: str) -> None:
    if not allowed:
        raise QueryRefused(f"{name} cannot be used here: only the {PUBLIC_PREFIX}* views can be read, and no files")


def _tokens(sql: str) -> Iterator[tuple[str, str, int]]:
    place = 0
    while place < len(sql):
        found = _TOKEN.match(sql, place)
        if found is None:
            raise QueryRefused(f"cannot read the query from {sql[place : place + 20]!r} on")
        yield str(found.lastgroup), found.group(), place
        place = found.end()
