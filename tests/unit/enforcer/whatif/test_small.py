"""One node, a long unfunded run, and funded work that asks in its middle: every figure reckoned by hand.

8 GPUs from 08:00. `u`, unfunded, runs 08:00 to 14:00 and saves every half hour. `f` of lab/a (half of the node), two
hours of minimum runtime, asks at 09:05; as recorded it waited until 14:00. With enforcement somebody looks at 09:10,
`u` leaves at 09:10:30 and has saved at 09:00; `f` ends at 11:10:30, and `u` goes on at the next look, 11:20, for the
five hours it still needs.
"""

from dataclasses import replace

import pytest

from enforcer.whatif.compare import RECORDED, SIDES, WITH, WITHOUT, Unplayable, WhatIf, what_if
from enforcer.whatif.figures import Account, Pool
from ledger.book import Book
from ledger.state import State
from ledger.units import GPU_HOUR_MS, HOUR_S
from tenure.played import figure_rows, plan_rows
from tests.support.said import CLUSTER, node, opens, s, say, tick

FROM, UNTIL = "08:00", "18:00"
EIGHT = [{"node": "n", "gpus_milli": 8000}]


def told(*more: object) -> State:
    book = Book(CLUSTER)
    shares = [{"child": "a", "share_percent": 50}, {"child": "b", "share_percent": 50}]
    events = [
        opens(FROM),
        say("shares.set", "day 0 12:00", author="ann", parent="lab", children=shares, expected_revision=0),
        node(FROM, gpus=8),
        say("job.submitted", FROM, job="u", user="ann", gpus_milli=8000, resumable=True),
        say("job.started", FROM, job="u", attempt="1", placements=EIGHT),
        *(say("job.checkpointed", f"{h:02}:{m:02}", job="u", attempt="1") for h in range(8, 14) for m in (0, 30)),
        say("job.submitted", "09:05", job="f", user="bob", account="lab/a", gpus_milli=8000, min_runtime_s=2 * HOUR_S),
        say("job.ended", "14:00", job="u", attempt="1", outcome="succeeded"),
        say("job.started", "14:00", job="f", attempt="1", placements=EIGHT),
        say("job.ended", "16:00", job="f", attempt="1", outcome="succeeded"),
        *more,
        tick("18:05"),
    ]
    for event in events:
        book.apply(event, s("18:05"))
    book.take()
    return book.state


def asked(state: State) -> WhatIf:
    return what_if(state, s(FROM), s(UNTIL))


@pytest.fixture(scope="module")
def found() -> WhatIf:
    return asked(told())


def gh(hours: float) -> int:
    return round(hours * GPU_HOUR_MS)


def test_owed_and_delivered(found: WhatIf):
    """Owed is 4 an hour while f asks or runs: seven hours, or until 11:10:30, of which the last asks 8 × 10:30."""
    waited = Account(owed=gh(28), delivered=gh(16), met=gh(8))
    assert found.sides[RECORDED].accounts["h100", "lab/a"] == waited
    assert found.sides[WITHOUT].accounts["h100", "lab/a"] == waited
    assert found.sides[WITH].accounts["h100", "lab/a"] == Account(owed=gh(9.4), delivered=gh(16), met=gh(9.4))


def test_occupancy(found: WhatIf):
    """u 6 h and f 2 h; with enforcement u holds the node 1 h 10 min 30 s and 5 h."""
    assert found.sides[WITHOUT].pools["h100"] == Pool(gh(80), gh(80), gh(64))
    assert found.sides[WITH].pools["h100"] == Pool(gh(80), gh(80), gh(8 * (70.5 / 60 + 2 + 5)))


def test_waits(found: WhatIf):
    assert [found.sides[side].waits["funded batch"].started_s for side in SIDES] == [[17_700], [17_700], [330]]
    assert [found.sides[side].waits["unfunded"].started_s for side in SIDES] == [[0]] * 3
    assert [found.sides[side].waits["funded batch"].part(90) for side in SIDES] == [17_700, 17_700, 330]


def test_losses_and_preemptions(found: WhatIf):
    """From the checkpoint at 09:00 to 09:10:30."""
    assert found.sides[WITH].lost == {("", "preemption"): 8000 * 630}
    assert found.sides[WITH].preempted == {"unfunded": 1}
    assert not found.sides[WITHOUT].lost
    assert not found.sides[WITHOUT].preempted


def test_plans(found: WhatIf):
    (plan,) = found.plans
    assert (plan.at_s, plan.job, plan.account, plan.rule, plan.why) == (s("09:10"), "f", "lab/a", "R0", "asker_started")
    assert [(v.job, v.account, v.class_) for v in plan.victims] == [("u", "", "unfunded")]


def test_the_same_facts_give_the_same_bytes(found: WhatIf):
    again = asked(told())
    assert repr((figure_rows(again, 0), plan_rows(again, 0))) == repr((figure_rows(found, 0), plan_rows(found, 0)))


def test_the_book_that_is_asked_stays_as_it_is():
    state = told()
    before = (state.seq, state.jobs["u"].record(), state.policies.record(), sorted(state.acts.plans))
    asked(state)
    assert (state.seq, state.jobs["u"].record(), state.policies.record(), sorted(state.acts.plans)) == before


def test_a_span_begins_in_the_middle_of_runs():
    """From 09:00 on u runs already, and needs five hours more."""
    found = what_if(told(), s("09:00"), s(UNTIL))
    assert found.sides[WITH].pools["h100"].occupied == gh(8 * (10.5 / 60 + 2 + 5))
    assert found.sides[WITH].lost == {("", "preemption"): 8000 * 630}
    assert found.sides[WITHOUT].pools["h100"].occupied == gh(8 * 7)


def test_a_failed_node_ends_what_runs_on_it():
    """Down from 09:30 to 10:00: without enforcement u goes on at 10:00 from its checkpoint at 09:30 sharp."""
    found = asked(told(node("09:30", gpus=8, state="down"), node("10:00", gpus=8)))
    assert found.sides[WITHOUT].lost == {}
    assert found.sides[WITHOUT].pools["h100"].available == gh(76)
    assert found.sides[WITHOUT].waits["funded batch"].started_s == [s("10:00") - s("09:05")]


@pytest.mark.parametrize(
    ("since", "until"), [("07:00", "18:00"), ("08:00", "19:00"), ("08:30", "18:00"), ("12:00", "12:00")]
)
def test_what_cannot_be_played_is_refused(since: str, until: str):
    with pytest.raises(Unplayable):
        what_if(told(), s(since), s(until))


def test_another_policy_is_another_answer(found: WhatIf):
    slow = asked(told(say("policy.set", "08:00", author="ann", preemption_delay_s=3600)))
    assert slow.policy != found.policy
    assert slow.plans[0].at_s == s("10:10")
    assert replace(slow, policy="") != replace(found, policy="")
