"""Hold two generations of a table against each other, in SQL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from ledger.store.protocol import Table, TableDifference, Value

Query = Callable[..., Table]
Examples = tuple[tuple[str, ...], list[tuple[Value, ...]]]


def compare(
    query: Query, table: str, a: str, b: str, examples: int, settled: Mapping[str, int] | None = None
) -> TableDifference:
    """Count the rows only one of the generations has, and show the first few of each.

    FINAL leaves one row per key and generation, so a row both have is there exactly twice. The rows are told
    apart by a 128-bit hash of all columns but `generation`: whole rows would not fit in memory.

    With `settled`, a seq by cluster, keys that either has written at a higher seq are left out: of those, the row that
    stood there at that seq is gone.
    """
    key = _key(query, table) if settled is not None else ""
    given: dict[str, Value] = {"a": a, "b": b}
    if settled is not None:
        given |= {"clusters": list(settled), "seqs": list(settled.values())}
    ((left, right),) = query(COUNTS.format(rows=rows_of(table), newer=_newer(table, key)), given).rows
    only_in_a, only_in_b = int(str(left)), int(str(right))
    columns, examples_a = _examples(query, table, key, given, min(examples, only_in_a))
    swapped = given | {"a": b, "b": a}
    columns_b, examples_b = _examples(query, table, key, swapped, min(examples, only_in_b))
    return TableDifference(table, only_in_a, only_in_b, columns or columns_b, examples_a, examples_b)


def rows_of(table: str) -> str:
    """What is compared of a table: one row per key, and of provisional rows only those of the last tick."""
    if table != "open_hours":
        return f"{table} FINAL"
    return f"({LAST_OPEN_HOURS})"


def _key(query: Query, table: str) -> str:
    """What rows of a generation replace each other by. Provisional hours are those of one tick, all or none."""
    if table == "open_hours":
        return "cluster"
    ((key,),) = query(KEY, {"table": table}).rows
    return str(key).removeprefix("generation, ")


def _newer(table: str, key: str) -> str:
    return NEWER.format(table=table, key=key) if key else ""


def _examples(query: Query, table: str, key: str, given: Mapping[str, Value], number: int) -> Examples:
    """The first rows of `a` that `b` has not, in order of their columns."""
    if not number:
        return (), []
    sql = EXAMPLES.format(rows=rows_of(table), newer=_newer(table, key))
    found = query(sql, {**given, "examples": number})
    return found.columns, found.rows


KEY: Final = "SELECT sorting_key FROM system.tables WHERE database = currentDatabase() AND name = {table:String}"

LAST_OPEN_HOURS: Final = """
SELECT * FROM open_hours FINAL
WHERE (generation, cluster, seq) IN (SELECT generation, cluster, max(seq) FROM open_hours GROUP BY generation, cluster)
"""

NEWER: Final = """
AND ({key}) NOT IN
(
    SELECT {key} FROM {table}
    WHERE generation IN ({{a:String}}, {{b:String}})
        AND seq > mapFromArrays({{clusters:Array(String)}}, {{seqs:Array(UInt64)}})[cluster]
)
"""

COUNTS: Final = """
SELECT countIf(side = {{a:String}}) AS only_in_a, countIf(side = {{b:String}}) AS only_in_b
FROM
(
    SELECT any(toString(generation)) AS side
    FROM {rows}
    WHERE generation IN ({{a:String}}, {{b:String}}) {newer}
    GROUP BY sipHash128(tuple(* EXCEPT generation))
    HAVING count() = 1
)
"""

EXAMPLES: Final = """
SELECT * EXCEPT generation
FROM {rows}
WHERE generation = {{a:String}} {newer} AND sipHash128(tuple(* EXCEPT generation)) NOT IN
(
    SELECT sipHash128(tuple(* EXCEPT generation)) FROM {rows} WHERE generation = {{b:String}}
)
ORDER BY ALL
LIMIT {{examples:UInt32}}
"""
