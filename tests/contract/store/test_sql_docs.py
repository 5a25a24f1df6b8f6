"""docs/sql.md says what the views are: every column, its type, and examples that run."""

import re

import pytest

from ledger.store.protocol import Limits, Store
from tests.support.chdb import ROOT

DOC = (ROOT / "docs" / "sql.md").read_text()
SECTIONS = dict(re.findall(r"^## (report_\w+)\n(.*?)(?=^## |\Z)", DOC, re.MULTILINE | re.DOTALL))
EXAMPLES = re.findall(r"```sql\n(.*?)```", DOC, re.DOTALL)


def test_every_view_is_documented_column_by_column(store: Store):
    described = store.query(
        "SELECT table, name, type FROM system.columns "
        "WHERE database = currentDatabase() AND startsWith(table, 'report_') ORDER BY table, position"
    )
    real: dict[str, list[tuple[str, str]]] = {}
    for table, name, kind in described.rows:
        real.setdefault(str(table), []).append((str(name), str(kind)))
    documented = {
        view: re.findall(r"^\| `(\w+)` \| (.+?) \| \S.* \|$", text, re.MULTILINE) for view, text in SECTIONS.items()
    }
    assert documented == real


@pytest.mark.parametrize("view", SECTIONS)
def test_units_are_said(view: str):
    units = {"_gpu_ms": "GPU-milliseconds", "_milli": "milli-GPUs", "_s": "seconds", "_j": "joules", "_mib": "MiB"}
    for name, meaning in re.findall(r"^\| `(\w+)` \| .+? \| (.+) \|$", SECTIONS[view], re.MULTILINE):
        for suffix, unit in units.items():
            assert not name.endswith(suffix) or unit in meaning, f"{view}.{name}"


@pytest.mark.parametrize("sql", EXAMPLES)
def test_examples_run(store: Store, sql: str):
    assert store.ask(sql, limits=Limits()).columns


def test_a_statement_has_the_columns_the_document_promises(store: Store):
    everything = {"from_s": 0, "until_s": 1, "known_at_s": 1, "cluster": "", "account": ""}
    parameters = set(
        re.findall(
            r"`(\w+)`", "".join(re.findall(r"^\| `.*(?:Int64|String) \|", DOC.split("## Statements")[1], re.MULTILINE))
        )
    )
    assert parameters == everything.keys()
    statement = set(store.query("statement_account_hours", everything).columns)
    rollup = set(store.query("SELECT * FROM report_account_rollup_hours").columns)
    assert rollup - statement == {"hour", "leaves"}
    assert statement - rollup == {"hours"}
    assert {"amount_gpu_ms", "postings"} < set(store.query("statement_postings", everything).columns)
