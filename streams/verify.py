"""Whether the book can be believed, judged from what is stored alone.

Three looks: the books' own sums (SQL), the log's places and hashes, and the whole log folded anew beside the stored
rows. Any change of a stored row of the book or the directory that is not a consistent rewrite of log, rows and hashes
is found by at least one. Sums of samples are made again where the samples are still there; of the samples themselves,
and of dead letters that stand in no log (rows of imported files), there is nothing to compare with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from ledger.archive import DeadLetter
from ledger.checkpoint import Checkpoint, Partition, Position, by_cluster
from ledger.facts import decode, encode
from ledger.store.protocol import Store, Table, Value
from streams.directory import differing
from streams.replay import Archive, Checkpoints, Progress, Replayed, folded_to, replay, saved, sum_samples
from streams.topics import DIRECTORY

SCRATCH: Final = "verify"
"""The generation the log is folded into to be compared; dropped afterwards."""

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found: an error where the book contradicts itself, a warning where the data behind it does."""

    severity: Severity
    name: str
    sentence: str
    count: int
    examples: tuple[str, ...] = ()


@dataclass(slots=True)
class Report:
    """What was found, and on how much. `anchor` is the last hash of log and facts per cluster, to be kept elsewhere."""

    findings: list[Finding] = field(default_factory=list)
    events: int = 0
    anchor: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def errors(self) -> list[Finding]:
        """Findings that mean the book is not to be believed."""
        return [f for f in self.findings if f.severity == "error"]

    @property
    def warnings(self) -> list[Finding]:
        """Findings about the data."""
        return [f for f in self.findings if f.severity == "warning"]


SUMS: Final = {
    "check_unbalanced": "transactions do not sum to zero",
    "check_clears": "node hours do not clear: capacity and overbooked differ from what they were used for",
    "check_node_hours": "node hours differ from the sum of their postings",
    "check_cluster_hours": "cluster hours differ from the sum of their nodes",
    "check_account_hours": "account hours differ from the sum of their postings",
    "check_spent": "runs were charged something else than the funded time they occupied",
    "check_refunds": "runs got back more than they were charged",
    "check_claims": "pools have more claimed than there was capacity",
    "check_overlap": "runs hold more of a node than they were placed with",
}
"""Queries that find nothing in a book that is right."""

HALF_SAVED: Final = (
    "clusters are being checkpointed, or were when their worker was killed, and are left out here; once a worker has "
    "begun, verify again"
)
EXAMPLES: Final = 5
COMPARED_AGAIN: Final = 3
"""So often a difference is looked at that may be of a row somebody is just writing."""


def verify(store: Store, progress: Progress | None = None, *, going_on: bool = False) -> Report:
    """Check the live generation. Writes a scratch generation and drops it again.

    `going_on`: somebody writes meanwhile. Then it is the book up to its checkpoints that is checked, of the log and of
    the rows; the sums are those of the log folded anew, which the stored rows must equal.
    """
    report = Report()
    generation = store.live_generation()
    checkpoints, half = saved(store, generation) if going_on else (store.checkpoints(generation), frozenset[str]())
    if half:
        report.findings.append(Finding("warning", "half_saved", HALF_SAVED, len(half), tuple(sorted(half))))
    if not going_on:
        _sums(report, store, generation)
    _log(report, store, checkpoints, going_on=going_on)
    _data(report, store, generation)
    store.drop_generation(SCRATCH)
    try:
        anew = replay(store, SCRATCH, until=folded_to(checkpoints), progress=progress)
        if going_on:
            _sums(report, store, SCRATCH)
        for of_partition in anew.checkpoints.values():
            for name in half & of_partition.keys():
                del of_partition[name]
        _compare(report, store, generation, checkpoints, anew, going_on=going_on)
    finally:
        store.drop_generation(SCRATCH)
    report.anchor = {
        name or (f"{partition}" if len(checkpoints) > 1 else ""): (f"{c.log_hash:032x}", f"{c.facts_hash:032x}")
        for partition, of_partition in checkpoints.items()
        for name, c in of_partition.items()
    }
    return report


def _sums(report: Report, store: Store, generation: str) -> None:
    for name, sentence in SUMS.items():
        _add(report, name.removeprefix("check_"), sentence, store.query(name, {"generation": generation}))


def _add(report: Report, name: str, sentence: str, found: Table, severity: Severity = "error") -> None:
    if found.rows:
        examples = tuple(_row(found.columns, row) for row in found.rows[:EXAMPLES])
        report.findings.append(Finding(severity, name, f"{len(found.rows)} {sentence}", len(found.rows), examples))


def _row(columns: tuple[str, ...], row: tuple[object, ...]) -> str:
    return ", ".join(f"{name} {value}" for name, value in zip(columns, row, strict=True))


def _log(report: Report, store: Store, checkpoints: Checkpoints, *, going_on: bool) -> None:
    """Offsets without gaps, and no record that the checkpoints do not count; while it goes on there always are some."""
    for topic, partition, events, records, first, last in store.query("check_log").rows:
        report.events += int(str(events))
        if (int(str(first)), int(str(records))) != (0, int(str(last)) + 1):
            sentence = (
                f"the log {topic}/{partition} has {records} records between the places {first} and {last}: "
                "some are missing"
            )
            report.findings.append(Finding("error", "log_gap", sentence, 1))
    counted = sum(c.events for found in checkpoints.values() for c in found.values())
    if going_on:
        report.events = counted
    elif report.events != counted:
        sentence = (
            f"the log holds {report.events} events and the checkpoints count {counted}; if a run was interrupted, "
            "any command that opens the book folds the rest: then verify again"
        )
        report.findings.append(Finding("error", "log_count", sentence, abs(report.events - counted)))


def _data(report: Report, store: Store, generation: str) -> None:
    """Faults of the data, which the book shows and does not hide."""
    found = store.query("check_overbooked", {"generation": generation})
    hours = sum(int(str(row[2])) for row in found.rows)
    if found.rows:
        examples = tuple(_row(found.columns, row) for row in found.rows[:EXAMPLES])
        sentence = (
            f"{hours} node hours are overbooked: runs hold more than their nodes have "
            "(unknown nodes, clocks apart, late ends)"
        )
        report.findings.append(Finding("warning", "overbooked", sentence, hours, examples))
    for row in store.query("check_remarks", {"generation": generation}).dicts():
        if row["name"] == "id_reused":
            continue  # the archive knows all of them
        sentence = f"{row['remarks']} events of {row['cluster']} were taken with the remark {row['name']}"
        example = f"{row['subject']}: {row['example']}"
        report.findings.append(Finding("warning", str(row["name"]), sentence, int(str(row["remarks"])), (example,)))
    sentence = "ids came with two different contents"
    _add(report, "id_reused", sentence, store.query("check_id_reused"), "warning")


def _compare(
    report: Report, store: Store, generation: str, checkpoints: Checkpoints, anew: Replayed, *, going_on: bool
) -> None:
    """The stored rows, hashes and dead letters against those of the log folded anew."""
    settled = {name: found.seq for name, found in by_cluster(checkpoints).items()} if going_on else None
    differences = store.compare_generations(generation, SCRATCH, settled=settled)
    for _ in range(COMPARED_AGAIN if going_on else 0):
        if differences:
            differences = store.compare_generations(generation, SCRATCH, settled=settled)
    for difference in differences:
        count = difference.only_in_a + difference.only_in_b
        sentence = (
            f"{difference.table} is not what the log comes to: {difference.only_in_a} rows too many or changed, "
            f"{difference.only_in_b} missing; if Tenure was upgraded since, `tenure replay --switch` writes them anew"
        )
        examples = tuple(_row(difference.columns, row) for row in (*difference.examples_a, *difference.examples_b))
        report.findings.append(Finding("error", difference.table, sentence, count, examples[:EXAMPLES]))
    for name, sentence in _checkpoints(checkpoints, anew):
        report.findings.append(Finding("error", name, sentence, 1))
    if anew.misfiled:
        sentence = f"{len(anew.misfiled)} records of the log are filed under something else than their bytes say"
        places = tuple(f"{a.topic}/{a.partition} at {a.offset}" for a in anew.misfiled[:EXAMPLES])
        report.findings.append(Finding("error", "misfiled", sentence, len(anew.misfiled), places))
    _dead_letters(report, store, anew, folded_to(checkpoints) if going_on else None)
    stored = [store.query(name).rows for name in ("directory_accounts", "directory_requests")]
    if not going_on or _at_its_end(store, checkpoints):
        _directory(report, anew, stored)
    _samples(report, store, generation, anew)


def _checkpoints(checkpoints: Checkpoints, anew: Replayed) -> Iterator[tuple[str, str]]:
    for partition in checkpoints.keys() | anew.checkpoints.keys():
        yield from _of_partition(partition, checkpoints.get(partition, {}), anew)


def _of_partition(partition: Partition, kept_: Mapping[str, Checkpoint], anew: Replayed) -> Iterator[tuple[str, str]]:
    made_ = anew.checkpoints.get(partition, {})
    end = kept_[""].position if "" in kept_ else None
    for cluster in kept_.keys() | made_.keys():
        kept, made = kept_.get(cluster), made_.get(cluster)
        shown = cluster or f"records of {partition} and no cluster"
        if kept is None or made is None:
            yield "checkpoint", f"{shown}: only one of the stored book and the log folded anew has a checkpoint"
            continue
        if kept.log_hash != made.log_hash:
            yield "log_hash", f"{shown}: the log is not the one the book was made from"
        if (kept.facts_hash, kept.seq) != (made.facts_hash, made.seq) or not _same_facts(kept.facts, made.facts):
            yield "facts_hash", f"{shown}: the stored facts are not those the log comes to"
        same: tuple[Callable[[Checkpoint], int], ...] = (
            lambda c: c.events,
            lambda c: c.recorded_s,
            lambda c: c.ticked_s,
            lambda c: c.closed_until_s,
        )
        if any(of(kept) != of(made) for of in same):
            yield "checkpoint", f"{shown}: the checkpoint counts other events or hours than the log comes to"
        if end is None or not _placed_right(kept, anew, end):
            yield "checkpoint", f"{shown}: the checkpoint speaks of a place in the log that its records do not have"


def _same_facts(kept: bytes, made: bytes) -> bool:
    """Whether two encoded states are equal, however they are compressed."""
    if kept == made:
        return True
    try:
        return encode(decode(kept)) == encode(decode(made))
    except Exception:  # noqa: BLE001 -- whatever stops a restart from reading the facts, they are not those of the log
        return False


def _placed_right(kept: Checkpoint, anew: Replayed, end: Position) -> bool:
    """Whether a checkpoint's place is behind its cluster's last record and not behind the end; that of '' is an end."""
    at, last = kept.position, anew.last.get((kept.position.of, kept.cluster))
    if not kept.cluster:
        return at == anew.ends.get(at.of)
    return last is not None and last.place <= at.place <= end.place


def _dead_letters(report: Report, store: Store, anew: Replayed, ends: Mapping[Partition, Position] | None) -> None:
    """Those of the log, if there are `ends` up to there."""
    topics = {letter.topic for letter in anew.dead_letters} | {str(row[0]) for row in store.query("check_log").rows}
    kept = {one for one in store.dead_letters(limit=10_000_000) if one.topic in topics and _up_to(ends, one)}
    made = set(anew.dead_letters)
    if kept != made:
        sentence = (
            f"the dead letters of the log are not what it comes to: {len(kept - made)} too many or changed, "
            f"{len(made - kept)} missing"
        )
        report.findings.append(Finding("error", "dead_letters", sentence, len(kept ^ made)))


def _up_to(ends: Mapping[Partition, Position] | None, letter: DeadLetter) -> bool:
    if ends is None:
        return True
    end = ends.get(Partition(letter.topic, letter.partition))
    return end is not None and (letter.offset, letter.index) <= end.place


def _at_its_end(store: Store, checkpoints: Checkpoints) -> bool:
    """Whether all that is said of the directory is folded: of a name, only the latest word is kept."""
    ends = folded_to(checkpoints)
    there = Archive(store).partitions()
    said = [at for at in there if at.topic == DIRECTORY.name] or there
    return all(at in ends and store.last_offset(*at) <= ends[at].offset for at in said)


def _directory(report: Report, anew: Replayed, stored: Sequence[Sequence[tuple[Value, ...]]]) -> None:
    for table, too_many, missing in differing(anew.directory, *stored):
        sentence = (
            f"{table} is not what the log comes to: {len(too_many)} rows too many or changed, {len(missing)} missing"
        )
        names = tuple(dict.fromkeys((*too_many, *missing)))
        report.findings.append(Finding("error", table, sentence, len(names), names[:EXAMPLES]))


def _samples(report: Report, store: Store, generation: str, anew: Replayed) -> None:
    """A warning: a source may have named a run's GPUs after its hours were summed."""
    sum_samples(store, SCRATCH, anew.checkpoints)
    sentence = "sums of samples are not what the samples come to; `tenure replay --switch` makes all of them again"
    _add(report, "run_gpu_hours", sentence, store.query("check_samples", {"a": generation, "b": SCRATCH}), "warning")
