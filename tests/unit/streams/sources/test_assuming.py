"""Nodes before anybody stated them: since when, how large, and the same however many imports it takes."""

# The attribute itself is the check that the event is of the right kind.
# mypy: disable-error-code="union-attr"

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from ledger.rows import AccountHour, ClusterHour
from ledger.units import epoch_s
from streams.backfill import backfill
from streams.sources.config import SourceConfig, source_config
from streams.sources.history import History, seen
from streams.sources.reading import cluster_events_of
from streams.sources.registry import read
from streams.sources.setup import preamble
from tests.support.folded import Folded

NOW = datetime(2026, 12, 1, tzinfo=UTC)
HEAD = "JobID|User|Account|State|Submit|Start|End|AllocTRES|NodeList\n"
CONFIG = """
cluster = "c"
rules = [{ account = "*", budget = "lab/{account}", min_runtime = "1h" }]
"""
EQUAL = CONFIG + "shares = [{ parent = 'lab', equal = true }]"


def row(job: int, start: str, end: str, *, gpus: int = 4, node: str = "gn1", account: str = "nlp") -> str:
    tres = f"gres/gpu:h100={gpus},gres/gpu={gpus}"
    return f"{job}|eve|{account}|COMPLETED|{start}|{start}|{end}|{tres}|{node}\n"


def listed(at: str, *nodes: str, booted: str = "", gpus: int = 8) -> str:
    boot = f" BootTime={booted}" if booted else ""
    return "".join(f"NodeName={n} Gres=gpu:h100:{gpus} State=IDLE{boot} LastBusyTime={at}\n" for n in nodes)


File = tuple[str, str]


def jobs(*rows: str) -> File:
    return "sacct", HEAD + "".join(rows)


def nodes(text: str) -> File:
    return "scontrol-node", text


def events_of(config: SourceConfig, history: History, files: Sequence[File]) -> list[list[Any]]:
    return [
        list(seen(cluster_events_of(read(kind, text.encode(), config)), history))  # type: ignore[arg-type]
        for kind, text in files
    ]


def assumed(*files: File, text: str = CONFIG) -> dict[str, tuple[str, int]]:
    """Of each node that is assumed: since when, and how many GPUs."""
    config, history = source_config(text), History()
    events_of(config, history, files)
    made = [e for e in preamble(config, history) if e.type == "tenure.node.observed.v1"]
    assert all(e.data.assumed and e.data.state == "available" and e.data.reason for e in made)
    return {e.data.node: (f"{e.time:%m-%d %H:%M}", e.data.gpus_milli // 1_000) for e in made}


def imported(*imports: Sequence[File], text: str = CONFIG) -> Folded:
    """A book into which the files came, import by import."""
    config, book = source_config(text), Folded(cluster="c")
    for files in imports:
        history = History()
        sources = events_of(config, history, files)
        state = book.book.state
        for event in backfill(*sources, recorded_at=NOW, set_up=preamble(config, history, {"c": state})):
            book.fold(event.model_copy(update={"recordedtime": NOW}))
    assert not book.refused
    return book


def books(book: Folded) -> Any:
    """What is booked, by whatever way it came."""
    claims = {
        key: row.claim_gpu_ms
        for key, row in book.latest(AccountHour, "hour_s", "pool", "account").items()
        if row.claim_gpu_ms
    }
    return book.net(), claims


def capacity(book: Folded, *hours: str) -> list[int]:
    found = book.latest(ClusterHour, "hour_s", "pool")
    at = [epoch_s(datetime.fromisoformat(f"2026-{hour}+00:00")) for hour in hours]
    return [sum(r.capacity_gpu_ms for (h, _), r in found.items() if h == a) // 3_600_000 for a in at]


OCTOBER = jobs(
    row(1, "2026-10-02T09:10:00", "2026-10-02T13:00:00"),
    row(2, "2026-10-03T09:00:00", "2026-10-03T12:00:00", gpus=8),
)
NOVEMBER = jobs(
    row(3, "2026-11-01T09:10:00", "2026-11-01T13:00:00", node="gn1"),
    row(4, "2026-11-03T09:00:00", "2026-11-03T12:00:00", gpus=2, node="gn2", account="vis"),
)


def test_a_node_of_a_later_list_counts_since_the_history_begins():
    assert assumed(nodes(listed("2026-11-30T10:00:00", "gn1", "gn2")), OCTOBER) == {
        "gn1": ("10-02 09:00", 8),
        "gn2": ("10-02 09:00", 8),
    }
    book = imported([nodes(listed("2026-10-30T10:00:00", "gn1", "gn2")), OCTOBER])
    assert capacity(book, "10-02 08:00", "10-02 09:00", "10-20 00:00", "10-30 08:00") == [0, 16, 16, 16]
    assert book.remarks == {"node_assumed": 2}


@pytest.mark.parametrize(
    ("booted", "since"),
    [("2026-09-20T08:00:00", "10-02 09:00"), ("2026-10-02T20:00:00", "10-02 09:10"), ("2026-10-20T08:30:00", "")],
)
def test_a_node_that_booted_later_counts_since_then_or_since_something_ran_on_it(booted: str, since: str):
    found = assumed(nodes(listed("2026-10-30T10:00:00", "gn1", "gn9", booted=booted)), OCTOBER)
    assert found["gn1"] == (since or "10-02 09:10", 8)
    assert found["gn9"][0] == {"": "10-20 08:30", "10-02 09:10": "10-02 20:00"}.get(since, since)


def test_a_node_that_is_stated_early_enough_is_not_assumed():
    assert assumed(nodes(listed("2026-10-02T08:00:00", "gn1")), OCTOBER) == {}
    assert assumed(nodes(listed("2026-10-30T10:00:00", "gn1")), OCTOBER, text=CONFIG + "infer_nodes = false") == {}


def test_nodes_of_a_log_came_when_the_log_says():
    """Events of Tenure's own tell of every change; only a list knows nothing of the time before it."""
    config, history = source_config(CONFIG), History()
    for at in events_of(config, History(), [nodes(listed("2026-10-20T10:00:00", "gn8"))])[0]:
        history.see(at, listed=False)
    events_of(config, history, [OCTOBER])
    assert [e.data.node for e in preamble(config, history) if e.type == "tenure.node.observed.v1"] == ["gn1"]


def test_importing_again_adds_nothing():
    both = [nodes(listed("2026-10-30T10:00:00", "gn1", "gn2")), OCTOBER]
    once, again = imported(both), imported(both, both)
    assert again.hash_from_scratch() == once.hash_from_scratch()


def test_month_by_month_is_as_all_at_once():
    larger = jobs(row(5, "2026-11-02T09:00:00", "2026-11-02T10:00:00", gpus=16))
    monthly = imported([OCTOBER], [NOVEMBER, larger])
    assert books(monthly) == books(imported([OCTOBER, NOVEMBER, larger]))
    assert capacity(monthly, "10-02 10:00", "11-02 10:00") == [18, 18]


def test_a_node_list_may_come_after_its_jobs_or_before_them():
    listing = [nodes(listed("2026-10-30T10:00:00", "gn1"))]
    together = imported([OCTOBER, *listing])
    assert capacity(together, "10-02 10:00", "10-30 08:00") == [8, 8]
    for apart in (imported([OCTOBER], listing), imported(listing, [OCTOBER])):
        closed = apart.book.state.closed_until_s  # not up to the list, which alone has no ticks
        assert apart.net() == {hour: legs for hour, legs in together.net().items() if hour < closed}


def test_lists_of_two_months_do_not_take_back_the_first():
    book = imported(
        [nodes(listed("2026-10-30T10:00:00", "gn1")), OCTOBER],
        [nodes(listed("2026-11-30T10:00:00", "gn1", gpus=4) + listed("2026-11-30T10:00:00", "gn7")), NOVEMBER],
    )
    assert capacity(book, "10-20 00:00", "11-20 00:00") == [8 + 2, 8 + 2 + 8]  # gn2 is known by its run alone


def test_new_accounts_get_their_part_of_an_equal_set():
    monthly, at_once = imported([OCTOBER], [NOVEMBER], text=EQUAL), imported([OCTOBER, NOVEMBER], text=EQUAL)
    assert books(monthly) == books(at_once)
    (_, second) = monthly.book.state.shares.revisions["*", "lab"]
    assert [(c.child, Decimal(c.percent)) for c in second.children] == [("nlp", Decimal(50)), ("vis", Decimal(50))]
    again = imported([OCTOBER], [NOVEMBER], [NOVEMBER], text=EQUAL)
    assert len(again.book.state.shares.revisions["*", "lab"]) == 2


def test_equal_parts_that_somebody_changed_are_left_alone():
    config, book = source_config(EQUAL), imported([OCTOBER], text=EQUAL)
    shares = next(e for e, _ in book.accepted if e.type == "tenure.shares.set.v1")
    data = shares.data.model_copy(update={"expected_revision": 1})
    (child,) = data.children
    fewer = child.model_copy(update={"share_percent": Decimal(70)})
    book.fold(shares.model_copy(update={"id": "by hand", "data": data.model_copy(update={"children": (fewer,)})}))
    history = History()
    events_of(config, history, [NOVEMBER])
    made = preamble(config, history, {"c": book.book.state})
    assert [e.type for e in made if e.type == "tenure.shares.set.v1"] == []
