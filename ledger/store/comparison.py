"""Hold two generations of a table against each other, in SQL."""

from __future__ import annotations

from collections.abc import Callable

from ledger.store.protocol import Table, TableDifference, Value

Query = Callable[..., Table]
Examples = tuple[tuple[str, ...], list[tuple[Value, ...]]]


def compare(query: Query, table: str, a: str, b: str, examples: int) -> TableDifference:
    """Count the rows only one of the generations has, and show the first few of each.

    FINAL leaves one row per key and generation, so a row both have is there exactly twice. The rows are told
    apart by a 128-bit hash of all columns but `generation`: whole rows would not fit in memory.
    """
    ((left, right),) = query(COUNTS.format(rows=rows_of(table)), {"a": a, "b": b}).rows
    only_in_a, only_in_b = int(str(left)), int(str(right))
    columns, examples_a = _examples(query, table, a, b, min(examples, only_in_a))
    columns_b, examples_b = _examples(query, table, b, a, min(examples, only_in_b))
    return TableDifference(table, only_in_a, only_in_b, columns or columns_b, examples_a, examples_b)


def rows_of(table: str) -> str:
    """What is compared of a table: one row per key, and of provisional rows only those of the last tick."""
    if table != "open_hours":
        return f"{table} FINAL"
    return f"({LAST_OPEN_HOURS})"


def _examples(query: Query, table: str, side: str, other: str, number: int) -> Examples:
    """The first rows of `side` that `other` has not, in order of their columns."""
    if not number:
        return (), []
    found = query(EXAMPLES.format(rows=rows_of(table)), {"side": side, "other": other, "examples": number})
    return found.columns, found.rows


LAST_OPEN_HOURS = """
SELECT * FROM open_hours FINAL
WHERE (generation, cluster, seq) IN (SELECT generation, cluster, max(seq) FROM open_hours GROUP BY generation, cluster)
"""

COUNTS = """
SELECT countIf(side = {{a:String}}) AS only_in_a, countIf(side = {{b:String}}) AS only_in_b
FROM
(
    SELECT any(toString(generation)) AS side
    FROM {rows}
    WHERE generation IN ({{a:String}}, {{b:String}})
    GROUP BY sipHash128(tuple(* EXCEPT generation))
    HAVING count() = 1
)
"""

EXAMPLES = """
SELECT * EXCEPT generation
FROM {rows}
WHERE generation = {{side:String}} AND sipHash128(tuple(* EXCEPT generation)) NOT IN
(
    SELECT sipHash128(tuple(* EXCEPT generation)) FROM {rows} WHERE generation = {{other:String}}
)
ORDER BY ALL
LIMIT {{examples:UInt32}}
"""
