"""A small demo through the embedded runtime: the review as it was known while the log was still being told."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ledger.store.protocol import Store
from ledger.units import epoch_s
from streams.runtime.embedded import Embedded
from tenure.demo import CLUSTER, generate
from tenure.report import csv
from tenure.report.pack import MONEY, Pack
from tenure.report.period import Asked, iso
from tenure.report.review import Wanted, review
from tenure.report.tables import Part
from tenure.report.text import plain
from tests.support.chdb import fresh_store

AFTER = datetime(2027, 1, 1, tzinfo=UTC)
KNOWN_THEN = MONEY | {"requests", "changes", "corrections", "refused"}
"""Everything but what is kept in its present state only, and warnings, which tell how final the answer is."""


@dataclass(frozen=True)
class Story:
    """A store with the whole demo, and what was printed when two thirds of it were told."""

    store: Store
    then_s: int
    period: Asked
    printed_then: dict[str, str]
    text_then: str

    def pack(self, **given: str) -> Pack:
        return review(self.store, Wanted(CLUSTER, period=self.period, **given))


def recorded_s(line: bytes) -> int:
    return epoch_s(datetime.fromisoformat(json.loads(line)["recordedtime"]))


def split(events: list[bytes]) -> tuple[list[bytes], list[bytes], int]:
    """The log in two, and the second that ends the first part: the next record is of a later second."""
    at = 2 * len(events) // 3
    while recorded_s(events[at - 1]) == recorded_s(events[at]):
        at += 1
    return events[:at], events[at:], recorded_s(events[at - 1])


def printed(pack: Pack) -> dict[str, str]:
    sections = {found.name: csv.rendered(found) for found in pack.sections if found.name in KNOWN_THEN}
    return sections | {"header": csv.header(pack)}


@pytest.fixture(scope="module")
def story() -> Iterator[Story]:
    demo = generate(1, 3)
    told, rest, then_s = split(demo.events)
    with fresh_store() as store:
        runtime = Embedded(store, lambda: AFTER)
        runtime.ingest(told)
        wanted = Wanted(CLUSTER, period=Asked(since=iso(demo.span.opens_s)), known_at=iso(then_s))
        then = review(store, wanted)
        question = then.header.question
        period = Asked(iso(question.from_s), iso(question.until_s))
        before = printed(then), plain(then, sections=KNOWN_THEN)
        runtime.ingest(rest)
        yield Story(store, then_s, period, *before)


def test_the_log_told_of_corrections_after_the_first_printing(story: Story):
    hours = "SELECT count() FROM report_corrections WHERE since < {until:UInt32} AND recorded_at > {then:UInt32}"
    question = story.pack().header.question
    ((late,),) = story.store.query(hours, {"until": question.until_s, "then": story.then_s}).rows
    assert isinstance(late, int)
    assert late >= 3


def test_known_at_prints_again_byte_for_byte_what_was_printed_then(story: Story):
    again = story.pack(known_at=iso(story.then_s))
    assert printed(again) == story.printed_then
    assert plain(again, sections=KNOWN_THEN) == story.text_then
    assert len(story.printed_then["accounts"].splitlines()) > 30


def test_the_present_differs(story: Story):
    now = printed(story.pack())
    assert all(now[name] != story.printed_then[name] for name in MONEY)


def test_what_was_known_when_hours_were_closed_is_the_beginning_of_the_effect(story: Story):
    effect = story.pack().section("effect").records()
    delivered = [row for row in effect if row["figure"] == "delivered"]
    assert len(delivered) == 2
    assert all(row["difference_gpu_ms"] != 0 for row in delivered)


def test_accounts_agree_with_the_statement(story: Story):
    question = story.pack().header.question
    asked = {
        "from_s": question.from_s,
        "until_s": question.until_s,
        "known_at_s": story.then_s,
        "cluster": CLUSTER,
        "account": "",
    }
    names = ("claim_gpu_ms", "owed_gpu_ms", "delivered_gpu_ms", "demand_gpu_ms", "unfunded_gpu_ms")
    statement = {
        (row["pool"], row["account"]): tuple(row[name] for name in names)
        for row in story.store.query("statement_account_hours", asked).dicts()
    }
    pack = story.pack(known_at=iso(story.then_s))
    found = {
        (row["pool"], row["account"]): tuple(row[name] for name in names) for row in pack.section("accounts").records()
    }
    assert {key: amounts for key, amounts in found.items() if any(amounts)} == {
        key: amounts for key, amounts in statement.items() if any(amounts)
    }


def test_every_step_of_the_waterfall_fits_the_one_before(story: Story):
    rows = story.pack().section("waterfall").records()
    for pool in ("B200", "H100"):
        amount = {str(r["stage"]).strip(): int(str(r["amount_gpu_ms"])) for r in rows if r["pool"] == pool}
        gone = amount["unavailable, planned"] + amount["unavailable, unplanned"]
        assert amount["capacity"] == amount["available"] + gone
        assert amount["available"] == amount["occupied"] + amount["free"]
        assert amount["occupied"] == amount["funded"] + amount["unfunded"] + amount["suspended"]
        assert amount["funded"] == amount["protected"] + amount["interruptible"]
        assert amount["funded"] > 0


def test_a_subtree_is_a_part_of_the_whole(story: Story):
    whole = {(r["pool"], r["account"]): r for r in story.pack().section("accounts").records()}
    part = story.pack(account="aurora-lab/language", pool="H100").section("accounts").records()
    assert len(part) == 8
    assert all(row == whole["H100", row["account"]] | {"shown": row["shown"]} for row in part)


def test_the_story_is_told(story: Story):
    pack = story.pack()
    assert {row["request"] for row in pack.section("requests").records()} >= {"R-101", "R-102"}
    assert {row["kind"] for row in pack.section("changes").records()} >= {"shares", "grant"}
    assert [row["reason"] for row in pack.section("refused").records()] == ["stale_revision"]
    assert any("langauge" in str(row["subject"]) for row in pack.section("warnings").records())
    waits = {row["class"]: row for row in pack.section("waits").records() if row["pool"] == "H100"}
    assert {"funded", "unfunded", "debug", "1 GPU"} <= waits.keys()
    assert isinstance(pack.section("inflation").records()[0]["high"], Part)


def test_without_samples_nothing_is_said_of_use(story: Story):
    utilized = [row for row in story.pack().section("waterfall").records() if row["stage"] == "utilized"]
    assert [(row["amount_gpu_ms"], row["part"]) for row in utilized] == [(0, Part(0, 0))] * 2
    assert "sampled" in plain(story.pack(), sections=["waterfall"])


def test_files_are_written(story: Story, tmp_path: Path):
    assert all(path.stat().st_size > 10 for path in csv.write(story.pack(), tmp_path))
