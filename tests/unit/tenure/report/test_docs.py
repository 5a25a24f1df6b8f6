"""docs/report.md names every section and every column of it."""

import re

import pytest

from ledger.store.protocol import Store
from tenure.report.pack import Pack
from tests.support.chdb import ROOT
from tests.unit.tenure.report.small_book import reviewed

DOC = (ROOT / "docs" / "report.md").read_text("utf-8").split("## Sections")[1].split("## The picture")[0]
SECTIONS = dict(re.findall(r"^\*\*`(\w+)`\*\*: (.*?)(?=^\*\*`|\Z)", DOC, re.MULTILINE | re.DOTALL))


@pytest.fixture(scope="module")
def pack(book_as_closed: Store) -> Pack:
    return reviewed(book_as_closed, measured=True)


def test_every_section_is_documented_in_order(pack: Pack):
    assert list(SECTIONS) == [section.name for section in pack.sections]


def test_every_column_is_documented(pack: Pack):
    for section in pack.sections:
        named = set(re.findall(r"`(\w+)`", SECTIONS[section.name]))
        missing = [c.key for c in section.columns if c.audience != "people" and c.key not in named]
        assert not missing, f"{section.name}: {missing}"
