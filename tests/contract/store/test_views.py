"""The public views: settled, latest, rolled up."""

from datetime import UTC, datetime
from typing import Any

import pytest

from ledger.rows import Decision, Grant, Job, Maintenance, NodeHour, OpenHour, Plan, Preemption, Remark, Share
from ledger.store.protocol import Store, WhatIfFigure, WhatIfPlan
from ledger.units import FOREVER_S
from tests.contract.store.rows import (
    HOUR_S,
    account_hour,
    checkpoint,
    cluster_hour,
    letter,
    make,
    posting,
    run,
    tables_of,
)


def rows(store: Store, view: str, *columns: str, where: str = "1") -> list[tuple[Any, ...]]:
    names = ", ".join(f"`{name}`" for name in columns)
    return store.query(f"SELECT {names} FROM {view} WHERE {where} ORDER BY ALL").rows


def settle(store: Store, seq: int, cluster: str = "c", **given: Any) -> None:
    store.save_checkpoint("g1", checkpoint(cluster, seq=seq, events=seq, **given))


@pytest.mark.parametrize(
    "view", ["report_postings", "report_account_hours", "report_cluster_hours", "report_grants", "report_decisions"]
)
def test_what_no_checkpoint_covers_is_not_shown(store: Store, view: str):
    for seq in (1, 2, 3):
        hour_s = HOUR_S + 3600 * seq
        store.write(
            "g1",
            tables_of(
                posting(seq),
                account_hour("lab/a", seq, hour_s=hour_s),
                cluster_hour(seq, hour_s=hour_s),
                make(Grant, cluster="c", grant=str(seq), seq=seq),
                make(Decision, cluster="c", seq=seq),
            ),
        )
        store.write("g1", tables_of(posting(seq, cluster="never settled")))
    assert rows(store, view, "cluster", "seq") == []
    settle(store, 2)
    settle(store, 1, "elsewhere")
    assert rows(store, view, "cluster", "seq") == [("c", 1), ("c", 2)]


def test_an_account_hour_is_its_latest_settled_version(store: Store):
    versions = [
        account_hour("lab/a", 1, owed_gpu_ms=100, charged_gpu_ms=80),
        account_hour("lab/a", 2, owed_gpu_ms=90, charged_gpu_ms=80, refunded_gpu_ms=30),
        account_hour("lab/a", 3, owed_gpu_ms=1),
    ]
    store.write("g1", tables_of(*versions[::-1]))
    settle(store, 2)
    shown = rows(store, "report_account_hours", "owed_gpu_ms", "delivered_gpu_ms", "met_gpu_ms", "versions", "seq")
    assert shown == [(90, 50, 50, 2, 2)]


def test_ancestors_are_the_sums_of_their_leaves(store: Store):
    leaves = [
        account_hour("lab/vision/video", 1, claim_gpu_ms=1, owed_gpu_ms=10, charged_gpu_ms=30),
        account_hour("lab/vision/.", 2, claim_gpu_ms=10, owed_gpu_ms=10, charged_gpu_ms=0),
        account_hour("lab/.", 3, claim_gpu_ms=100, owed_gpu_ms=10, charged_gpu_ms=10),
        account_hour("", 4, unfunded_gpu_ms=7),
        account_hour("lab/vision/video", 5, pool="b200", claim_gpu_ms=1000),
    ]
    store.write("g1", tables_of(*leaves))
    settle(store, 5)
    shown = rows(
        store, "report_account_rollup_hours", "account", "claim_gpu_ms", "met_gpu_ms", "leaves", where="pool = 'h100'"
    )
    assert shown == [
        ("", 0, 0, 1),
        ("lab", 111, 20, 3),
        ("lab/.", 100, 10, 1),
        ("lab/vision", 11, 10, 2),
        ("lab/vision/.", 10, 0, 1),
        ("lab/vision/video", 1, 10, 1),
    ]
    assert rows(store, "report_account_rollup_hours", "claim_gpu_ms", where="account = 'lab' AND pool = 'b200'") == [
        (1000,)
    ]


def test_a_pool_hour_says_what_is_available_and_occupied(store: Store):
    store.write(
        "g1",
        tables_of(
            cluster_hour(1, capacity_gpu_ms=5),
            cluster_hour(
                2,
                capacity_gpu_ms=100,
                unfunded_gpu_ms=10,
                protected_gpu_ms=20,
                interruptible_gpu_ms=30,
                suspended_gpu_ms=5,
                idle_gpu_ms=20,
                unavailable_planned_gpu_ms=10,
                unavailable_unplanned_gpu_ms=5,
            ),
        ),
    )
    settle(store, 2)
    shown = rows(store, "report_cluster_hours", "capacity_gpu_ms", "available_gpu_ms", "occupied_gpu_ms", "idle_gpu_ms")
    assert shown == [(100, 85, 65, 20)]


def test_what_is_replaced_in_place_reads_on_past_the_checkpoint(store: Store):
    store.write("g1", tables_of(run("j", seq=1), make(Job, job="j", seq=1), make(NodeHour, seq=1)))
    settle(store, 1)
    store.write("g1", tables_of(run("j", seq=2), make(Job, job="j", seq=2), make(NodeHour, seq=2)))
    for view in ("report_runs", "report_jobs", "report_node_hours"):
        assert rows(store, view, "seq") == [(2,)]


def test_a_plan_and_the_runs_it_names_are_shown_as_they_stand(store: Store):
    run_of = {"plan": "P", "job": "j", "attempt": "1"}
    store.write("g1", tables_of(make(Plan, plan="P", seq=1, state="open"), make(Preemption, **run_of, seq=1)))
    store.write(
        "g1", tables_of(make(Plan, plan="P", seq=2, state="fits"), make(Preemption, **run_of, seq=2, how="requeue"))
    )
    assert rows(store, "report_plans", "plan", "state", "seq") == [("P", "fits", 2)]
    assert rows(store, "report_preemptions", "run", "how", "class", "seq") == [("j/1", "requeue", "x", 2)]


def test_a_window_is_shown_as_it_was_last_planned(store: Store):
    for seq, nodes in ((1, ("m", "n")), (2, ("n",))):
        store.write("g1", tables_of(make(Maintenance, cluster="c", window="w", nodes=nodes, seq=seq)))
    assert rows(store, "report_maintenance", "window", "nodes", "seq") == [("w", ["n"], 2)]


def test_losses_by_cause_and_hour(store: Store):
    """8 GPUs for half an hour from 23:00 on: 4 GPU-hours, or what ran since a checkpoint at 23:20."""
    banked = {"resumable": True, "checkpointed_s": HOUR_S + 1200}
    lost = [
        run("since its start", outcome="preempted", resumable=False, checkpointed_s=HOUR_S + 1200),
        run("since its checkpoint", outcome="preempted", **banked),
        run("paused after it", outcome="preempted", running_s=300, **banked),
        run("node", outcome="node_failure", resumable=True),
        run("unfunded", outcome="preempted", funded=False, account="lab/z", resumable=False),
        run("by itself", outcome="failed", resumable=True),
        run("out of memory", outcome="out_of_memory", **banked),
        run("by hand", outcome="requeued", resumable=True),
        run("done", outcome="succeeded"),
        run("taken back", outcome="cancelled"),
        run("runs", outcome="", ended_s=None, running_s=None),
    ]
    wasted = {"pool": "h100", "account": "lab/b", "expired_s": HOUR_S + 3600}
    holds = [
        make(Plan, cluster="c", plan="P", wasted_gpu_ms=5, **wasted),
        make(Plan, cluster="c", plan="Q", wasted_gpu_ms=6, **wasted),
        make(Plan, cluster="c", plan="R", wasted_gpu_ms=0, **wasted),
        make(Plan, cluster="c", plan="S", wasted_gpu_ms=9, pool="h100", expired_s=None),
    ]
    store.write("g1", tables_of(*lost, *holds))
    booked = run("any").ledger_account
    hour, next_hour = (datetime.fromtimestamp(HOUR_S + n, UTC) for n in (0, 3600))
    assert rows(store, "report_losses", "account", "cause", "basis", "hour", "times", "lost_gpu_ms") == sorted(
        [
            (booked, "job_failure", "checkpoint", hour, 1, 8000 * 600),
            (booked, "job_failure", "no_checkpoint", hour, 1, 14_400_000),
            (booked, "node_failure", "no_checkpoint", hour, 1, 14_400_000),
            (booked, "preemption", "checkpoint", hour, 2, 8000 * 600 + 8000 * 300),
            (booked, "preemption", "not_resumable", hour, 1, 14_400_000),
            (booked, "requeue", "no_checkpoint", hour, 1, 14_400_000),
            ("lab/b", "wasted_hold", "hold", next_hour, 2, 11),
            ("lab/z", "preemption", "not_resumable", hour, 1, 14_400_000),
        ]
    )


def test_an_ended_run_says_what_it_waited_held_and_got(store: Store):
    ended = run("ended", refunded_gpu_ms=1_000_000)
    store.write("g1", tables_of(ended))
    columns = ("run", "wait_s", "elapsed_s", "held_gpu_ms", "charged_gpu_ms", "delivered_gpu_ms")
    assert rows(store, "report_runs", *columns) == [("ended/1", 300, 1800, 14_400_000, 14_400_000, 13_400_000)]
    classes = ("protected_gpu_ms", "interruptible_gpu_ms", "unfunded_gpu_ms", "class")
    assert rows(store, "report_runs", *classes) == [(9_600_000, 4_800_000, 0, "interruptible")]


def test_a_run_that_lasts_is_measured_up_to_the_last_tick(store: Store):
    lasting = run("lasting", ended_s=None, running_s=None, suspended_s=None, submitted_s=None, eligible_s=None)
    store.write("g1", tables_of(lasting))
    columns = ("elapsed_s", "held_gpu_ms", "class", "wait_s", "charged_gpu_ms", "protected_gpu_ms")
    assert rows(store, "report_runs", *columns) == [(0, 0, "protected", None, None, None)]
    settle(store, 1, ticked_s=HOUR_S + 60)
    assert rows(store, "report_runs", *columns) == [(60, 480_000, "protected", None, None, None)]
    settle(store, 2, ticked_s=HOUR_S + 1500)
    assert rows(store, "report_runs", *columns)[0][:3] == (1500, 12_000_000, "interruptible")


def test_what_a_run_held_leaves_out_the_time_its_gpus_were_given_back(store: Store):
    away = ((HOUR_S + 600, HOUR_S + 1200), (HOUR_S + 1500, FOREVER_S))
    store.write("g1", tables_of(run("ended", released=away), run("lasting", ended_s=None, released=away)))
    settle(store, 1, ticked_s=HOUR_S + 900)
    columns = ("job", "elapsed_s", "released_s", "held_gpu_ms")
    assert sorted(rows(store, "report_runs", *columns)) == [
        ("ended", 1800, 900, 7_200_000),
        ("lasting", 900, 300, 4_800_000),
    ]


def test_an_unfunded_run_is_charged_to_nobody(store: Store):
    store.write("g1", tables_of(run("free", funded=False, contract_end_s=None, min_runtime_s=0)))
    columns = (
        "charged_gpu_ms",
        "delivered_gpu_ms",
        "protected_gpu_ms",
        "interruptible_gpu_ms",
        "unfunded_gpu_ms",
        "class",
    )
    assert rows(store, "report_runs", *columns) == [(0, 0, 0, 0, 14_400_000, "unfunded")]


def test_a_share_is_in_force_by_the_highest_revision_that_has_begun(store: Store):
    def share(revision: int, child: str, effective_s: int, parent: str = "lab") -> Share:
        return make(Share, cluster="c", parent=parent, revision=revision, child=child, effective_s=effective_s, seq=1)

    store.write(
        "g1",
        tables_of(
            share(1, "a", HOUR_S - 100),
            share(2, "a", HOUR_S - 50),
            share(2, "b", HOUR_S - 50),
            share(3, "a", HOUR_S + 50),
            share(1, "x", HOUR_S - 100, parent="lab/a"),
        ),
    )
    settle(store, 1, ticked_s=HOUR_S)
    shown = rows(store, "report_shares", "account", "revision", where="in_force")
    assert shown == [("lab/a", 2), ("lab/a/x", 1), ("lab/b", 2)]
    ((percent,),) = store.query("SELECT DISTINCT share_percent FROM report_shares").rows
    assert str(percent) == "33.333333"


@pytest.mark.parametrize("text", ["0", "100", "33.333333", "1E+1", "5E-6", "0.000001"])
def test_a_share_may_be_written_as_python_writes_decimals(store: Store, text: str):
    store.write("g1", tables_of(make(Share, cluster="c", share_percent=text, seq=1)))
    settle(store, 1)
    ((percent,),) = store.query("SELECT toFloat64(share_percent) FROM report_shares").rows
    assert percent == float(text)


def test_remarks_of_events_that_change_nothing_are_all_kept(store: Store):
    store.write("g1", tables_of(*(make(Remark, cluster="c", seq=1, event_id=str(n)) for n in range(4))))
    settle(store, 1)
    assert len(rows(store, "report_remarks", "event_id")) == 4


def test_dead_letters_show_readable_text(store: Store):
    store.write_dead_letters([letter(1, raw=b"\xff{")])
    assert rows(store, "report_dead_letters", "offset", "raw_text", "raw_bytes") == [(1, "\ufffd{", 2)]


# ---------------------------------------------------------------- live hours


def open_hour(hour_s: int, seq: int, account: str = "lab/a", **given: Any) -> OpenHour:
    amounts = {name: 0 for name in OpenHour._fields if name.endswith("_gpu_ms")}
    filled = {"cluster": "c", "pool": "h100", "account": account, "hour_s": hour_s, "until_s": hour_s + 60, "seq": seq}
    return make(OpenHour, **amounts | filled | given)


LIVE = ("account", "hour", "owed_gpu_ms", "provisional")


def utc(second: int) -> datetime:
    return datetime.fromtimestamp(second, UTC)


def test_live_hours_are_the_closed_ones_and_then_the_open_ones(store: Store):
    closed = account_hour("lab/a", 1, owed_gpu_ms=5)
    open_ = open_hour(HOUR_S + 3600, 2, owed_gpu_ms=6)
    store.write("g1", tables_of(closed, cluster_hour(1), open_))
    shown = [("lab/a", utc(HOUR_S), 5, False), ("lab/a", utc(HOUR_S + 3600), 6, True)]
    assert rows(store, "report_live_account_hours", *LIVE) == shown


def test_open_hours_of_an_earlier_tick_are_stale(store: Store):
    store.write("g1", tables_of(open_hour(HOUR_S, 1, "lab/gone"), open_hour(HOUR_S, 1)))
    store.write("g1", tables_of(open_hour(HOUR_S, 2, owed_gpu_ms=9)))
    store.write("g1", tables_of(open_hour(HOUR_S, 1, "lab/x", cluster="d")))
    assert rows(store, "report_live_account_hours", *LIVE) == [
        ("lab/a", utc(HOUR_S), 9, True),
        ("lab/x", utc(HOUR_S), 0, True),
    ]


def test_an_open_hour_is_stale_once_its_hour_is_closed(store: Store):
    store.write("g1", tables_of(open_hour(HOUR_S, 1, "lab/a"), open_hour(HOUR_S, 1, "lab/b")))
    store.write("g1", tables_of(account_hour("lab/a", 2, owed_gpu_ms=5), cluster_hour(2)))
    assert rows(store, "report_live_account_hours", *LIVE) == [("lab/a", utc(HOUR_S), 5, False)]


def what_if(side: str, amount: int, seq: int = 1, **given: Any) -> WhatIfFigure:
    told: dict[str, Any] = {
        "cluster": "c",
        "since_s": HOUR_S,
        "until_s": HOUR_S + 86400,
        "policy": "p",
        "side": side,
        "pool": "h100",
        "account": "lab/a",
        "figure": "owed_gpu_ms",
        "subject": "",
        "amount": amount,
        "seq": 1,
        "recorded_us": seq,
    }
    return WhatIfFigure(**told | given)


def what_if_plan(plan: str, seq: int = 1) -> WhatIfPlan:
    head = ("c", HOUR_S, HOUR_S + 86400, "p", plan, "h100", HOUR_S + 600, "7", "lab/a", 8000, "R0", 5, "asker_started")
    return WhatIfPlan(*head, ("3/1", "4/1"), ("", "lab/b"), ("unfunded", "over"), 1, seq)


def test_of_a_span_only_what_was_played_last_counts(store: Store):
    """Played again, it has fewer figures and other plans: what is no longer said is gone. Another policy is another."""
    store.write_what_if([what_if("with", 1), what_if("without", 2)], [what_if_plan("P")])
    store.write_what_if([what_if("with", 9, policy="q")], [])
    store.write_what_if([what_if("with", 3, seq=2)], [what_if_plan("Q", seq=2)])
    assert rows(store, "report_what_ifs", "policy", "side", "amount") == [("p", "with", 3), ("q", "with", 9)]
    plans = rows(store, "report_what_if_plans", "plan", "victims", "victim_accounts", "victim_classes")
    assert plans == [("Q", ["3/1", "4/1"], ["", "lab/b"], ["unfunded", "over"])]


def test_the_longest_span_of_a_period_is_shown(store: Store):
    store.write_what_if([what_if("with", 1)], [])
    store.write_what_if([what_if("with", 2, until_s=HOUR_S + 3600), what_if("with", 3, until_s=HOUR_S + 90_000)], [])

    def kept(hours: int, policy: str = "") -> list[Any]:
        span = {"cluster": "c", "from_s": HOUR_S, "until_s": HOUR_S + hours * 3600, "policy": policy}
        return [row[-1] for row in store.query("what_if_kept", span).rows]

    assert [kept(hours) for hours in (0, 1, 23, 24, 25, 99)] == [[], [2], [2], [1], [3], [3]]
    assert kept(99, "another") == []
