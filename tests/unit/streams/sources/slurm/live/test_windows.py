"""Reservations as a Slurm 22.05.8 told them, by command and by slurmrestd; and answers nobody recorded."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from ledger.events import MaintenancePlanned
from ledger.units import instant
from streams.sources.config import SourceConfig
from streams.sources.slurm.live.cursor import Cursor, Kept, dumps, loads
from streams.sources.slurm.live.poll import Poll, windows
from streams.sources.slurm.live.port import LiveFormat, Silent, Told
from streams.sources.slurm.live.step import begin, step
from streams.sources.slurm.reservations import Reserved

CONFIG: Final = SourceConfig(cluster="lab")
AT_S: Final = 1_796_129_000
"""When it was recorded, 2026-12-01 12:43:20 UTC; the instants are the recording's own."""
FANS: Final = Reserved(("gn1", "gn2"), 1_796_136_201, 1_796_139_801)
DAILY: Final = Reserved(("gn4",), 1_796_215_401, 1_796_217_201)
WAYS: Final[dict[str, LiveFormat]] = {"scontrol": "scontrol-reservation", "slurmrestd": "slurm-reservations-json"}


def recorded(root: Path) -> dict[str, dict[str, str]]:
    lines = (root / "tests/golden/slurm/reservations_22.05.8.jsonl").read_text().splitlines()
    return {said["case"]: said for said in map(json.loads, lines)}


def listed(root: Path, case: str, way: str = "scontrol") -> dict[str, Reserved]:
    found = windows(Told(WAYS[way], recorded(root)[case][way].encode()))
    assert not isinstance(found, Silent)
    return found


@pytest.mark.parametrize("way", WAYS)
def test_only_maintenance_is_taken_and_both_ways_tell_the_same(root: Path, way: str):
    assert listed(root, "none", way) == {}
    assert listed(root, "three", way) == {"fans": FANS, "root_2": DAILY}, "`course` is a lecture's, no maintenance"
    assert listed(root, "longer", way) == {"fans": replace(FANS, until_s=FANS.until_s + 1800), "root_2": DAILY}
    assert listed(root, "deleted", way) == {"root_2": DAILY}
    assert listed(root, "active", way)["now"].nodes == ("gn1", "gn2", "gn3", "gn4")


class Polled:
    """A collector that only lists reservations, and forgets nothing but its memory."""

    def __init__(self) -> None:
        self.cursor: Cursor = begin(AT_S)
        self.told: list[MaintenancePlanned] = []

    def poll(self, found: dict[str, Reserved] | None, at_s: int) -> list[str]:
        made = step(self.cursor, Poll(at_s, windows=found), CONFIG)
        self.cursor = loads(dumps(Kept(made.cursor))).cursor
        events = [event for event in made.events if isinstance(event, MaintenancePlanned)]
        assert events == made.events
        self.told += events
        return [f"{e.data.window}{' cancelled' if e.data.cancelled else ''}" for e in events]


def test_each_window_is_told_once_and_again_when_it_moves_or_goes(root: Path):
    collector = Polled()
    assert collector.poll(listed(root, "none"), AT_S) == []
    assert collector.poll(listed(root, "three"), AT_S + 10) == ["slurm/fans", "slurm/root_2"]
    assert collector.poll(listed(root, "three"), AT_S + 20) == []
    assert collector.poll(None, AT_S + 30) == [], "no answer takes nothing back"
    assert collector.poll(listed(root, "longer"), AT_S + 40) == ["slurm/fans"]
    assert collector.poll(listed(root, "deleted"), AT_S + 50) == ["slurm/fans cancelled"]
    assert collector.poll(listed(root, "deleted"), AT_S + 60) == []
    assert collector.poll(listed(root, "three"), AT_S + 70) == ["slurm/fans"], "made again under its name"
    assert len({event.id for event in collector.told}) == len(collector.told)
    first = collector.told[0]
    assert (first.source, first.data.author, first.data.reason) == ("slurm/lab", "slurm", "reservation fans")
    assert (first.data.nodes, first.data.since) == (("gn1", "gn2"), instant(FANS.since_s))


def test_one_that_is_over_is_neither_told_nor_taken_back(root: Path):
    collector = Polled()
    assert collector.poll(listed(root, "three"), FANS.until_s) == ["slurm/root_2"]
    assert collector.poll({}, DAILY.until_s) == []
    assert collector.cursor.windows == {}


def test_one_that_comes_every_day_moves_on(root: Path):
    collector = Polled()
    collector.poll(listed(root, "deleted"), AT_S)
    tomorrow = {"root_2": Reserved(DAILY.nodes, DAILY.since_s + 86_400, DAILY.until_s + 86_400)}
    assert collector.poll(tomorrow, DAILY.until_s + 10) == ["slurm/root_2"]


@pytest.mark.parametrize(
    ("way", "data"),
    [
        ("scontrol", b""),
        ("scontrol", b"slurm_load_reservations error: Unable to contact slurm controller"),
        ("scontrol", b"ReservationName=x StartTime=soon EndTime=later Nodes=gn1 Flags=MAINT"),
        ("scontrol", b"ReservationName=x StartTime=1 EndTime=2 Nodes=gn[1- Flags=MAINT"),
        ("slurmrestd", b'{"reservations": ['),
        ("slurmrestd", b'{"errors": [{"error": "down"}], "reservations": []}'),
        ("slurmrestd", b"{}"),
    ],
)
def test_what_is_no_list_is_no_answer(way: str, data: bytes):
    found: Any = windows(Told(WAYS[way], data))
    assert isinstance(found, Silent)
    assert "cannot be read" in found.sentence


def test_a_reservation_of_licences_closes_no_node():
    text = b"ReservationName=x StartTime=2026-12-01T14:00:00 EndTime=2026-12-01T15:00:00 Nodes=(null) Flags=MAINT"
    assert windows(Told("scontrol-reservation", text)) == {}
    assert isinstance(windows(Silent("away")), Silent)
