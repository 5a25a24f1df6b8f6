import json
from typing import Any

import pytest

from ledger.statements import (
    End,
    Terms,
    canonical,
    cause_of,
    clash,
    digest,
    end,
    end_of,
    full,
    greater,
    idle,
    insert,
    node_observed,
    node_removed,
    start,
    submitted,
    toggle,
    updated,
)
from ledger.units import epoch_us
from tests.support import said
from tests.support.folded import folded
from tests.support.said import s, small_cluster, t, tick


def of(make: Any, event: Any) -> Any:
    return make(event, epoch_us(event.time))


def an_end(time_us: int, source: str = "s", id: str = "i", outcome: str = "failed") -> End:
    return End(time_us, source, id, time_us // 1_000_000, outcome, None)


# ---------------------------------------------------------------------- stamps


@pytest.mark.parametrize(
    ("greatest", "least"),
    [
        (an_end(2), an_end(1, "z", "z")),
        (an_end(1, "b", "a"), an_end(1, "a", "b")),
        (an_end(1, "a", "b"), an_end(1, "a", "a")),
    ],
    ids=["time", "source", "id"],
)
def test_the_greater_stamp(greatest: End, least: End):
    assert greater(greatest, least)
    assert not greater(least, greatest)


def test_of_equal_stamps_the_content_decides_the_same_way_round():
    a, b = an_end(1, outcome="failed"), an_end(1, outcome="timeout")
    assert greater(a, b) != greater(b, a)
    assert not greater(a, a)


def test_a_clash_is_one_id_with_two_contents():
    assert clash(an_end(1), an_end(2))
    assert not clash(an_end(1), an_end(1))
    assert not clash(an_end(1), an_end(1, id="j"))
    assert not clash(an_end(1), an_end(1, source="t"))


def test_a_timeline_is_kept_in_stamp_order_and_takes_nothing_twice():
    line: list[End] = []
    told = [an_end(3), an_end(1), an_end(2, "b"), an_end(2, "a"), an_end(4)]
    assert [insert(line, one) for one in [*told, *told]] == [True] * 5 + [False] * 5
    assert line == [told[1], told[3], told[2], told[0], told[4]]


def test_equal_stamps_stand_in_one_order_whichever_came_first():
    a, b = an_end(1, outcome="failed"), an_end(1, outcome="timeout")
    one: list[End] = []
    other: list[End] = []
    insert(one, a)
    insert(one, b)
    insert(other, b)
    insert(other, a)
    assert one == other


def test_a_record_is_compact_json_in_ascii():
    assert canonical(("ä", 1, None, (True,))) == b'["\\u00e4",1,null,[true]]'
    assert json.loads(canonical(an_end(1))) == [1, "s", "i", 0, "failed", None]
    assert digest((1,)) != digest((2,))
    assert 0 <= digest((1,)) < 1 << 128


def test_a_cause_is_of_source_id_and_place():
    causes = {cause_of("a", "b", 1), cause_of("a", "b", 2), cause_of("b", "a", 1), cause_of("ab", "", 1)}
    assert len(causes) == 4
    assert {len(cause) for cause in causes} == {16}


# ---------------------------------------------------------------------- statements in events


def test_a_node():
    seen = of(node_observed, said.node("08:00:00.5", gpus=2, state="draining", reason="hot"))
    assert seen[3:] == (s("08:00"), "draining", 2000, "h100", "hot", False)
    assert seen.time_us == s("08:00") * 1_000_000 + 500_000
    gone = of(node_removed, said.say("node.removed", "08:00", node="n"))
    assert gone[3:] == (s("08:00"), "removed", 0, "", "", False)
    assert of(node_observed, said.node("08:00", assumed=True)).assumed


def test_terms_of_a_submission():
    shape = {"nodes": 2, "gpus_per_node_milli": 4000}
    event = said.submitted("08:00", gpus=8, shape=shape, gang="g", time_limit_s=60, eligible_from=t("09:00"), held=True)
    assert of(submitted, event).terms == Terms(
        user="ann",
        account="lab/a",
        gpus_milli=8000,
        shape_nodes=2,
        shape_gpus_milli=4000,
        min_runtime_s=3600,
        gang="g",
        time_limit_s=60,
        eligible_from_s=s("09:00"),
        held=True,
    )
    assert of(submitted, said.submitted("08:00", account=None)).terms.account == ""


@pytest.mark.parametrize(
    ("told", "changes"),
    [
        ({}, ()),
        ({"account": None, "gpus_milli": None, "shape": None, "eligible_from": None, "held": None}, ()),
        ({"held": False, "account": "lab/b"}, (("account", "lab/b"), ("held", False))),
        ({"eligible_from": t("09:00")}, (("eligible_from_s", s("09:00")),)),
        (
            {"shape": {"nodes": 2, "gpus_per_node_milli": 500}},
            (("shape_gpus_milli", 500), ("shape_nodes", 2)),
        ),
    ],
)
def test_an_update_says_what_is_there_and_null_is_not(told: dict[str, Any], changes: tuple[tuple[str, Any], ...]):
    assert of(updated, said.updated("08:00", **told)).changes == changes


def test_null_in_an_update_says_nothing_to_the_book_and_to_the_oracle():
    nothing = said.updated("08:10", account=None, min_runtime_s=None, shape=None)
    book = folded([*small_cluster(), said.submitted("08:00"), nothing, said.started("08:30"), tick("09:05")])
    assert book.net()[s("08:00")]["h100", "budget", "lab/a", "spent", "charge", "", "j/1"] == 1000 * 1800
    book.check()


def test_placements_on_one_node_are_added_up_and_stand_by_name():
    placements = [
        {"node": "n2", "gpus_milli": 500},
        {"node": "n1", "gpus_milli": 1000, "gpu_indices": [3]},
        {"node": "n2", "gpus_milli": 250, "gpu_indices": [1, 2]},
    ]
    event = said.say("job.started", "08:00", job="j", attempt="1", placements=placements)
    assert of(start, event).placements == (("n1", 1000, (3,)), ("n2", 750, (1, 2)))
    assert of(start, said.started("08:00", on={"n": 0.5})).placements == (("n", 500, ()),)


def test_a_whole_run():
    event = said.run(
        "10:00",
        start="08:00",
        end="09:00",
        on={"m": 1, "n": 2},
        submitted_at=t("07:00"),
        suspensions=[{"since": t("08:10")}, {"since": t("08:20"), "until": t("08:30"), "releases_gpus": True}],
        suspended_s=99,
        exit_code=3,
    )
    told = of(full, event)
    assert (told.at_s, told.started_s, told.ended_s) == (s("10:00"), s("08:00"), s("09:00"))
    assert (told.submitted_s, told.eligible_s, told.outcome, told.exit_code) == (s("07:00"), None, "succeeded", 3)
    assert told.pauses == ((s("08:10"), None, False), (s("08:20"), s("08:30"), True))
    assert told.suspended_s == 0  # the intervals speak
    assert (told.terms.gpus_milli, told.terms.shape_nodes, told.terms.shape_gpus_milli) == (3000, 2, 2000)
    assert end_of(told) == End(told.time_us, "test", event.id, s("09:00"), "succeeded", 3)


def test_a_run_that_goes_on_tells_no_end_and_may_tell_a_bare_total():
    told = of(full, said.run("10:00", start="08:00", suspended_s=99))
    assert end_of(told) is None
    assert (told.suspended_s, told.pauses, told.outcome) == (99, (), "")
    assert of(full, said.run("10:00", start="08:00", suspended_s=99, suspensions=[])).suspended_s == 0


def test_ends_pauses_and_idleness():
    assert of(end, said.ended("08:00", outcome="timeout", exit_code=1))[3:] == (s("08:00"), "timeout", 1)
    assert of(toggle, said.suspended("08:00", releases_gpus=True))[3:] == (s("08:00"), True, True)
    assert of(toggle, said.suspended("08:00"))[3:] == (s("08:00"), True, False)
    assert of(toggle, said.resumed("08:00"))[3:] == (s("08:00"), False, False)
    told = of(idle, said.say("gpu.idle_observed", "09:00", job="j", attempt="1", since=t("08:00")))
    assert told.since_s == s("08:00")
