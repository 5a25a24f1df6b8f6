"""What people are shown of a played span."""

from __future__ import annotations

from zoneinfo import ZoneInfo

from rich.console import Console

from ledger.units import epoch_s
from tenure.cli.what_if import _table
from tests.support.said import t

PLAN = {
    "at_s": epoch_s(t("09:05")),
    "job": "ask",
    "account": "lab/a",
    "gpus_milli": 4000,
    "rule": "R0",
    "victim_accounts": [""],
    "lost_gpu_ms": 0,
    "state": "asker_started",
}


def shown(zone: str) -> str:
    console = Console(width=120)
    with console.capture() as captured:
        console.print(_table([PLAN], ZoneInfo(zone)))
    return captured.get()


def test_plans_are_shown_in_the_zone_of_the_span():
    assert "2026-03-02 09:05" in shown("UTC")
    there = shown("America/New_York")
    assert ("When (America/New_York)" in there, "2026-03-02 04:05" in there) == (True, True)
