"""What people see of the enforcer: the book of a small cluster in which it acted for a morning."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.e2e.cli.conftest import copied, once
from tests.e2e.cli.driver import Answer, many
from tests.support.enforced import a_morning, and_who_waits
from tests.support.enforcing import Work
from tests.support.said import committed, node, opens, shares, started, submitted, tick

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="session")
def morning(common: Path) -> Path:
    """The data folder, for copying."""
    folder, log = common / "cli-enforced", common / "cli-enforced.jsonl"
    with once(log) as mine:
        if mine:
            told = and_who_waits(a_morning()).write(common / "cli-enforced-told.jsonl")
            (answer,) = many(folder, [["ingest", str(told)]])
            assert answer.code == 0, answer.err
            told.rename(log)
    return folder


@pytest.fixture
def book(morning: Path, tmp_path: Path) -> Path:
    return copied(morning, tmp_path / "enforced")


def flat(answer: Answer) -> str:
    assert answer.code == 0, answer.err
    assert not [line for line in answer.out.splitlines() if cell_len(line) > 100]
    return " ".join(answer.out.split())


# ---------------------------------------------------------------- the policy


def test_the_policy_is_shown_with_who_set_it_and_as_it_was(book: Path):
    shown, before, told, listed = many(
        book,
        [
            ["policy"],
            ["policy", "--at", "2026-03-02T01:00"],
            ["policy", "--json"],
            ["policy", "history", "--json"],
        ],
    )
    assert "enforcement enforce 2026-03-02 01:30 ann the plans of the morning were right" in flat(shown)
    assert "enforcement observe 2026-03-02 00:00 ann see first what it would do" in flat(before)
    (cluster,) = told.json["clusters"]
    fields = {field["field"]: field for field in cluster["policy"]}
    assert (fields["grace_s"]["value"], fields["grace_s"]["set"]["author"]) == (60, "ann")
    assert (fields["hold_s"]["value"], fields["hold_s"]["set"]) == (300, None)
    assert [change["changed"] for change in listed.json["changes"]] == [
        {"enforcement": "enforce"},
        {"enforcement": "observe", "grace_s": "60"},
    ]


def test_a_policy_is_previewed_asked_about_and_written_once(book: Path):
    change = ["policy", "set", "grace_s=2m", "window_h=14d", "--reason", "longer saves"]
    asked, dry, written, again, wrong, none, listed = many(
        book,
        [
            change,
            [*change, "--dry-run", "--json"],
            [*change, "--yes", "--author", "omar"],
            [*change, "--yes"],
            ["policy", "set", "enforcement=stop", "--yes"],
            ["policy", "set", "grace=1", "--yes"],
            ["policy", "history", "--json"],
        ],
    )
    assert (asked.code, "--yes" in asked.err) == (2, True)
    assert dry.json["changes"] == [
        {"field": "grace_s", "before": 60, "after": 120},
        {"field": "window_h", "before": 168, "after": 336},
    ]
    assert dry.json["written"] is False
    assert "grace_s 60 120" in flat(written)
    assert "nothing was written" in flat(again)
    assert (wrong.code, "'observe', 'enforce' or 'paused'" in wrong.err) == (2, True)
    assert (none.code, "with one of opens_at, window_h" in none.err) == (2, True)
    latest = listed.json["changes"][0]
    assert (latest["author"], latest["reason"], latest["changed"]) == (
        "omar",
        "longer saves",
        {"grace_s": "120", "window_h": "336"},
    )
    assert len(listed.json["changes"]) == 3


def test_enforcement_is_paused_and_goes_on_as_before(book: Path):
    paused, twice, shown, asked, resumed, again = many(
        book,
        [
            ["policy", "pause", "--reason", "an upgrade", "--json"],
            ["policy", "pause"],
            ["policy", "--json"],
            ["policy", "resume"],
            ["policy", "resume", "--yes", "--json"],
            ["policy", "resume", "--yes"],
        ],
    )
    assert paused.json == {"cluster": "c", "before": "enforce", "enforcement": "paused", "written": True}
    assert "is paused already: nothing was written" in flat(twice)
    fields = {field["field"]: field for field in shown.json["clusters"][0]["policy"]}
    assert (fields["enforcement"]["value"], fields["enforcement"]["set"]["reason"]) == ("paused", "an upgrade")
    assert (asked.code, "--yes" in asked.err) == (2, True)
    assert resumed.json == {"cluster": "c", "before": "paused", "enforcement": "enforce", "written": True}
    assert "is enforce already: nothing was written" in flat(again)


# ---------------------------------------------------------------- the log


ACTS = ["plan", "order", "outcome", "hold", "end"]


def test_the_log_has_every_act_in_order(book: Path):
    shown, told = many(book, [["enforcement-log"], ["enforcement-log", "--json"]])
    acts = told.json["acts"]
    assert [act["act"] for act in acts] == ["plan", "end", *ACTS, *ACTS]
    assert [act["at"] for act in acts] == sorted(act["at"] for act in acts)
    assert {act["pool"] for act in acts} == {"h100"}
    assert told.json["truncated"] is False
    text = flat(shown)
    assert "plan observe room for urgent (lab/a, 1 × 8 GPUs) by R0: 1 run would have to leave" in text
    assert "order enforce sweep/1 (lab/b, over its claim, 8 GPUs) is to be put back into the queue within 60 s" in text
    assert "outcome enforce preempted: sweep/1 left after 10 s." in text
    assert "hold enforce room is kept for small on n1 (2 GPUs) until 2026-03-02 03:06" in text
    assert "end enforce asker_started: small runs." in text


FILTERS: list[tuple[list[str], list[str], int]] = [
    (["--mode", "observe"], ["urgent"], 2),
    (["--job", "sweep"], ["small"], 5),
    (["--job", "urgent"], ["urgent", "urgent"], 7),
    (["--account", "lab/b"], ["small"], 5),
    (["--account", "lab/c", "--job", "free"], ["urgent", "urgent"], 7),
    (["--account", "lab"], ["urgent", "urgent", "small"], 12),
    (["--pool", "b200"], [], 0),
    (["--since", "2026-03-02T03:00", "--until", "2026-03-02T03:01:10"], ["small"], 2),
    (["--until", "2026-03-02T01:30"], ["urgent"], 1),
]
"""What is asked, whom the plans are for, and how many acts there are."""


def test_the_log_is_filtered(book: Path):
    answers = many(book, [["enforcement-log", *filters, "--json"] for filters, _, _ in FILTERS])
    for (filters, plans, acts), told in zip(FILTERS, answers, strict=True):
        found = told.json["acts"]
        assert [act["job"] for act in found if act["act"] == "plan"] == plans, filters
        assert len(found) == acts, filters


def test_of_a_long_log_the_latest_are_shown(book: Path):
    told, shown, none = many(
        book,
        [
            ["enforcement-log", "--limit", "3", "--json"],
            ["enforcement-log", "--limit", "3"],
            ["enforcement-log", "--job", "nobody"],
        ],
    )
    assert [act["act"] for act in told.json["acts"]] == ACTS[2:]
    assert told.json["truncated"] is True
    assert "There are earlier ones: --limit shows them." in flat(shown)
    assert "The enforcer did nothing of that kind." in flat(none)


# ---------------------------------------------------------------- one job


def test_who_had_to_leave_is_told_why_with_numbers(book: Path):
    shown, told = many(book, [["explain", "sweep"], ["explain", "sweep", "--json"]])
    text = flat(shown)
    for sentence in (
        "attempt 1 starts after 0 s on n1, funded by lab/b, protected until 2026-03-02 01:00",
        "is to be put back into the queue within 60 s, for small (lab/c, 1 × 2 GPUs) by R1, plan h100/69/small",
        "it goes on as attempt 2, 1 h 29 min later",
        "Why sweep/1 had to leave for small (lab/c, 1 × 2 GPUs)",
        "small had place 1 of 2 in h100 with ρ 0.751 › 0.000.",
        "R1: work over its claim yields while the asker stays within its own",
    ):
        assert sentence in text, sentence
    (loss,) = told.json["losses"]
    (yielded,) = told.json["yielded"]
    assert loss["lost_gpu_ms"] == 8_000 * 70
    assert loss["next_attempt"] == "2"
    assert (yielded["job"], yielded["rule"], yielded["run"]["outcome"]) == ("small", "R1", "preempted")
    assert set(yielded["detail"]["theirs"]) == {"lab/b"}
    assert yielded["detail"]["after"]["lab/c"][1] == 2_000 * 3_600


def test_who_asked_is_told_its_plans_and_what_came_of_them(book: Path):
    shown, told = many(book, [["explain", "urgent"], ["explain", "urgent", "--json"]])
    text = flat(shown)
    assert "plan h100/19/urgent makes room for it, at place 1 of 1 in h100 with ρ" in text
    assert "only told, who would leave: free/1 (unfunded, 8 GPUs) by R0" in text
    assert "that plan is over, asker_started: urgent runs." in text
    assert [plan["state"] for plan in told.json["asked"]] == ["stopped", "asker_started"]
    assert told.json["yielded"] == []


GATES = [
    ("gang", "G2", "no_rule", "0 of its 2 × 8 GPUs"),
    ("spare", "G1", "unfunded", "it declares no minimum runtime"),
    ("more", "G1", "slot_limit", "lab/c runs 2 of the 4 GPUs it may run at once"),
    ("fresh", "G3", "delay", "it has waited for 20 s of the 60 s"),
]


def test_a_waiting_job_is_told_its_gate_and_the_pool(book: Path):
    asked = [["why-not", job, *extra] for job, *_ in GATES for extra in ([], ["--json"])]
    answers = many(book, asked)
    for (_, gate, name, sentence), shown, told in zip(GATES, answers[::2], answers[1::2], strict=True):
        assert sentence in flat(shown)
        (refusal,) = told.json["refusals"]
        assert (refusal["pool"], refusal["gate"], refusal["name"]) == ("h100", gate, name)
        assert (told.json["pool"], told.json["state"]) == ("h100", "waiting")


def test_what_time_alone_would_do_is_a_bound_on_what_came_to_pass(book: Path):
    """`late` got its room at 05:55:10, once `sweep` had banked its minimum runtime and the ratios let it."""
    (told,) = many(book, [["why-not", "late", "--json"]])
    seen = told.json["earliest"]
    assert seen["victims"] == ["sweep/2"]
    assert seen["after"] < "2026-03-02T05:55:10Z" <= seen["by"]


def test_who_does_not_wait_is_told_so(book: Path):
    runs, over, unknown, wide, json_ = many(
        book,
        [["why-not", job] for job in ("sweep", "urgent", "nobody", "wide")] + [["why-not", "sweep", "--json"]],
    )
    assert "sweep runs since 2026-03-02 04:30 UTC, protected until 2026-03-02 05:30 UTC" in flat(runs)
    assert "urgent is over (succeeded)" in flat(over)
    assert (unknown.code, "`tenure queue` lists those that wait" in unknown.err) == (3, True)
    assert "wide takes no part in the ranking (not_placeable)" in flat(wide)
    assert (json_.json["state"], json_.json["refusals"]) == ("running", [])


def test_a_job_that_came_after_the_last_tick_is_not_over(tmp_path: Path):
    """`tenure up` ticks every 30 s; who asks in between is told that it waits."""
    world = a_morning()
    world.now_s += 5
    world.submit(Work("just_now", "lab/a", 1, 8_000, 3600))
    log = str(world.write(tmp_path / "log.jsonl"))
    ingested, shown, asked = many(
        tmp_path / "book", [["ingest", log], ["why-not", "just_now"], ["why-not", "just_now", "--json"]]
    )
    assert ingested.code == 0
    assert "is over" not in flat(shown)
    assert asked.json["state"] != "ended"


def test_before_it_is_switched_on_it_is_said_what_would_be_done(tmp_path: Path):
    """Everything is observed already: a plan for `ask`, and node `m` drains."""
    events = [
        opens("08:00"),
        node("08:00", "n", 4),
        node("08:00", "m", 1),
        shares("08:00", "lab", {"a": 50, "b": 50}),
        *(submitted("08:00", name, account="lab/b", gpus=gpus, min_runtime_s=0) for name, gpus in (("j", 4), ("k", 1))),
        started("08:00", "j", on={"n": 4}),
        started("08:00", "k", on={"m": 1}),
        submitted("08:30", "ask", gpus=4, min_runtime_s=3600),
        node("09:00", "m", 1, state="draining"),
        tick("09:05"),
        committed("09:05", "j/1", mode="observe"),
    ]
    log = tmp_path / "log.jsonl"
    log.write_bytes(b"".join(event.model_dump_json(exclude_none=True).encode() + b"\n" for event in events))
    _, preview, shown, program = many(
        tmp_path / "book",
        [
            ["ingest", str(log)],
            ["policy", "set", "enforcement=enforce", "--dry-run"],
            ["plans"],
            ["plans", "--json"],
        ],
    )
    assert "1 run would have to leave for 1 job, and 1 more off 1 node to be emptied" in flat(preview)
    assert "m drains: what runs on it" in flat(shown)
    assert "k/1 (unfunded, 1 GPU) loses" in flat(shown)
    assert [(it["job"], it["node"], it["rule"]) for it in program.json["plans"]] == [
        (None, "m", "drain"),
        ("ask", None, "R0"),
    ]
