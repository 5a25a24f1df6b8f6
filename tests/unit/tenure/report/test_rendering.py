"""The pack as text, CSV, JSON and a picture."""

import csv as standard_csv
import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from ledger.store.protocol import Store
from ledger.units import GPU_HOUR_MS
from tenure.report import csv, machine, picture, words
from tenure.report.charts import Chart, Slot, Step, Team
from tenure.report.pack import Pack
from tenure.report.period import iso
from tenure.report.tables import POOL, Column, Part, section
from tenure.report.text import cell, plain
from tests.unit.tenure.report.small_book import CORRECTED, END, FIRST, gh, reviewed


@pytest.fixture(scope="module")
def pack(book_as_closed: Store) -> Pack:
    return reviewed(book_as_closed, measured=True)


# ---------------------------------------------------------------- text


def test_the_header_says_what_the_numbers_are_of_and_mean(pack: Pack):
    lines = plain(pack).splitlines()
    assert lines[0] == "Budget review of all accounts on c"
    head = "\n".join(lines[:18])
    for said in (
        "pool       h100",
        "period     2023-11-14 23:00 to 2023-11-15 01:00, UTC",
        "watermark  closed until 2023-11-15 01:00 UTC: all 2 hours of the period",
        "as of      2023-11-15 01:00 UTC: ρ over the last 168 h, and what contracts bind",
        "known at   2023-11-15 02:01 UTC, the last record",
        "owed       min(claim, demand) of each leaf account and hour",
    ):
        assert said in head


def test_accounts_are_a_tree_of_gpu_hours_and_percent(pack: Pack):
    told = plain(pack, sections=["accounts"]).splitlines()
    assert [line.split() for line in told[-3:]] == [
        ["lab", "16.0", "16.0", "12.0", "11.0", "75.0", "%", "91.7", "%", "0.938", "1.00", "4.00"],
        ["a", "9.00", "13.0", "9.00", "9.00", "77.8", "%", "100.0", "%", "1.111", "1.00", "1.00"],
        ["b", "7.00", "3.00", "3.00", "2.00", "66.7", "%", "66.7", "%", "0.714", "0", "3.00"],
    ]
    assert told[-2].startswith("  a ")


def test_a_hundred_columns_hold_every_table(pack: Pack):
    assert max(map(len, plain(pack, width=100).splitlines())) <= 100


def test_what_has_no_rows_says_so(pack: Pack):
    assert "Nothing was refused." in plain(pack, sections=["refused"])


def test_several_pools_are_told_apart(pack: Pack):
    two = section("x", "X", (POOL, Column("n", "number", "count")), [("a", 1), ("b", 2)])
    apart = replace(two, name="y", apart=True)
    both = replace(pack, header=replace(pack.header, pools=("a", "b")), sections=(two, apart))
    assert [line.split() for line in plain(both, sections=["x"]).splitlines() if line][-2:] == [["a", "1"], ["b", "2"]]
    assert [line.split() for line in plain(both, sections=["y"]).splitlines() if line][1:] == [
        ["a"],
        ["number"],
        ["──────"],
        ["1"],
        ["b"],
        ["number"],
        ["──────"],
        ["2"],
    ]


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        ("gpu_ms", 0, "0"),
        ("gpu_ms", 1, "<0.01"),
        ("gpu_ms", -1, ">-0.01"),
        ("gpu_ms", gh(-12.25), "-12.2"),
        ("gpu_ms", gh(1_234.5), "1,234"),
        ("milli", 143, "0.143"),
        ("milli", 64_000, "64"),
        ("count", 12_345, "12,345"),
        ("seconds", 59, "59 s"),
        ("seconds", 3_900, "1 h 5 min"),
        ("seconds", 97_200, "1 d 3 h"),
        ("part", Part(1, 0), "–"),
        ("part", Part(0, 3), "0.0 %"),
        ("part", Part(1, 99_999), "<0.1 %"),
        ("part", Part(99_998, 99_999), ">99.9 %"),
        ("part", Part(3, 3), "100.0 %"),
        ("ratio", Part(0, 0), "0.000"),
        ("ratio", Part(1, 0), "∞"),
        ("ratio", Part(10, 9), "1.111"),
        ("text", None, "–"),
    ],
)
def test_cells_read_as_people_read(pack: Pack, kind: str, value: object, shown: str):
    assert cell(pack.header.question, Column("x", "x", kind), value) == shown  # type: ignore[arg-type]


def test_instants_are_in_the_zone_asked_for(book_as_closed: Store):
    berlin = reviewed(book_as_closed, zone="Europe/Berlin")
    assert "period     2023-11-15 00:00 to 2023-11-15 02:00, Europe/Berlin" in plain(berlin)
    assert cell(berlin.header.question, Column("at", "at", "instant"), FIRST) == "2023-11-15 00:00"


# ---------------------------------------------------------------- for programs


def test_csv_has_a_file_per_section_and_exact_integers(pack: Pack, tmp_path: Path):
    written = csv.write(pack, tmp_path / "pack")
    assert {path.stem for path in written} == {"header"} | {found.name for found in pack.sections}
    with (tmp_path / "pack" / "accounts.csv").open() as file:
        lab, *_ = standard_csv.DictReader(file)
    assert lab["account"] == "lab"
    assert (lab["ratio_numerator"], lab["ratio_denominator"]) == (str(gh(15)), str(gh(16)))
    assert all("." not in value for value in lab.values())
    with (tmp_path / "pack" / "header.csv").open() as file:
        head = {row["name"]: row["value"] for row in standard_csv.DictReader(file)}
    assert (head["from"], head["until"], head["known_at"]) == (iso(FIRST), iso(END), iso(CORRECTED + 60))


def test_csv_text_is_no_formula():
    columns = (Column("who", "who", "text"), Column("moved_gpu_ms", "moved", "gpu_ms"))
    rows: list[tuple[str | int | Part | None, ...]] = [("=cmd()", -5), ("-x", 0), ("@a", None), ("  drawn in", 1)]
    assert csv.rendered(section("s", "S", columns, rows)) == ("who,moved_gpu_ms\n'=cmd(),-5\n'-x,0\n'@a,\ndrawn in,1\n")


def test_json_has_both_terms_of_every_quotient(pack: Pack):
    made = json.loads(json.dumps(machine.report(pack)))
    lab = made["sections"]["accounts"]["rows"][0]
    assert lab["strict"] == {"numerator": gh(9), "denominator": gh(12), "value": 0.75}
    assert lab["owed_gpu_ms"] == gh(12)
    assert (made["closed_hours"], made["hours"], made["zone"], made["account"]) == (2, 2, "UTC", None)
    assert made["sections"]["corrections"]["rows"] == []


# ---------------------------------------------------------------- the picture


def texts(path: Path) -> list[str]:
    return [node.text or "" for node in ET.parse(path).iter("{http://www.w3.org/2000/svg}text")]


def test_the_picture_is_labelled_with_units(pack: Pack, tmp_path: Path):
    picture.draw(pack, tmp_path / "pack.svg", "svg")
    found = texts(tmp_path / "pack.svg")
    for label in (
        "Budget review: all accounts on c",
        "h100: from capacity to use",
        "GPU-hours; percent of capacity",
        "available",
        "− unfunded",
        "h100: owed and delivered",
        "h100: GPUs held over time",
        "GPUs, each hour",
        "time, UTC",
        "protected",
        "a",
        "78 %",
    ):
        assert label in found


def test_the_same_pack_is_the_same_picture(pack: Pack, tmp_path: Path):
    for name in ("one.svg", "two.svg"):
        picture.draw(pack, tmp_path / name, "svg")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_a_png_is_drawn(pack: Pack, tmp_path: Path):
    picture.draw(pack, tmp_path / "pack.png", "png")
    data = (tmp_path / "pack.png").read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert len(data) > 20_000


def test_odd_books_have_a_picture(pack: Pack, tmp_path: Path):
    nobody = Chart("none", "", (Step("capacity", 0),), (), (), 1)
    own = tuple(Team(f"lab/{name}/.", gh(1), 0, 0, 0) for name in ("a", "b"))
    many = tuple(Team(f"lab/p{n}/x", gh(1), gh(1), gh(2), gh(1)) for n in range(30))
    gap = Chart("gap", "lab", (Step("claim", 0), Step("occupied", gh(2))), own + many, (Slot(FIRST, 1, *[1.0] * 6),), 1)
    picture.draw(replace(pack, charts=(nobody, gap)), tmp_path / "odd.svg", "svg")
    found = set(texts(tmp_path / "odd.svg"))
    assert {"a (own part)", "p0/x", "none owed", "no account had a claim", "gap: GPUs held by lab over time"} <= found
    assert "gap: owed and delivered (the largest 24, 8 more)" in found
    picture.draw(replace(pack, charts=()), tmp_path / "none.svg", "svg")
    assert "No hour of the period is closed." in texts(tmp_path / "none.svg")


def test_the_words_agree_with_the_command_lines():
    from tenure.cli import text

    for amount in (0, 1, -1, GPU_HOUR_MS // 3, 12 * GPU_HOUR_MS, 10**12):
        assert words.gpu_hours(amount) == text.gpu_hours(amount)
    for seconds in (0, 59, 60, 3_661, 90_000):
        assert words.duration(seconds) == text.duration(seconds)
    for milli in (0, 143, 1_000, 64_000):
        assert words.gpus(milli) == text.gpus(milli)
