"""`tenure doctor`: is the book well, and what needs a hand."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

import typer

from ledger.checkpoint import Checkpoint, by_cluster
from ledger.facts import decode
from ledger.standing import NO_POOL, NOT_PLACEABLE
from ledger.standing import queue as queued
from ledger.store.clickhouse import ClickHouse
from ledger.units import DAY_S, HOUR_S, epoch_s
from tenure import wiring
from tenure.cli import exits, options, output, streaming
from tenure.cli.brokers import fed
from tenure.cli.checks import Check, Level
from tenure.cli.desk import lost_books, open_place, unfolded
from tenure.cli.figures import number
from tenure.cli.queries import read
from tenure.cli.text import bytes_, count, duration, gpu_hours, moment, plural, when

LOW_BYTES: Final = 1 << 30
"""Less free space than this needs a hand: a month of samples of 256 GPUs takes about a quarter of it."""
LONG_S: Final = 7 * DAY_S
"""A job that has waited so long may wait for ever."""
MARKS: Final = {"ok": "✓", "note": "·", "act": "!"}
STYLES: Final = {"ok": "green", "note": "", "act": "bold red"}


def doctor(
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Look the book over. 0: nothing to do; 1: something needs a hand."""
    with open_place(data, config) as (store, place, settings):
        kafka = streaming.checks(store, settings)
        checks = [*_folder(place), *_store(store), *_log(store), *kafka, *_books(store), *_data(store)]
    if as_json:
        output.emit({"healthy": not _act(checks), "checks": [check._asdict() for check in checks]})
    else:
        made = output.table(f"The book at {place}", "*", "*Looked at", "Found")
        for check in checks:
            output.fill(made, [[output.styled(MARKS[check.level], STYLES[check.level]), check.name, check.sentence]])
        output.show(made)
        output.say("Something needs a hand: see the lines with !." if _act(checks) else "Nothing needs a hand.")
    if _act(checks):
        raise typer.Exit(exits.FINDINGS)


def _act(checks: list[Check]) -> bool:
    return any(check.level == "act" for check in checks)


# ---------------------------------------------------------------- folder, store, log


def _folder(place: wiring.Place) -> Iterator[Check]:
    used = sum(f.stat().st_size for f in place.folder.rglob("*") if f.is_file())
    free = shutil.disk_usage(place.folder).free
    level: Level = "act" if free < LOW_BYTES else "ok"
    room = f"{bytes_(used)} used, {bytes_(free)} free"
    yield Check(level, "data folder", f"{place.folder}: {room}", {"used_bytes": used, "free_bytes": free})
    yield Check("ok", "lock", "nobody else had it, this command holds it", _holder(place.book))


def _holder(book: Path) -> str | None:
    try:
        return (book / "status").read_text("utf-8").splitlines()[0]
    except (OSError, IndexError):
        return None


def _store(store: ClickHouse) -> Iterator[Check]:
    ((version,),) = store.query("SELECT version()").rows
    names = [str(name) for (name,) in store.query(read("schema")).rows]
    latest = max((name for name in names if name[:1].isdigit()), default="none")
    yield Check("ok", "store", f"ClickHouse {version}, {store.where}", {"version": version, "where": store.where})
    yield Check("ok", "schema", f"up to {latest}", names)
    yield Check("ok", "generation", f"the views show {store.live_generation()}", store.live_generation())


def _log(store: ClickHouse) -> Iterator[Check]:
    rows = store.query("check_log").dicts()
    if not rows:
        yield Check("note", "log", "empty: `tenure demo`, or `tenure ingest FILE...`", 0)
        return
    for row in rows:
        missing = number(row["last_offset"]) + 1 - number(row["records"])
        told = f"{row['topic']}/{row['partition']}: {plural(number(row['records']), 'record')}"
        level: Level = "act" if missing else "ok"
        gaps = f", {count(missing)} missing: restore the folder from a copy" if missing else ", no gaps"
        yield Check(level, "log", told + gaps, row)
    tail, workers = unfolded(store), fed(store)
    who = "workers fold them" if workers else "any command that reads the book folds them"
    if lost := lost_books(store):
        yield Check("act", "checkpoint", f"{lost}: {who} anew", lost)
        return
    told = f"{plural(tail, 'record')} behind the last checkpoint: {who}" if tail else "none"
    level = "ok" if not tail else "note" if workers else "act"
    yield Check(level, "unfolded tail", told, tail)


# ---------------------------------------------------------------- books


def _books(store: ClickHouse) -> Iterator[Check]:
    now = wiring.clock()
    checkpoints = by_cluster(store.checkpoints(store.live_generation()))
    for name, checkpoint in sorted(checkpoints.items()):
        yield from _book(name, checkpoint, now)
        yield _pending(name, checkpoint)
    recorded_s = max((c.recorded_s for c in checkpoints.values()), default=0)
    ahead_s = recorded_s - epoch_s(now)
    told = f"{when(now)} UTC"
    if ahead_s > 0:
        told += f", and the log was last written {duration(ahead_s)} later: set this machine's clock"
    yield Check("act" if ahead_s > 0 else "ok", "clock", told, {"now": now, "ahead_s": max(0, ahead_s)})


def _book(name: str, checkpoint: Checkpoint, now: datetime) -> Iterator[Check]:
    age_s = epoch_s(now) - checkpoint.ticked_s
    closed = moment(checkpoint.closed_until_s)
    told = f"{moment(checkpoint.ticked_s)} UTC, {duration(age_s)} ago; hours before {closed} are closed"
    told = told if checkpoint.ticked_s else "nothing is closed yet"
    value = {"ticked_s": checkpoint.ticked_s, "age_s": age_s, "closed_until_s": checkpoint.closed_until_s}
    yield Check("note" if age_s > HOUR_S else "ok", f"{name}: watermark", told, value)
    told = f"{count(checkpoint.events)} events, {count(checkpoint.seq)} of them changed facts"
    told += f"; {bytes_(len(checkpoint.facts))}, last recorded {moment(checkpoint.recorded_s)} UTC"
    value = {"events": checkpoint.events, "seq": checkpoint.seq, "recorded_s": checkpoint.recorded_s}
    yield Check("ok", f"{name}: checkpoint", told, value)


def _pending(name: str, checkpoint: Checkpoint) -> Check:
    """Jobs that can never start as things are, and those that have waited very long."""
    state = decode(checkpoint.facts)
    entries = queued(state)
    found = Counter(e.reason for e in entries if e.reason in {NO_POOL, NOT_PLACEABLE})
    long = sum(state.ticked_s - e.since_s > LONG_S for e in entries)
    parts = [f"{count(n)} {reason}" for reason, n in sorted(found.items())]
    parts += [f"{count(long)} for over {duration(LONG_S)}"] if long else []
    told = f"{plural(len(entries), 'job')} wait" + (f", of them {', '.join(parts)}: `tenure queue`" if parts else "")
    value = {"waiting": len(entries), "over_7_days": long, **found}
    return Check("note" if parts else "ok", f"{name}: pending for ever", told, value)


# ---------------------------------------------------------------- the data's faults


def _data(store: ClickHouse) -> Iterator[Check]:
    letters = store.query(read("letters")).dicts()
    told = ", ".join(f"{count(number(r['letters']))} {r['reason']}" for r in letters)
    shown = f"{told}: `tenure dead-letters list`" if told else "none"
    yield Check("note" if told else "ok", "dead letters", shown, {str(r["reason"]): r["letters"] for r in letters})
    remarks = store.query(read("remarks")).dicts()
    told = ", ".join(f"{count(number(r['remarks']))} {r['name']} ({r['cluster']})" for r in remarks)
    yield Check("note" if told else "ok", "remarks", told or "none", remarks)
    yield from _rows(store, "overbooked", "overbooked hours", "hours", "node hours", "overbooked_gpu_ms")
    yield from _rows(store, "unknown_nodes", "unknown nodes", "runs", "runs", "held_gpu_ms")
    rows = store.query(read("unfunded")).dicts()
    told = ", ".join(
        f"{r['reason']} {count(number(r['runs']))} runs, {gpu_hours(number(r['held_gpu_ms']))} GPU-hours" for r in rows
    )
    yield Check("note" if rows else "ok", "unfunded", told or "none", rows)


def _rows(store: ClickHouse, query: str, name: str, counted: str, what: str, amount: str) -> Iterator[Check]:
    rows = store.query(read(query)).dicts()
    told = ", ".join(
        f"{count(number(r[counted]))} {what}, {gpu_hours(number(r[amount]))} GPU-hours ({r['cluster']})" for r in rows
    )
    yield Check("note" if rows else "ok", name, told or "none", rows)
