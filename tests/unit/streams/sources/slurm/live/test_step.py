"""What a recorded Slurm 22.05.8 did in twenty seconds, poll by poll; and answers nobody recorded."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ledger.events import ClusterEvent
from ledger.units import epoch_s
from streams.sources.config import Rule, SourceConfig
from streams.sources.slurm.live.cursor import Cursor, CursorWrong, Kept, dumps, loads
from streams.sources.slurm.live.nodes import REMOVED_AFTER
from streams.sources.slurm.live.poll import Poll, job_pieces, node_pieces
from streams.sources.slurm.live.port import Silent, Told
from streams.sources.slurm.live.step import Step, begin, step, to_ask, window_s

CONFIG = SourceConfig(cluster="lab", rules=(Rule(account="team*", budget="org/{account}"),))


def recorded(root: Path) -> list[dict[str, Any]]:
    lines = (root / "tests/golden/slurm/live_22.05.8.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def poll_of(said: dict[str, Any]) -> Poll:
    def jobs(kind: Any, name: str) -> Any:
        text = said.get(name)
        found = None if text is None else job_pieces(Told(kind, text.encode()), CONFIG)
        assert not isinstance(found, Silent)
        return found

    nodes = node_pieces(Told("scontrol-node", said["nodes"].encode()))
    assert not isinstance(nodes, Silent)
    asked = jobs("sacct", "asked") if "asked" in said else []
    return Poll(said["at_s"], jobs("slurm-jobs-json", "jobs"), jobs("sacct", "ended"), asked, nodes)


def told(root: Path) -> list[list[ClusterEvent]]:
    """The events of every poll."""
    said = recorded(root)
    cursor, found = begin(said[0]["at_s"] - 60), []
    for one in said:
        poll = poll_of(one)
        assert to_ask(cursor, poll, CONFIG) == one.get("wanted", [])
        made = step(cursor, poll, CONFIG)
        assert made.letters == []
        assert made.lost == []
        cursor = made.cursor
        found.append(made.events)
    return found


def line(event: ClusterEvent, zero_s: int) -> str:
    """`-3 job.started 17`: seconds since the first poll."""
    data = event.data
    about = getattr(data, "job", "") or getattr(data, "node", "")
    more = [str(value) for name in ("state", "outcome", "held") if (value := getattr(data, name, None)) is not None]
    return " ".join([str(epoch_s(event.time) - zero_s), event.type[7:-3], about, *more])


STORY = """
0: 0 node.observed gn1 available
0: 0 node.observed gn4 available
0: -3 job.submitted 17 False
0: -3 job.started 17
0: -3 job.submitted 18 False
0: -3 job.started 18
0: -3 job.submitted 19 False
0: -3 job.started 19
0: -3 job.submitted 20 True
0: -3 job.submitted 21_0 False
0: -3 job.started 21_0
0: -3 job.submitted 21_1 False
0: -3 job.started 21_1
1: 1 job.ended 21_0 succeeded
1: 1 job.ended 21_1 succeeded
1: 2 job.updated 19 True
2: 3 job.suspended 18
3: 4 job.ended 17 requeued
4: 6 node.observed gn4 planned_down
4: 5 job.resumed 18
5: 9 job.submitted 17 False
5: 8 job.updated 20 False
5: 9 job.started 20
6: 11 job.ended 20 succeeded
7: 13 node.observed gn4 available
8: 14 job.suspended 18
8: 15 job.started 17
9: 14 job.ended 18 cancelled
9: 17 job.ended 17 cancelled
9: 17 job.ended 19 cancelled
"""


def test_a_recorded_cluster_is_told_as_it_was(root: Path) -> None:
    zero_s = recorded(root)[0]["at_s"]
    lines = [f"{n}: {line(event, zero_s)}" for n, events in enumerate(told(root)) for event in events]
    for want in STORY.strip().splitlines():
        assert want in lines
    assert len(lines) == len(STORY.strip().splitlines()), lines


def test_a_hold_of_what_runs_is_told_once_and_moves_no_terms(root: Path) -> None:
    """Released again it stays without an eligible time, and Slurm's accounting goes on to miss it."""
    held = [(e.id, e.data) for events in told(root) for e in events if e.type == "tenure.job.updated.v1"]
    assert [data.model_dump(exclude_none=True) for _, data in held if data.job == "19"] == [
        {"cluster": "lab", "job": "19", "held": True}
    ]


def test_terms_placements_and_attempts_are_the_records_own(root: Path) -> None:
    events = [event for events in told(root) for event in events]
    (first, second) = (e.data for e in events if e.type == "tenure.job.submitted.v1" and e.data.job == "17")
    assert (first.account, first.min_runtime_s, first.resumable) == ("org/teama", 3600, True)
    assert second.eligible_from is not None
    starts = [e.data for e in events if e.type == "tenure.job.started.v1" and e.data.job == "17"]
    assert len({data.attempt for data in starts}) == 2
    assert starts[0].placements[0].gpu_indices == (5, 6)
    (gang,) = (e.data for e in events if e.type == "tenure.job.started.v1" and e.data.job == "19")
    assert [p.node for p in gang.placements] == ["gn1", "gn2"]
    (drain,) = (e.data for e in events if e.type == "tenure.node.observed.v1" and e.data.state == "planned_down")
    assert drain.reason == "fan 3 is loud"


def test_a_cursor_comes_back_from_disk_as_it_was(root: Path) -> None:
    made = step(begin(0), poll_of(recorded(root)[4]), CONFIG)
    kept = Kept(made.cursor, ('{"id": "x"}',))
    assert loads(dumps(kept)) == kept
    with pytest.raises(CursorWrong, match="damaged"):
        loads(b"{")


def test_a_row_that_is_no_record_is_told_once_while_it_comes(root: Path) -> None:
    said = recorded(root)[0]
    broken = {"errors": [], "jobs": [{"job_id": 7, "job_state": "DANCING", "submit_time": 1}]}
    poll = replace(poll_of(said), jobs=_jobs(broken))
    first = step(begin(0), poll, CONFIG)
    assert [row.reason for row in first.letters] == ["unknown_state"]
    again = step(first.cursor, poll, CONFIG)
    assert again.letters == []
    well = step(again.cursor, poll_of(said), CONFIG)
    assert step(well.cursor, poll, CONFIG).letters != []


def _jobs(answer: dict[str, Any]) -> Any:
    return job_pieces(Told("slurm-jobs-json", json.dumps(answer).encode()), CONFIG)


@pytest.mark.parametrize(
    "data", [b"", b'{"errors": [{"error": "down", "error_number": 1}], "jobs": []}', b'{"jobs": [{"job_id": 1']
)
def test_an_error_or_half_an_answer_is_none(data: bytes) -> None:
    assert isinstance(job_pieces(Told("slurm-jobs-json", data), CONFIG), Silent)
    assert isinstance(node_pieces(Told("slurm-nodes-json", data)), Silent)


def test_nothing_is_told_of_what_was_over_before_it_began(root: Path) -> None:
    said = recorded(root)[-1]
    assert [e for e in step(begin(said["at_s"]), poll_of(said), CONFIG).events if "job" in e.type] == []


def test_a_node_that_is_left_out_twice_is_removed(root: Path) -> None:
    said = recorded(root)[0]
    made = step(begin(0), poll_of(said), CONFIG)
    one = poll_of(said | {"nodes": said["nodes"].split("\n\n")[0] + "\n"})
    events: list[ClusterEvent] = []
    for _ in range(REMOVED_AFTER):
        assert events == []
        made = step(made.cursor, one, CONFIG)
        events = made.events
    assert [line(e, said["at_s"]) for e in events] == ["0 node.removed gn4"]


def test_a_controller_that_has_not_heard_of_its_nodes_yet_says_nothing_of_them(root: Path) -> None:
    """Slurm 22.05 after a restart, for four seconds: UNKNOWN, and no boot time."""
    said = recorded(root)[0]
    made = step(begin(0), poll_of(said), CONFIG)
    unheard = said["nodes"].replace("State=MIXED", "State=UNKNOWN").replace("State=IDLE", "State=UNKNOWN")
    for n in range(4):
        made = step(made.cursor, poll_of(said | {"nodes": unheard, "at_s": said["at_s"] + n}), CONFIG)
        assert made.events == []
    drained = unheard.replace("State=UNKNOWN", "State=UNKNOWN+DRAIN")
    assert {e.data.state for e in step(made.cursor, poll_of(said | {"nodes": drained}), CONFIG).events} == {  # type: ignore[union-attr]
        "planned_down"
    }
    silent = unheard.replace("State=UNKNOWN", "State=UNKNOWN*")
    assert {e.data.state for e in step(made.cursor, poll_of(said | {"nodes": silent}), CONFIG).events} == {"down"}  # type: ignore[union-attr]


def test_a_waiting_job_that_nobody_knows_leaves_the_queue(root: Path) -> None:
    said = recorded(root)[0]
    made = step(begin(0), poll_of(said), CONFIG)
    gone: list[str] = []
    for n in range(3):
        empty = Poll(said["at_s"] + n + 1, jobs=[], ended=[], asked=[], nodes=None)
        assert "20" in to_ask(made.cursor, empty, CONFIG)
        made = step(made.cursor, empty, CONFIG)
        gone += [line(e, said["at_s"]) for e in made.events]
    assert gone == ["3 job.ended 20 cancelled"]
    assert len(made.lost) == 5, "what runs is not ended by nobody's word"


def test_accounting_is_asked_again_from_where_it_answered_last(root: Path) -> None:
    said = recorded(root)[0]
    cursor = Cursor(since_s=5, accounted_s=10_000)
    assert window_s(cursor) == 10_000 - 900
    silent: Step = step(cursor, replace(poll_of(said), ended=None), CONFIG)
    assert silent.cursor.accounted_s == 10_000
    assert step(cursor, poll_of(said), CONFIG).cursor.accounted_s == said["at_s"]


def test_other_clusters_of_one_accounting_are_left_out(root: Path) -> None:
    said = recorded(root)[0]
    made = step(begin(0), poll_of(said), CONFIG)
    row = {
        "job_id": 17,
        "cluster": "other",
        "state": {"current": "FAILED"},
        "time": {"submission": said["at_s"] - 3, "start": said["at_s"] - 3, "end": said["at_s"], "elapsed": 3},
        "nodes": "gn1",
        "tres": {"allocated": [{"type": "gres", "name": "gpu", "count": 2}]},
    }
    for cluster, ends in (("other", 0), ("lab", 1)):
        data = json.dumps({"jobs": [row | {"cluster": cluster}]}).encode()
        rows = job_pieces(Told("slurmdb-jobs-json", data), CONFIG)
        assert not isinstance(rows, Silent)
        assert len(step(made.cursor, Poll(said["at_s"] + 1, ended=rows), CONFIG).events) == ends


def test_a_task_that_accounting_has_without_its_array_is_known_by_its_number(root: Path) -> None:
    """Its row stands there as that of a job of its own, for a moment or for good."""
    said = recorded(root)
    made = step(begin(0), poll_of(said[0]), CONFIG)
    number = next(a.number for key, a in made.cursor.attempts.items() if key.startswith("21_0/"))
    head, *rows = said[2]["ended"].splitlines()
    task = next(row for row in rows if row.startswith("21_0|"))
    head, bare = f"{head}|JobIDRaw", "|".join([number, *task.split("|")[1:], number])
    later = Poll(said[2]["at_s"] + 3_600, jobs=[], asked=[], ended=_rows(f"{head}\n{bare}\n"))
    assert [line(e, said[0]["at_s"]) for e in step(made.cursor, later, CONFIG).events] == ["1 job.ended 21_0 succeeded"]


def _rows(text: str) -> Any:
    return job_pieces(Told("sacct", text.encode()), CONFIG)


def test_terms_that_were_told_hold_where_accounting_keeps_no_comments(root: Path) -> None:
    said = recorded(root)
    made = step(begin(0), poll_of(said[0]), CONFIG)
    row = next(row for row in said[-1]["ended"].splitlines() if row.startswith("17|") and "REQUEUED" in row)
    head = said[-1]["ended"].splitlines()[0]
    cells = dict(zip(head.split("|"), row.split("|"), strict=True))
    cells |= {"Comment": "", "ElapsedRaw": str(int(cells["ElapsedRaw"]) - 2)}  # a pause that no poll saw
    rows = _rows(f"{head}\n{'|'.join(cells.values())}\n")
    (event,) = step(made.cursor, Poll(said[-1]["at_s"], jobs=[], asked=[], ended=rows), CONFIG).events
    assert event.type == "tenure.run.observed.v1"
    assert (event.data.min_runtime_s, event.data.resumable) == (3600, True)
    assert sum((p.until - p.since).total_seconds() for p in event.data.suspensions or () if p.until) == 2
