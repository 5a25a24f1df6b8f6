"""The SQL files and how they are cut into statements."""

import pytest

from ledger.store import sql


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("", []),
        ("-- only a comment\n", []),
        ("SELECT 1;\n", ["SELECT 1"]),
        ("-- why\n\nSELECT 1;\n\n-- and\nSELECT ';';\n", ["-- why\n\nSELECT 1", "-- and\nSELECT ';'"]),
        ("SELECT 1", ["SELECT 1"]),
    ],
)
def test_statements_end_at_a_semicolon_at_the_end_of_a_line(text: str, statements: list[str]):
    assert sql.statements(text) == statements


def test_migrations_are_numbered_without_a_gap():
    numbers = [int(name.split("_")[0]) for name in sql.read("migrations")]
    assert numbers == list(range(1, len(numbers) + 1))


def test_a_view_is_replaced_by_its_file_and_named_as_it():
    for name, text in sql.read("views").items():
        for statement in sql.statements(text):
            assert "CREATE OR REPLACE VIEW " in statement
        assert name == "00_settled" or f"CREATE OR REPLACE VIEW {name} AS" in text


@pytest.mark.parametrize("folder", ["migrations", "views", "queries"])
def test_every_file_says_what_it_is_for_and_keeps_to_its_lines(folder: str):
    for name, text in sql.read(folder).items():
        assert text.startswith("-- "), name
        assert text.endswith("\n"), name
        assert max(map(len, text.splitlines())) <= 120, name
