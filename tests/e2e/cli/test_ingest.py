"""Files into the book: counted, kept, and the same again changes nothing."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cli.driver import Answer, many, one

pytestmark = pytest.mark.timeout(300)  # the first test of a process waits for the demo, on busy cores

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "slurm"


def counts(answer: Answer) -> dict[str, int]:
    (file,) = answer.json["files"]
    found: dict[str, int] = file["readings"]
    return found


def letters(folder: Path) -> list[dict[str, Any]]:
    (told,) = many(folder, [["dead-letters", "list", "--json"]])
    found: list[dict[str, Any]] = told.json["dead_letters"]
    return found


def event(job: str) -> bytes:
    data = {"cluster": "c", "job": job, "user": "u", "gpus_milli": 1000}
    head = {"specversion": "1.0", "id": job, "source": "test", "type": "tenure.job.submitted.v1"}
    return json.dumps(head | {"time": "2026-03-01T00:10:00Z", "data": data}).encode()


def test_recordings_of_slurm_go_in_and_going_in_again_changes_nothing(tmp_path: Path):
    into = ["ingest", str(GOLDEN), "--cluster", "x", "--json"]
    dry, first, second, verified, queue = many(
        tmp_path / "book",
        [[*into, "--dry-run"], into, into, ["verify", "--json"], ["queue", "--cluster", "c", "--json"]],
    )
    assert dry.json["book"] is None
    assert dry.json["files"] == first.json["files"]
    for file in first.json["files"]:
        assert sum(file["readings"].values()) == file["rows"]
    assert first.json["book"]["outcomes"]["applied"] > 0
    assert set(second.json["book"]["outcomes"]) == {"repeated"}
    assert verified.json["clean"] is True
    assert queue.code == 0


def test_a_broken_line_is_kept_byte_for_byte_and_the_rest_is_taken(tmp_path: Path):
    broken = b'{"specversion": "1.0", "id": "\xff\xfe"'
    file = tmp_path / "events.jsonl"
    file.write_bytes(b"\n".join([event("1"), b"{not json", broken, event("2"), b""]))
    book = tmp_path / "book"
    told, again = many(book, [["ingest", str(file), "--json"], ["ingest", str(file)]])
    assert (told.code, again.code) == (1, 1)
    assert counts(told) == {"event": 2, "unreadable:not_json": 1, "unreadable:not_utf8": 1}
    assert "2 rows" not in again.err
    assert "line 3" in again.out
    found = {letter["reason"]: letter for letter in letters(book)}
    assert len(found) == 2
    assert "events.jsonl line 3" in found["not_utf8"]["sentence"]
    raw = one(book, "dead-letters", "show", found["not_utf8"]["id"], "--raw")
    assert raw.out.encode("utf-8", "surrogateescape") == broken


def test_what_a_cut_archive_still_holds_is_taken(tmp_path: Path):
    whole = gzip.compress(b"\n".join(event(str(n)) for n in range(2_000)) + b"\n")
    file = tmp_path / "events.jsonl.gz"
    file.write_bytes(whole[: len(whole) // 2])
    (told,) = many(tmp_path / "book", [["ingest", str(file), "--json"]])
    assert told.code == 1
    assert counts(told)["unreadable:truncated_gzip"] == 1
    assert counts(told)["event"] > 100


def test_what_cannot_be_read_at_all_is_said_in_a_sentence(tmp_path: Path):
    book, unknown = tmp_path / "book", tmp_path / "what.bin"
    unknown.write_bytes(b"\x00\x01\x02")
    empty = tmp_path / "empty"
    empty.mkdir()
    golden = str(GOLDEN / "accounting.txt")
    asked = many(
        book,
        [
            ["ingest", str(tmp_path / "absent.txt")],
            ["ingest", str(unknown)],
            ["ingest", str(empty)],
            ["ingest", golden],
            ["ingest", golden, "--format", "nonsense"],
            ["ingest", golden, "--mapping", "nonsense"],
            ["ingest", golden, "--source", "nonsense"],
        ],
    )
    said = [
        "No such file",
        "format is not recognised",
        "no file in it",
        "--cluster NAME",
        "sacct-json",
        "philly",
        "[slurm.",
    ]
    for answer, words in zip(asked, said, strict=True):
        assert answer.code == 2, answer.err
        assert words in answer.err
        assert "Traceback" not in answer.err


def test_an_empty_book_says_how_to_fill_it(tmp_path: Path):
    for answer in many(tmp_path / "book", [["accounts"], ["queue", "--json"], ["verify"], ["replay"], ["doctor"]]):
        assert answer.code == 3
        assert "there is no book at" in answer.err
        assert "tenure demo" in answer.err
    assert not (tmp_path / "book").exists()
    empty = tmp_path / "empty.jsonl"
    empty.write_bytes(b"\n")
    ingested, accounts, looked = many(
        tmp_path / "book", [["ingest", str(empty), "--format", "events"], ["accounts"], ["doctor"]]
    )
    assert ingested.code == 1
    assert (accounts.code, "is empty: fill it" in accounts.err) == (3, True)
    assert looked.code == 0


def test_the_demo_does_not_mix_with_a_book(tmp_path: Path):
    book = tmp_path / "book"
    file = tmp_path / "events.jsonl"
    file.write_bytes(event("1") + b"\n")
    taken, refused, fresh = many(book, [["ingest", str(file)], ["demo", "--days", "1"], ["demo", "--fresh"]])
    assert taken.code == 0
    assert (refused.code, "does not mix" in refused.err) == (2, True)
    assert (fresh.code, "removes nothing else" in fresh.err) == (2, True)
    assert letters(book) == []
