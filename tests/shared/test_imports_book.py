"""Imported histories through the book: nothing refused, and occupied GPU time as the raw rows have it."""
# The attribute itself is the check that the reading or event is of the right kind.
# mypy: disable-error-code="union-attr"

import csv
import re
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from ledger.book import Book
from ledger.outcomes import Applied
from ledger.rows import Posting
from ledger.units import epoch_s
from streams.backfill import backfill
from streams.sources.config import source_config
from streams.sources.files.mapping import shipped
from streams.sources.history import History, seen
from streams.sources.reading import cluster_events_of
from streams.sources.registry import detect, read
from streams.sources.setup import preamble

pytestmark = pytest.mark.shared

RECORDED = datetime(2026, 12, 5, tzinfo=UTC)
LAB = """
cluster = "lab"
nodes = [{ names = "gn[1-4]", gpus = 8, gpu_type = "h100" }]
shares = [{ parent = "org", equal = true }]

[[rules]]
qos = "protected"
min_runtime = "1h"

[[rules]]
budget = "org/{account}"
"""


def folded(config, data):
    """The capacity book by kind in GPU-milliseconds, and the outcomes that were not plain applications."""
    history = History()
    events = list(seen(cluster_events_of(read(detect(data), data, config)), history))
    books: dict[str, Book] = {}
    capacity: Counter[str] = Counter()
    refused = []
    for event in backfill(events, recorded_at=RECORDED, set_up=preamble(config, history)):
        book = books.setdefault(event.data.cluster, Book(event.data.cluster))
        outcome = book.apply(event, epoch_s(RECORDED))
        if not isinstance(outcome, Applied):
            refused.append(outcome)
        for row in book.take().get(Posting, ()):
            if row.book == "capacity":
                capacity[row.kind] += row.amount_gpu_ms
    return capacity, refused


def test_mit(shared):
    data = (shared / "data" / "traces" / "mit_supercloud_slurm.csv").read_bytes()
    capacity, refused = folded(shipped("mit_supercloud"), data)
    expected = sum(
        int(part[5:]) * 1_000 * (int(row["time_end"]) - int(row["time_start"]))
        for row in csv.DictReader(data.decode().splitlines())
        for part in row["tres_alloc"].split(",")
        if part.startswith("1002=")
    )
    assert refused == []
    assert capacity["occupied"] == expected
    assert capacity["overbooked"] == 0, "inferred nodes are large enough"


def test_a_twentieth_of_philly(shared):
    header, *rows = (shared / "data" / "traces" / "philly.csv").read_bytes().splitlines(keepends=True)
    data = header + b"".join(rows[::20])
    capacity, refused = folded(shipped("philly"), data)
    expected = sum(int(float(row["gpu_time"])) for row in csv.DictReader(data.decode().splitlines()))
    assert refused == []
    assert capacity["occupied"] == expected * 1_000
    assert capacity["overbooked"] == 0


def test_phillips(shared):
    data = (shared / "data" / "slurm" / "sacct_xdmod_phillips.log").read_bytes()
    capacity, refused = folded(source_config('cluster = "phillips"\nfields = "xdmod"'), data)
    assert refused == []
    assert capacity["occupied"] == 2_000 * (912_426 + 17)


@pytest.mark.parametrize("lab", ["lab2205", "lab2411"])
@pytest.mark.parametrize("name", ["04-sacct-all-dup.txt", "04-sacct-D.json"])
def test_the_labs(shared, lab, name):
    capacity, refused = folded(source_config(LAB), (shared / "data" / "slurm" / lab / name).read_bytes())
    lines = (shared / "data" / "slurm" / lab / "04-sacct-all-dup.txt").read_text().splitlines()
    columns = lines[1].split("|")
    expected = 0
    for line in lines[2:]:
        row = dict(zip(columns, line.split("|"), strict=False))
        held = re.search(r"gres/gpu=(\d+)", row["AllocTRES"])
        if held:
            ran = datetime.fromisoformat(row["End"]) - datetime.fromisoformat(row["Start"])
            expected += int(held[1]) * 1_000 * (ran // timedelta(seconds=1))
    assert refused == []
    assert capacity["occupied"] == expected
    assert capacity["overbooked"] == 0
