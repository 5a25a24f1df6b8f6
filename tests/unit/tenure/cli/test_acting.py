"""Acts of the enforcer in sentences."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tenure.cli.acting import Acted, ended, held, ordered, planned

PLAN: dict[str, Any] = {
    "plan": "h100/5/ask",
    "purpose": "asker",
    "mode": "enforce",
    "state": "hold_expired",
    "rule": "R1",
    "job": "ask",
    "account": "lab/a",
    "pieces": 2,
    "piece_milli": 4_000,
    "victims": 2,
    "lost_gpu_ms": 5_400_000,
    "host_nodes": ["n1", "n2"],
    "host_gpus_milli": [4_000, 4_000],
    "held_until": datetime(2026, 3, 2, 9, 5, tzinfo=UTC),
    "handle": "tenure_1",
    "wasted_gpu_ms": 1_800_000,
    "sentence": "The asker did not start within 300 s.",
}
RUN: dict[str, Any] = {
    "run": "j/1",
    "account": "lab/b",
    "class": "within",
    "gpus_milli": 8_000,
    "how": "cancel",
    "grace_s": 90,
    "outcome": "timed_out",
    "sentence": "j/1 still runs, 180 s after it was ordered off.",
}


COST = "to leave, 1.50 GPU-hours of work lost"
ASKS = "room for ask (lab/a, 2 × 4 GPUs) by R1: 2 runs"
DRAIN = {"plan": "drain/7/rack/n1", "purpose": "drain", "victims": 1, "rule": "drain"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, f"{ASKS} have {COST}; it then fits on n1, n2"),
        ({"mode": "observe"}, f"{ASKS} would have {COST}; it then fits on n1, n2"),
        (DRAIN, f"rack/n1 drains: 1 run has {COST}"),
    ],
)
def test_a_plan_is_told_by_whom_it_is_for(change: dict[str, Any], said: str):
    assert planned(PLAN | change) == said


def test_an_order_says_how_and_how_long():
    told = "j/1 (lab/b, within its claim, its minimum runtime banked, 8 GPUs) is to be cancelled within 90 s"
    assert ordered(RUN) == told
    free = ordered(RUN | {"account": "", "class": "unfunded", "how": "requeue", "grace_s": 30})
    assert free == "j/1 (unfunded, 8 GPUs) is to be put back into the queue within 30 s"


def test_room_is_told_with_the_name_the_scheduler_has_for_it():
    room = "room is kept for ask on n1 (4 GPUs), n2 (4 GPUs) until 2026-03-02 09:05"
    assert held(PLAN) == f"{room}, as tenure_1"
    assert held(PLAN | {"handle": ""}) == room


def test_an_end_says_what_was_kept_for_nothing():
    end = "hold_expired: The asker did not start within 300 s."
    assert ended(PLAN) == f"{end} 0.50 GPU-hours were kept for nothing."
    assert ended(PLAN | {"wasted_gpu_ms": 0}) == end


@pytest.mark.parametrize(
    ("act", "begins"),
    [("plan", "room for"), ("order", "j/1 ("), ("outcome", "timed_out: j/1"), ("hold", "room is"), ("end", "hold_")],
)
def test_every_act_has_its_sentence(act: str, begins: str):
    assert Acted({"act": act}, PLAN, RUN).sentence.startswith(begins)
