"""Why nobody yields to a job, in sentences with their numbers."""

from __future__ import annotations

from typing import Any

from enforcer.plan import Plan
from enforcer.preview import Emptied, preview
from enforcer.protocol import due
from enforcer.rules import rules_of
from ledger.facts import decode, encode
from ledger.units import HOUR_S
from tenure.cli.verdicts import Verdict, json_of, told, verdict
from tests.support.folded import folded
from tests.support.said import (
    checkpointed,
    committed,
    issued,
    node,
    opens,
    policy,
    s,
    settled,
    shares,
    started,
    submitted,
    tick,
)

SHAPE = {"nodes": 1, "gpus_per_node_milli": 4000}
SET_UP: list[Any] = [
    opens("08:00", enforcement="enforce"),
    node("08:00", "n", 4),
    shares("08:00", "lab", {"a": 50, "b": 40, "c": (10, 2)}),
]


def ask(name: str = "ask", at: str = "09:00", **more: Any) -> Any:
    terms: dict[str, Any] = {"account": "lab/a", "gpus": 4, "shape": SHAPE, "min_runtime_s": 3600}
    return submitted(at, name, **(terms | more))


def holds(min_runtime_s: int, account: str = "lab/b") -> list[Any]:
    terms: dict[str, Any] = {"account": account, "gpus": 4, "resumable": True, "min_runtime_s": min_runtime_s}
    return [submitted("08:00", "j", **terms), started("08:00", "j", on={"n": 4}), checkpointed("09:00", "j")]


def of(*log: Any, job: str = "ask") -> Verdict | None:
    book = folded([*SET_UP, *log])
    assert not book.refused
    return verdict(lambda: decode(encode(book.book.state)), job)


def said(*log: Any, job: str = "ask") -> list[str]:
    found = of(*log, job=job)
    assert found is not None
    return list(told(found))


def test_of_a_protected_run_it_is_told_when_its_minimum_runtime_is_banked():
    assert said(*holds(2 * HOUR_S), ask(), tick("09:05")) == [
        (
            "ask fails G2 (no_rule): those it may take from do not hold enough on the nodes it needs: were all gone "
            "(0 of 1 units), there would be room for 0 of its 1 × 4 GPUs."
        ),
        "R1 is closed to it: ρ of lab would be 2.769 with this contract, and 1 is the most.",
        (
            "The first to have banked its minimum runtime is j/1 (lab/b, 4 GPUs), at 2026-03-02 10:00:00 UTC, 55 min "
            "after the last tick."
        ),
        (
            "At the earliest at 2026-03-02 10:00:00 UTC, 55 min after the last tick, if nothing but time passes: then "
            "j/1 (lab/b, 4 GPUs) yields by R2, its minimum runtime banked, its work just saved."
        ),
    ]


def test_a_wait_of_its_own_is_over_at_an_instant():
    found = said(*holds(0), ask(), tick("09:00:30"))
    assert found == [
        "ask fails G3 (delay): it has waited for 30 s of the 60 s that everybody waits first.",
        "That is over at 2026-03-02 09:01:00 UTC, 30 s after the last tick.",
        (
            "At the earliest at 2026-03-02 09:01:00 UTC, 30 s after the last tick, if nothing but time passes: then "
            "j/1 (unfunded, 4 GPUs) yields by R0, its work just saved."
        ),
    ]


def test_those_ahead_are_counted_where_they_alone_are_in_the_way():
    found = said(*holds(0), ask(), ask("second", "09:01"), tick("09:05"), job="second")
    assert (
        found[-1]
        == "Alone it would not wait for anybody: j/1 (unfunded, 4 GPUs) yields by R0. 1 job ahead of it asks first."
    )


def test_the_rule_that_is_nearest_is_told_with_both_ratios():
    (first, _, r2, *_) = said(*holds(60), ask(min_runtime_s=4 * HOUR_S), tick("09:05"))
    assert first.startswith("ask fails G2 (no_rule)")
    assert r2 == (
        "R2 is closed to it: ρ of lab/a would be 7.385 with this contract, and must be 0.05 below that of those who "
        "yield; nearest is lab/b with 2.500."
    )


def test_a_slot_limit_is_told_with_its_numbers_and_that_time_does_not_help():
    found = said(*holds(0), ask(account="lab/c"), tick("09:05"))
    assert found == [
        "ask fails G1 (slot_limit): lab/c runs 0 of the 2 GPUs it may run at once, and this job asks for 4.",
        "Not by time alone: a day on it would fail G1 (slot_limit), if nobody starts, ends or asks until then.",
    ]


def test_unfunded_work_is_told_what_is_missing():
    found = said(*holds(0), ask(min_runtime_s=0), tick("09:05"))
    assert found[0] == (
        "ask fails G1 (unfunded): no budget pays for it, so nobody yields to it; it declares no minimum runtime, so it "
        "is free and always interruptible."
    )


def test_a_job_without_a_place_in_line_is_told_what_gives_it_one():
    too_large = said(*holds(0), ask(gpus=8, shape={"nodes": 2, "gpus_per_node_milli": 4000}), tick("09:05"))
    assert too_large == [
        (
            "ask takes no part in the ranking (not_placeable): no set of healthy nodes could hold it, even if all were "
            "free."
        ),
        "It asks for 2 × 4 GPUs.",
        "Not by time alone: nodes have to come back, or it has to ask for less.",
    ]
    held = said(*holds(0), ask(held=True), tick("09:05"))
    assert held[-1] == "Not by time alone: it has to be released."


def test_a_plan_that_is_carried_out_is_told_how_far_it_is():
    log = [*holds(0), ask(), tick("09:05"), committed("09:05", "j/1"), issued("09:05", "j/1")]
    assert said(*log) == [
        "ask fails G6 (planned): there is a plan for it already.",
        (
            "Plan h100/1/ask of 2026-03-02 09:05 UTC: 0 of 1 order settled; what comes next is due by 2026-03-02 "
            "09:08:00 UTC, 3 min after the last tick."
        ),
    ]
    assert "1 of 1 order settled" in said(*log, settled("09:06", "j/1"))[1]


def test_a_plan_that_is_only_told_says_until_when():
    log = [policy("08:01", enforcement="observe"), *holds(0), ask(), tick("09:05")]
    found = said(*log, committed("09:05", "j/1", mode="observe"))
    assert found[0] == "ask fails G6 (planned): there is a plan for it already."
    assert found[1].startswith("Plan h100/1/ask of 2026-03-02 09:05 UTC is only told, and nobody has to leave")


def test_a_job_that_has_a_plan_needs_no_reason():
    found = of(*holds(0), ask(), tick("09:05"))
    assert found is not None
    assert found.plan is not None
    assert (found.refusal, list(told(found)), json_of(found.earliest)) == (None, [], None)


def test_who_runs_does_not_wait():
    assert of(*holds(0), ask(), tick("09:05"), job="j") is None


def test_a_rule_that_opens_somebody_is_not_said_to_be_closed():
    """R2 opens lab/b (ρ 2.5), whose run would lose too much; lab/c (ρ 1) is too near. R2 is not what is in the way."""
    found = verdict_of(
        opens("08:00", enforcement="enforce"),
        node("08:00", "n", 4),
        node("08:00", "m", 4),
        shares("08:00", "lab", {"a": 30, "b": 20, "c": 50}),
        submitted("08:00", "jb", account="lab/b", gpus=4, min_runtime_s=60),
        started("08:00", "jb", on={"n": 4}),
        submitted("08:00", "jc", account="lab/c", gpus=4, min_runtime_s=60),
        started("08:00", "jc", on={"m": 4}),
        ask(),
        tick("09:05"),
    )
    assert dict(found.refusal.closed) == {"loss_exceeds_gain": 1, "ratio": 1}
    assert not any(sentence.startswith("R2 is closed to it") for sentence in told(found)), list(told(found))


def verdict_of(*log: Any) -> Any:
    book = folded(list(log))
    assert not book.refused
    return verdict(lambda: decode(encode(book.book.state)), "ask")


def test_what_is_only_observed_is_counted_among_what_enforcement_would_do():
    """While an observed plan is open its asker fails G6, and `policy set enforcement=enforce` tells of nobody."""
    log = [*SET_UP, policy("08:01", enforcement="observe"), *holds(0), ask(), tick("09:05")]
    before, _ = preview(folded(log).book.state)
    after, _ = preview(folded([*log, committed("09:05", "j/1", mode="observe")]).book.state)
    assert [it.asker.job for _, it in before if isinstance(it, Plan)] == ["ask"]
    assert [it.asker.job for _, it in after if isinstance(it, Plan)] == ["ask"]


def test_a_run_on_a_node_that_drains_would_have_to_leave_too():
    """`policy set enforcement=enforce` says whom that would order off: nothing of drains."""
    drains = node("09:00", "n", 4, state="draining")
    log = [*SET_UP, policy("08:01", enforcement="observe"), *holds(0), drains, tick("09:05")]
    state = folded(log).book.state
    ordered = due(state, s("09:05"), rules_of(state.policy_at(s("09:05")))).acts
    made, _ = preview(state)
    assert len(ordered) == 1
    assert sum(len(victim.unit.runs) for _, it in made for victim in it.victims) == 1


def test_between_many_ends_the_first_that_helps_is_found():
    """40 runs of two hours' minimum runtime, one begun a minute after the other; the asker needs one of them."""
    runs = [
        event
        for n in range(40)
        for event in (
            submitted(f"08:{n:02}", f"r{n}", account="lab/b", gpus=1, min_runtime_s=2 * HOUR_S, resumable=True),
            started(f"08:{n:02}", f"r{n}", on={"big": 1}),
            checkpointed(f"08:{n:02}:30", f"r{n}"),
        )
    ]
    one = ask(gpus=1, shape={"nodes": 1, "gpus_per_node_milli": 1000})
    found = verdict_of(
        opens("08:00", enforcement="enforce"),
        node("08:00", "big", 40),
        shares("08:00", "lab", {"a": 50, "b": 40}),
        *runs,
        one,
        tick("09:59"),
    )
    seen = found.earliest
    assert found.refusal.name == "no_rule"
    assert (seen.by_s, seen.at_once) == (s("10:00"), True)
    later = verdict_of(
        opens("08:00", enforcement="enforce"),
        node("08:00", "big", 40),
        shares("08:00", "lab", {"a": 50, "b": 40}),
        *runs[3:],
        submitted("08:00", "r0", account="lab/a", gpus=1, min_runtime_s=2 * HOUR_S),
        started("08:00", "r0", on={"big": 1}),
        one,
        tick("09:59"),
    ).earliest
    assert (later.by_s, later.at_once) == (s("10:01"), True)


def test_a_node_is_emptied_and_who_asks_fits_elsewhere():
    """Nobody is planned for on a node that is emptied."""
    drains = node("09:00", "n", 4, state="draining")
    log = [*SET_UP, node("08:00", "m", 4), policy("08:01", enforcement="observe"), *holds(0), drains, ask()]
    made, refused = preview(folded([*log, tick("09:05")]).book.state)
    assert [(it.node, it.orders) for _, it in made if isinstance(it, Emptied)] == [("n", 1)]
    assert len(made) == 1
    assert [(refusal.job, refusal.name) for _, refusal in refused] == [("ask", "fits")]


def test_a_drain_that_is_observed_is_counted_and_the_hour_s_limit_is_that_of_enforcing():
    drains = node("09:00", "n", 4, state="draining")
    log = [*SET_UP, policy("08:01", enforcement="observe", max_orders_per_hour=1), *holds(0), drains, tick("09:05")]
    state = folded(log).book.state
    (drain,) = due(state, s("09:05"), rules_of(state.policy_at(s("09:05")))).acts
    observed = folded([*log, drain.model_copy(update={"recordedtime": drain.time})])
    assert not observed.refused
    assert due(observed.book.state, s("09:05"), rules_of(state.policy_at(s("09:05")))).acts == []
    assert [it.orders for _, it in preview(observed.book.state).made] == [1]
