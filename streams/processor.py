"""The processor both runtimes run: records of the log go in, rows and checkpoints come out. No I/O.

One book per cluster; cluster '' stands for records that belong to none (unreadable ones and the directory).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, assert_never

from ledger.archive import ArchivedEvent, DeadLetter
from ledger.book import Book
from ledger.checkpoint import Checkpoint, Position
from ledger.events import ClockTicked, GpuSampled
from ledger.events.directory import AccountChanged, AccountClosed, AccountOpened, ShareRequested
from ledger.facts import MODULUS, FactsHash, decode, encode
from ledger.outcomes import Applied, Refused, Repeated
from ledger.rows import OpenHour, Row
from ledger.state import CLOSING_S
from ledger.store.protocol import AccountEntry, ShareRequest
from ledger.units import HOUR_S, epoch_s, epoch_us, hour_floor_s
from streams.intake import AnyEvent, Record, dead_letter

DirectoryEvent = AccountOpened | AccountChanged | AccountClosed | ShareRequested


@dataclass(slots=True)
class Folded:
    """What a batch came to. `outcomes` counts applied, repeated, and refusals by name."""

    rows: dict[type[Row], list[Any]] = field(default_factory=lambda: defaultdict(list))
    dead_letters: list[DeadLetter] = field(default_factory=list)
    accounts: list[AccountEntry] = field(default_factory=list)
    requests: list[ShareRequest] = field(default_factory=list)
    samples: list[GpuSampled] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)

    def take(self, book: Book) -> None:
        """Take over the rows a book has made."""
        for table, rows in book.take().items():
            self.rows[table] += rows


class Ledger:
    """One cluster's book with what a checkpoint says of it."""

    def __init__(self, cluster: str, checkpoint: Checkpoint | None = None) -> None:
        """A new book, or the one the checkpoint holds."""
        self.book = Book(cluster)
        self.position: Position | None = None
        self.events = 0
        self.log_hash = 0
        if checkpoint is not None:
            self.book.resume(decode(checkpoint.facts))
            self.position = checkpoint.position
            self.events = checkpoint.events
            self.log_hash = checkpoint.log_hash
        self.facts_hash = FactsHash(self.book.state)
        self.unsaved = False

    def has(self, archived: ArchivedEvent) -> bool:
        """Whether the record is folded already."""
        known = self.position
        return (
            known is not None
            and (archived.topic, archived.partition) == (known.topic, known.partition)
            and (archived.offset, archived.index) <= known.place
        )

    def log(self, archived: ArchivedEvent) -> None:
        """Count a record into the log's hash."""
        self.unsaved = True
        self.log_hash = (self.log_hash + record_digest(self.events, archived)) % MODULUS
        self.events += 1

    def checkpoint(self, position: Position) -> Checkpoint:
        """The state after the record at `position`."""
        state = self.book.state
        self.position = position
        self.unsaved = False
        changed, self.book.changed = self.book.changed, {}
        return Checkpoint(
            state.cluster,
            state.seq,
            position,
            state.recorded_s,
            state.ticked_s,
            max(0, state.closed_until_s),
            self.events,
            encode(state),
            self.facts_hash.update(iter(changed)),
            self.log_hash,
        )


def record_digest(ordinal: int, archived: ArchivedEvent) -> int:
    """Digest of a record as the n-th of its cluster; its place in the topic, where runtimes differ, is left out."""
    head = f"{ordinal}\0{archived.recorded_us}\0".encode()
    return int.from_bytes(blake2b(head + archived.raw, digest_size=16).digest(), "big")


class Processor:
    """Books of all clusters of one log, folded on from their checkpoints."""

    def __init__(self, checkpoints: Iterable[Checkpoint] = ()) -> None:
        """Ready to fold on after the checkpoints."""
        self.ledgers = {c.cluster: Ledger(c.cluster, c) for c in checkpoints}

    def ledger(self, cluster: str) -> Ledger:
        """The cluster's ledger, opened if it is new."""
        found = self.ledgers.get(cluster)
        if found is None:
            found = self.ledgers[cluster] = Ledger(cluster)
        return found

    def fold(self, records: Sequence[Record]) -> Folded:
        """Fold records in log order; those already folded are passed over."""
        folded = Folded()
        last_ticks = _last_ticks(records)
        touched: dict[str, Ledger] = {}
        for place, (archived, event) in enumerate(records):
            ledger = touched[archived.cluster] = self.ledger(archived.cluster)
            if ledger.has(archived):
                continue
            ledger.log(archived)
            outcome = self._take(ledger, archived, event, folded, last_tick=place in last_ticks)
            if isinstance(outcome, Refused):
                folded.dead_letters.append(dead_letter(archived, outcome))
        for ledger in touched.values():
            folded.take(ledger.book)
        return folded

    def _take(
        self, ledger: Ledger, archived: ArchivedEvent, event: AnyEvent | Refused, folded: Folded, *, last_tick: bool
    ) -> Applied | Repeated | Refused:
        match event:
            case Refused():
                outcome: Applied | Repeated | Refused = event
            case AccountOpened() | AccountChanged() | AccountClosed() | ShareRequested():
                outcome = _directory(event, folded)
            case GpuSampled():
                folded.samples.append(event)
                outcome = Applied()
            case _:
                if isinstance(event, ClockTicked) and _lets_go(ledger.book, epoch_s(event.data.at)):
                    folded.take(ledger.book)
                outcome = ledger.book.apply(event, archived.recorded_us // 1_000_000, last_tick=last_tick)
                if last_tick and isinstance(outcome, Applied):
                    _say_if_nothing_is_open(ledger.book)
        folded.outcomes[_name(outcome)] += 1
        return outcome

    def checkpoints(self, position: Position) -> list[Checkpoint]:
        """Checkpoints of every ledger changed since its last one, that of cluster '' at the end.

        The last says that everything up to `position` is folded and kept, so a restart begins there.
        """
        due = [ledger for cluster, ledger in self.ledgers.items() if ledger.unsaved and cluster]
        return [ledger.checkpoint(position) for ledger in (*due, self.ledger(""))]


def _last_ticks(records: Sequence[Record]) -> set[int]:
    """Places of the ticks whose provisional rows no later tick of the batch is sure to replace.

    The last tick of a batch need not be the one that counts: it may be stale, or refused.
    """
    found: set[int] = set()
    latest_s: dict[str, int] = {}
    for place in range(len(records) - 1, -1, -1):
        archived, event = records[place]
        if not isinstance(event, ClockTicked):
            continue
        at_s = epoch_s(event.data.at)
        later_s = latest_s.get(archived.cluster)
        if later_s is None or at_s >= later_s:
            found.add(place)
            if event.time == event.data.at and at_s <= archived.recorded_us // 1_000_000:
                latest_s[archived.cluster] = at_s
    return found


def _lets_go(book: Book, at_s: int) -> bool:
    """Whether a tick at that instant moves the horizon past jobs: what is due of them must be taken before."""
    state = book.state
    closes = hour_floor_s(at_s - CLOSING_S) > state.closed_until_s
    opens_s = state.opens_s
    return closes and opens_s is not None and at_s - state.policy_at(at_s).horizon_h * HOUR_S > opens_s


def _say_if_nothing_is_open(book: Book) -> None:
    """A tick with nothing provisional leaves a row of no account, lest those of the tick before pass for the last."""
    state = book.state
    made = book.writer.rows[OpenHour]
    if not made or made[-1].seq != state.seq:
        nothing = OpenHour(
            cluster=state.cluster,
            pool="",
            account="",
            hour_s=state.closed_until_s,
            until_s=state.ticked_s,
            claim_gpu_ms=0,
            grant_gpu_ms=0,
            charged_gpu_ms=0,
            refunded_gpu_ms=0,
            demand_gpu_ms=0,
            owed_gpu_ms=0,
            commitment_gpu_ms=0,
            unfunded_gpu_ms=0,
            seq=state.seq,
            recorded_s=state.recorded_s,
        )
        made.append(nothing)


def _name(outcome: Applied | Repeated | Refused) -> str:
    match outcome:
        case Applied():
            return "applied"
        case Repeated():
            return "repeated"
        case Refused():
            return outcome.name
        case _:
            assert_never(outcome)


def _directory(event: DirectoryEvent, folded: Folded) -> Applied:
    """Directory statements go to their tables as they are; the latest holds."""
    at_us = epoch_us(event.time)
    match event:
        case AccountOpened() | AccountChanged():
            data = event.data
            folded.accounts.append(
                AccountEntry(
                    data.account, data.title, data.leads, data.webhooks, data.labels, closed=False, occurred_us=at_us
                )
            )
        case AccountClosed():
            folded.accounts.append(AccountEntry(event.data.account, "", (), (), {}, closed=True, occurred_us=at_us))
        case ShareRequested():
            asked = event.data
            folded.requests.append(
                ShareRequest(
                    asked.request,
                    asked.cluster,
                    asked.gpu_type or "",
                    asked.account,
                    str(asked.share_percent),
                    asked.author,
                    asked.reason,
                    at_us,
                )
            )
        case _:
            assert_never(event)
    return Applied()
