"""Records of any format to readings: refusals become dead letters, and the import's last instant is found first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ledger.events.faults import told_of
from streams.sources.config import SourceConfig
from streams.sources.reading import Place, Reading, Refused, Skipped, Unreadable
from streams.sources.slurm.gres import GresWrong
from streams.sources.slurm.nodelist import ListWrong
from streams.sources.slurm.record import JobRecord
from streams.sources.slurm.statements import Reader, as_of
from streams.sources.slurm.states import UnknownState

Parsed = JobRecord | Refused | Skipped | Unreadable
Piece = tuple[Parsed, Place, bytes]
"""A record or why there is none, where it stands and the bytes it was read from."""


def understood(parse: Callable[[object], JobRecord], value: object) -> JobRecord | Refused:
    """The record, or the refusal that names why there is none."""
    try:
        return parse(value)
    except Refused as refused:
        return refused
    except UnknownState as wrong:
        return Refused("unknown_state", f"{wrong}: correct the row, or ask for support of this Slurm version")
    except GresWrong as wrong:
        return Refused("gpu_count_not_understood", f"{wrong}: correct the row")
    except ListWrong as wrong:
        return Refused("node_list_not_understood", f"{wrong}: correct the row")
    except ValueError as wrong:
        sentence = f"{wrong}: export with SLURM_TIME_FORMAT unset (2026-01-31T12:00:00) or set to %s"
        return Refused("time_not_understood", sentence)


def records_to_readings(pieces: Sequence[Piece], config: SourceConfig, stated_s: int | None) -> Iterator[Reading]:
    """A reading for every piece. `stated_s` is the instant the file itself says it was written."""
    records = [found for found, _, _ in pieces if isinstance(found, JobRecord)]
    reader = Reader(config, as_of(config, stated_s, records))
    for found, place, raw in pieces:
        match found:
            case JobRecord():
                yield _reading(reader, found, place, raw)
            case Refused():
                yield Unreadable(found.reason, found.sentence, raw, place)
            case Skipped() | Unreadable():
                yield found


def _reading(reader: Reader, record: JobRecord, place: Place, raw: bytes) -> Reading:
    try:
        return reader.reading(record, place)
    except Refused as refused:
        return Unreadable(refused.reason, refused.sentence, raw, place)
    except ValueError as wrong:
        return Unreadable("values_not_accepted", f"a value does not fit an event: {told_of(wrong)}", raw, place)
