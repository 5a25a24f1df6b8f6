"""The same commands with the book on a ClickHouse server say the same."""

import re
from pathlib import Path

import pytest

from tests.e2e.cli.driver import many, one
from tests.support.clickhouse import ClickHouseServer
from tests.support.enforced import a_morning, and_who_waits

pytestmark = pytest.mark.timeout(300)

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "slurm"

WHEN_RECORDED = re.compile(r'"log_hash": "\w+"|"recorded_at": "[^"]*"')
"""The records of the two logs were made some seconds apart."""

ASKED = [
    ["ingest", str(GOLDEN), "--cluster", "x", "--json"],
    ["accounts", "--json"],
    ["jobs", "--json"],
    ["queue", "--cluster", "x", "--json"],
    ["metrics", "--json"],
    ["verify", "--json"],
    ["replay", "--json"],
    ["dead-letters", "list", "--json"],
    ["sql", "SELECT * EXCEPT recorded_at FROM report_runs ORDER BY ALL LIMIT 50", "--json"],
    ["sql", "SELECT * FROM runs", "--json"],
]


OF_THE_ENFORCER = [
    ["policy", "--at", "2026-03-02T02:00", "--json"],
    ["policy", "history", "--json"],
    ["enforcement-log", "--json"],
    ["maintenance", "--all", "--json"],
    ["enforcement-log", "--job", "sweep", "--mode", "enforce", "--limit", "2", "--json"],
    ["explain", "sweep", "--json"],
    ["explain", "urgent", "--json"],
    ["why-not", "late", "--json"],
    ["why-not", "sweep", "--json"],
]


def test_the_commands_say_what_they_say_with_chdb(tmp_path: Path):
    for_both(tmp_path, ASKED)


def test_those_of_the_enforcer_do_too(tmp_path: Path):
    log = and_who_waits(a_morning()).write(tmp_path / "morning.jsonl")
    for_both(tmp_path, [["ingest", str(log), "--json"], *OF_THE_ENFORCER])


def for_both(tmp_path: Path, asked: list[list[str]]) -> None:
    """The first fills the book."""
    config = tmp_path / "tenure.toml"
    with ClickHouseServer(zone="America/New_York") as server:
        config.write_text(f'clickhouse = "{server.address}"')
        here = many(tmp_path / "here", asked)
        there = many(tmp_path / "there", [[*command, "--config", str(config)] for command in asked])
        assert not (tmp_path / "there" / "book").exists()
    for command, one_said, other_said in zip(asked, here, there, strict=True):
        told = [(said.code, WHEN_RECORDED.sub("", said.out), said.err) for said in (one_said, other_said)]
        assert told[1] == told[0], command
    assert here[0].json["book"]["outcomes"]["applied"] > 0


def test_a_server_that_is_away_is_named(tmp_path: Path):
    config = tmp_path / "tenure.toml"
    config.write_text('clickhouse = "http://127.0.0.1:1"')
    told = one(tmp_path / "book", "accounts", "--config", str(config))
    assert (told.code, told.out) == (6, "")
    assert told.err == "Error: the ClickHouse server 127.0.0.1:1 does not answer: Connection refused\n"
