"""Hold two generations of a table against each other, in SQL."""

from __future__ import annotations

from collections.abc import Callable

from ledger.store.protocol import Table, TableDifference

Query = Callable[..., Table]


def compare(query: Query, table: str, a: str, b: str, examples: int) -> TableDifference:
    """Count the rows only one of the generations has, and show the first few of each.

    FINAL leaves one row per key and generation, so a row both have is there exactly twice. The rows are told
    apart by a 128-bit hash of all columns but `generation`: whole rows would not fit in memory.
    """
    parameters = {"a": a, "b": b, "examples": examples}
    ((only_in_a, only_in_b),) = query(COUNTS.format(table=table), parameters).rows
    columns: tuple[str, ...] = ()
    shown = []
    for side, other in ((a, b), (b, a)):
        found = query(EXAMPLES.format(table=table), {"side": side, "other": other, "examples": examples})
        columns = found.columns
        shown.append(found.rows)
    return TableDifference(table, int(str(only_in_a)), int(str(only_in_b)), columns, shown[0], shown[1])


COUNTS = """
SELECT countIf(side = {{a:String}}) AS only_in_a, countIf(side = {{b:String}}) AS only_in_b
FROM
(
    SELECT any(toString(generation)) AS side
    FROM {table} FINAL
    WHERE generation IN ({{a:String}}, {{b:String}})
    GROUP BY sipHash128(tuple(* EXCEPT generation))
    HAVING count() = 1
)
"""

EXAMPLES = """
SELECT * EXCEPT generation
FROM {table} FINAL
WHERE generation = {{side:String}} AND sipHash128(tuple(* EXCEPT generation)) NOT IN
(
    SELECT sipHash128(tuple(* EXCEPT generation)) FROM {table} FINAL WHERE generation = {{other:String}}
)
ORDER BY ALL
LIMIT {{examples:UInt32}}
"""
