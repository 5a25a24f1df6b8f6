"""Files on their way into the log."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ledger.book import Book
from ledger.events import EVENT, NodeObserved
from ledger.units import epoch_s
from streams.sources.config import SourceConfig
from tenure.cli.exits import Stop
from tenure.cli.importing import expected, inputs, letters, ordered, read, read_all

NOW = datetime(2026, 3, 3, tzinfo=UTC)
HAL = SourceConfig(cluster="hal")


def line(id: str, type: str, time: str, **data: object) -> bytes:
    head = {"specversion": "1.0", "id": id, "source": "t", "type": f"tenure.{type}.v1", "time": time, "extra": "kept"}
    return json.dumps(head | {"data": {"cluster": "hal", **data}}).encode()


def node(at: str) -> bytes:
    return line("n", "node.observed", at, node="n", gpu_type="H100", gpus_milli=8_000, state="available")


def job(id: str, at: str) -> bytes:
    return line(id, "job.submitted", at, job=id, user="u", gpus_milli=1_000)


def tick(at: str) -> bytes:
    return line(at, "clock.ticked", at, at=at)


def written(folder: Path, name: str, *lines: bytes) -> Path:
    path = folder / name
    path.write_bytes(b"".join(text + b"\n" for text in lines))
    return path


def types(raws: list[bytes]) -> list[str]:
    return [EVENT.validate_json(raw).type.removeprefix("tenure.").removesuffix(".v1") for raw in raws]


def test_folders_stand_for_their_files_by_name(tmp_path: Path):
    for name in ("b", "a", "sub/c"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    assert [p.name for p in inputs([tmp_path])] == ["a", "b", "c"]
    with pytest.raises(Stop, match="no file in it"):
        inputs([])


def test_a_log_with_ticks_keeps_its_order_and_its_bytes(tmp_path: Path):
    lines = [job("2", "2026-03-02T00:20:00Z"), tick("2026-03-02T01:05:00Z"), node("2026-03-02T00:00:00Z")]
    file = read(written(tmp_path, "log.jsonl", *lines), None, None)
    assert file.is_log
    assert list(ordered([file], None, {}, NOW)) == lines
    assert expected([file]) == 3


def test_a_batched_log_is_taken_apart(tmp_path: Path):
    whole = b"[" + job("2", "2026-03-02T00:20:00Z") + b"," + tick("2026-03-02T01:05:00Z") + b"]"
    file = read(written(tmp_path, "log.jsonl", whole), None, None)
    assert types(list(ordered([file], None, {}, NOW))) == ["job.submitted", "clock.ticked"]


def test_everything_else_is_merged_by_time_with_its_ticks(tmp_path: Path):
    jobs = read(written(tmp_path, "jobs.jsonl", job("1", "2026-03-02T01:30:00Z")), None, None)
    nodes = read(written(tmp_path, "nodes.jsonl", node("2026-03-02T00:00:00Z")), None, None)
    raws = list(ordered([jobs, nodes], HAL, {}, NOW))
    assert types(raws) == ["policy.set", "node.observed", "job.submitted", "clock.ticked"]


def test_a_book_that_is_open_keeps_its_opening(tmp_path: Path):
    book = Book("hal")
    known = EVENT.validate_json(node("2026-03-01T00:00:00Z"))
    assert isinstance(known, NodeObserved)
    book.apply(known, epoch_s(NOW))
    jobs = read(written(tmp_path, "jobs.jsonl", job("1", "2026-03-02T01:30:00Z")), None, None)
    assert types(list(ordered([jobs], HAL, {"hal": book.state}, NOW)))[0] == "job.submitted"


def test_letters_have_one_place_however_often_they_are_read(tmp_path: Path):
    path = written(tmp_path, "events.jsonl", job("1", "2026-03-02T01:30:00Z"), b"{broken \xff")
    (letter,) = letters(read(path, None, None), "hal", NOW)
    (again,) = letters(read(path, None, None), "hal", NOW)
    assert letter == again
    assert letter.raw == b"{broken \xff"
    assert (letter.topic, letter.cluster, letter.source) == ("import/events.jsonl", "hal", "events")
    assert letter.sentence.startswith("events.jsonl line 2: ")
    changed = written(tmp_path, "events.jsonl", job("1", "2026-03-02T01:30:00Z"), b"{other")
    (other,) = letters(read(changed, None, None), "hal", NOW)
    assert (other.topic, other.offset) == (letter.topic, letter.offset)
    assert other.partition != letter.partition


def test_what_cannot_be_read_stops_the_import(tmp_path: Path):
    with pytest.raises(Stop, match="No such file"):
        read(tmp_path / "absent", None, None)
    slurm = written(tmp_path, "sacct.txt", b"JobID|State|Start", b"1|RUNNING|2026-03-02T00:00:00")
    with pytest.raises(Stop, match=r"sacct\.txt: .*--cluster NAME"):
        read(slurm, "sacct", None)
    with pytest.raises(Stop, match="--mapping"):
        read(written(tmp_path, "a.csv", b"a,b", b"1,2"), "csv", None)


def test_in_a_folder_what_nobody_knows_is_passed_over_and_named_it_ends_the_import(tmp_path: Path):
    folder = tmp_path / "in"
    folder.mkdir()
    known = written(folder, "jobs.jsonl", job("1", "2026-03-02T01:30:00Z"))
    unknown = written(folder, "picture.png", b"\x89PNG\x00\x01")
    table = written(folder, "a.csv", b"a,b", b"1,2")
    files, passed = read_all([folder], None, None)
    assert ([f.path for f in files], list(passed)) == ([known], [table, unknown])
    assert "--mapping" in passed[table]
    assert "not recognised" in passed[unknown]
    with pytest.raises(Stop, match=r"picture\.png: .*not recognised"):
        read_all([folder, unknown], None, None)
    known.unlink()
    with pytest.raises(Stop, match=r"picture\.png"):
        read_all([folder], None, None)
