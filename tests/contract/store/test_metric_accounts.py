"""Impact and its parts: what accounts held, were owed and got, at every level of the tree."""

import random
from typing import Any

import pytest

from ledger.metrics import Metric, Question, Unanswerable
from ledger.rows import AccountHour
from ledger.store.metrics import measure
from ledger.store.protocol import Store
from ledger.units import HOUR_S
from tests.contract.store.rows import HOUR_S as START
from tests.contract.store.rows import account_hour, checkpoint, cluster_hour, tables_of

PERIOD = {"from_s": START, "until_s": START + 4 * HOUR_S}
ADDITIVE = (
    "impact_strict",
    "claim_used",
    "claim_gpu_hours",
    "demand_gpu_hours",
    "owed_gpu_hours",
    "charged_gpu_hours",
    "refunded_gpu_hours",
    "delivered_gpu_hours",
    "unmet_gpu_hours",
)


def settle(store: Store, *rows: Any) -> None:
    store.write("g1", tables_of(*rows, *(cluster_hour(1, hour_s=START + n * HOUR_S) for n in range(4))))
    store.save_checkpoint("g1", checkpoint("c", seq=1))


def asked(store: Store, *metrics: str, **given: Any) -> list[Metric]:
    found = measure(store, Question(metrics=metrics, **PERIOD | given))
    assert not isinstance(found, Unanswerable), found.sentence
    return found


def hour(account: str, n: int, owed: int, charged: int, **given: Any) -> AccountHour:
    return account_hour(account, 1, hour_s=START + n * HOUR_S, owed_gpu_ms=owed, charged_gpu_ms=charged, **given)


def parts(metrics: list[Metric]) -> dict[str, tuple[int, int]]:
    return {metric.of("account"): (metric.numerator, metric.denominator) for metric in metrics}


def test_impact_is_what_was_owed_and_delivered_in_its_hour_or_by_the_end(store: Store):
    # a: owed 100 twice, nothing and then 180 at once. b: 40 owed and refunded to 30, then 90 where 40 were owed.
    settle(
        store,
        hour("lab/a", 0, 100, 0),
        hour("lab/a", 1, 100, 180),
        hour("lab/b", 0, 40, 50, refunded_gpu_ms=20),
        hour("lab/b", 1, 40, 90),
    )
    strict = asked(store, "impact_strict", by=("account",))
    assert parts(strict) == {"lab": (170, 280), "lab/a": (100, 200), "lab/b": (70, 80)}
    period = asked(store, "impact_period", by=("account",))
    # b's 120 are capped at its own 80, so that they do not stand in for a's missing 20.
    assert parts(period) == {"lab": (260, 280), "lab/a": (180, 200), "lab/b": (80, 80)}
    (overall,) = asked(store, "impact_period")
    assert (overall.numerator, overall.denominator, overall.coverage) == (260, 280, 1.0)
    hourly = asked(store, "impact_period", every="hour")
    assert [(m.numerator, m.denominator) for m in hourly] == [(30, 140), (140, 140), (0, 0), (0, 0)]
    assert [m.value for m in hourly[2:]] == [None, None]


def test_one_level_of_the_tree_or_one_subtree(store: Store):
    settle(
        store,
        hour("lab/a/x", 0, 1, 0),
        hour("lab/a/.", 0, 2, 0),
        hour("lab/ab", 0, 4, 0),
        hour("lab/.", 0, 8, 0),
        hour("", 0, 0, 0, unfunded_gpu_ms=5),
    )

    def owed(**given: Any) -> dict[str, int]:
        return {m.of("account"): m.numerator for m in asked(store, "owed_gpu_hours", **given)}

    everything = {"": 0, "lab": 15, "lab/.": 8, "lab/a": 3, "lab/a/.": 2, "lab/a/x": 1, "lab/ab": 4}
    assert owed(by=("account",)) == everything
    assert owed(by=("account",), depth=2) == {"lab/.": 8, "lab/a": 3, "lab/ab": 4}
    assert owed(by=("account",), account="lab/a") == {"lab/a": 3, "lab/a/.": 2, "lab/a/x": 1}
    assert owed(by=("account",), account="lab/a", depth=3) == {"lab/a/.": 2, "lab/a/x": 1}
    assert owed(account="lab/a") == {"": 3}
    assert owed(account="lab/z") == {"": 0}
    assert owed(by=("account",), account="lab/z") == {}


def test_claims_and_grants_are_held_alike(store: Store):
    settle(store, hour("lab/a", 0, 0, 30, claim_gpu_ms=40, grant_gpu_ms=20, refunded_gpu_ms=3))
    (used,) = asked(store, "claim_used")
    assert (used.numerator, used.denominator) == (27, 60)


@pytest.mark.parametrize("seed", range(3))
def test_ancestors_are_the_sums_of_leaves_and_the_whole_the_sum_of_its_hours(store: Store, seed: int):
    chance = random.Random(seed)
    leaves = ["lab/a/x", "lab/a/y", "lab/a/.", "lab/b", "lab/."]
    fields = [name for name in AccountHour._fields if name.endswith("_gpu_ms")]
    rows = [
        account_hour(
            leaf,
            1,
            pool=pool,
            hour_s=START + n * HOUR_S,
            **{name: chance.randrange(10**9) for name in fields} | {"refunded_gpu_ms": 0},
        )
        for leaf in leaves
        for pool in ("h100", "b200")
        for n in range(4)
        if chance.random() < 0.8
    ]
    settle(store, *rows)
    by_day = asked(store, *ADDITIVE, by=("account", "pool"), every="day", tz="Asia/Tokyo")
    for name in ADDITIVE:
        whole = asked(store, name, by=("account",))
        found = parts(whole)
        for account, children in {"lab": ["lab/a", "lab/b", "lab/."], "lab/a": leaves[:3]}.items():
            for place in (0, 1):
                if place == 1 and whole[0].unit == "GPU-hours":
                    continue
                assert found[account][place] == sum(found[child][place] for child in children if child in found)
        hourly = asked(store, name, by=("account",), every="hour")
        for account, (numerator, denominator) in found.items():
            hours = [m for m in hourly if m.of("account") == account]
            days = [m for m in by_day if m.of("account") == account and m.name == name]
            assert len(hours) == 4
            assert sum(m.numerator for m in hours) == numerator == sum(m.numerator for m in days)
            if whole[0].unit == "ratio":
                assert sum(m.denominator for m in hours) == denominator == sum(m.denominator for m in days)
        (overall,) = asked(store, name)
        assert overall.numerator == found["lab"][0]


def test_an_unmet_hour_is_what_was_owed_and_not_delivered(store: Store):
    settle(store, hour("lab/a", 0, 100, 60), hour("lab/a", 1, 100, 150))
    (unmet,) = asked(store, "unmet_gpu_hours")
    assert unmet.numerator == 40
