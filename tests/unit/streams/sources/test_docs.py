"""docs/importing.md keeps step with the code: names of readings, reasons, keys, and examples that parse."""

import re
from typing import get_args

import pytest

from streams.sources.config import ClusterConfig, NodeSet, Rule, ShareSet, SourceConfig, source_config
from streams.sources.detect import FORMATS
from streams.sources.files.mapping import SHIPPED, Columns, FilesMapping, mapping
from streams.sources.reading import SkippedKind

REASON = re.compile(r'(?:Refused|Unreadable|_archive)\(\s*"([a-z0-9_]+)"')
NAMED_BY_LENGTH = {"too_few_fields", "too_many_fields", "truncated", "not_json"}
"""Reasons chosen by an expression rather than written as the first argument."""


@pytest.fixture
def page(root):
    return (root / "docs" / "importing.md").read_text()


@pytest.fixture
def told(page):
    return set(re.findall(r"`([a-z0-9_:<>-]+)`", page))


@pytest.fixture
def reasons(root):
    sources = (path.read_text() for path in (root / "streams" / "sources").rglob("*.py"))
    return {reason for text in sources for reason in REASON.findall(text)} | NAMED_BY_LENGTH


def test_every_reason_and_every_kind_of_row_is_told(told, reasons):
    assert len(reasons) > 25
    assert reasons <= told
    assert set(get_args(SkippedKind)) <= told
    assert set(FORMATS) <= told
    assert set(SHIPPED) <= told


def test_the_table_of_dead_letters_tells_of_no_other(page, reasons):
    rows = page.split("### Dead letters")[1].split("\n## ")[0].splitlines()
    listed = {
        name for row in rows if row.startswith("| `") for name in re.findall(r"`([a-z0-9_]+)`", row.split("|")[1])
    }
    assert listed == reasons


def examples(page, heading):
    block = page.split(heading)[1].split("\n## ")[0]
    lines = [line[4:] for line in block.splitlines() if line.startswith("    ") or not line.strip()]
    return "\n".join(lines)


def test_the_example_of_rules_is_a_configuration(page):
    config = source_config(examples(page, "## Mapping rules"))
    assert len(config.rules) == 3
    assert config.rules[0].min_runtime == 14_400


def test_the_example_of_a_mapping_is_one(page):
    assert mapping(examples(page, "## Any CSV")).columns.job == "id"


@pytest.mark.parametrize("model", [ClusterConfig, SourceConfig, Rule, NodeSet, ShareSet, FilesMapping, Columns])
def test_every_key_is_told(page, model):
    told = set(re.findall(r"[a-z_]+", page))
    untold = set(model.model_fields) - told
    assert untold <= {"source", "author", "nodes_at", "default_kind"}, untold
