"""What is fed to a runtime: the bytes of whole logs, as they would come from several sources at once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from heapq import merge
from typing import Any

from ledger.events import Event
from ledger.units import HOUR_S
from tests.oracle.logs import T0, SeededDice, event, recorded, seeded_log, with_repeats

NOW = datetime(2026, 4, 1, tzinfo=UTC)
"""The clock of every test: later than anything the logs record."""


def clock() -> datetime:
    """A clock that stands still, so that two ingests of one log are the same."""
    return NOW


def raw(one: Event) -> bytes:
    """The event as a source would write it."""
    return one.model_dump_json(exclude_unset=True).encode()


def of_cluster(log: Iterable[Event], cluster: str) -> list[Any]:
    """The same log, told of another cluster under ids of its own."""
    return [
        one.model_copy(
            update={"id": f"{cluster}-{one.id}", "data": one.data.model_copy(update={"cluster": cluster})},
        )
        for one in log
    ]


def interleaved(*logs: Sequence[Event]) -> list[Any]:
    """Several logs as one, by when they were recorded."""
    return list(merge(*logs, key=recorded))


def with_ticks(log: Sequence[Event], every_s: int = HOUR_S // 2) -> list[Any]:
    """The log with the ticks a live owner would write; the last tick stays last."""
    until = recorded(log[-1])
    count = int((until - T0).total_seconds()) // every_s
    at = [T0 + timedelta(seconds=every_s * n) for n in range(1, count + 1)]
    ticks = [
        event("tenure.clock.ticked.v1", f"t{n}", t, t, {"cluster": "c", "at": t}) for n, t in enumerate(at) if t < until
    ]
    return [*interleaved(log[:-1], ticks), log[-1]]


def seeded(seed: int, *, hours: int = 12, nodes: int = 4, jobs: int = 12) -> list[bytes]:
    """Two clusters side by side, with live ticks, late and repeated events, the directory, and what cannot be read."""
    dice = SeededDice(seed)
    logs = [
        of_cluster(with_repeats(with_ticks(seeded_log(2 * seed + n, hours=hours, nodes=nodes, jobs=jobs)), dice), name)
        for n, name in enumerate(("north", "south"))
    ]
    lines = [raw(one) for one in interleaved(*logs)]
    for extra in (*DIRECTORY, *UNREADABLE):
        lines.insert(dice.between(0, len(lines)), extra)
    return lines


def told(type: str, id: str, data: dict[str, Any], *, time: str = "2026-03-02T01:00:00Z", **envelope: Any) -> bytes:
    """One event in plain JSON, right or wrong."""
    body = {"specversion": "1.0", "id": id, "source": "people", "type": f"tenure.{type}.v1", "time": time, "data": data}
    return json.dumps(body | envelope).encode()


DIRECTORY = (
    told("account.opened", "d1", {"account": "lab/x", "title": "X", "leads": ["ann"], "labels": {"room": "7"}}),
    told("account.changed", "d2", {"account": "lab/x", "title": "X and more"}, time="2026-03-02T02:00:00Z"),
    told("account.opened", "d3", {"account": "lab/y", "title": "Y", "webhooks": ["https://y.example/hook"]}),
    told("account.closed", "d4", {"account": "lab/y"}, time="2026-03-02T03:00:00Z"),
    told(
        "share.requested",
        "d5",
        {"request": "r1", "cluster": "north", "account": "lab/x", "share_percent": "12.5", "author": "ann"},
    ),
)

UNREADABLE = (
    b'{"specversion":"1.0","id":"cut","source":"s","type":"tenure.node.remo',
    b"\xff\xfe not text at all \x00",
    b"",
    told("node.removed", "no-such-field", {"cluster": "north", "node": "n1", "why": "x"}),
    told("node.exploded", "no-such-type", {"cluster": "south", "node": "n1"}),
)
