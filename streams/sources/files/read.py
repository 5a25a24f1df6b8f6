"""Any CSV to readings, by a declared mapping."""

from __future__ import annotations

from collections.abc import Iterator

from ledger.units import epoch_s
from streams.sources.files.mapping import FilesMapping
from streams.sources.files.rows import Job, named_rows, parsed
from streams.sources.files.statements import Reader
from streams.sources.reading import Reading


def read(data: bytes, mapping: FilesMapping) -> Iterator[Reading]:
    """A reading for every physical line of the CSV."""
    found = [parsed(row, mapping) for row in named_rows(data, mapping)]
    if mapping.rows == "nodes":
        yield from (p for p in found if not isinstance(p, Job))
        return
    jobs = [p for p in found if isinstance(p, Job)]
    reader = Reader(mapping, _as_of(mapping, jobs))
    for piece in found:
        yield reader.safely(piece) if isinstance(piece, Job) else piece


def _as_of(mapping: FilesMapping, jobs: list[Job]) -> int:
    if mapping.snapshot_at is not None:
        return epoch_s(mapping.snapshot_at)
    return max((t for job in jobs for t in (job.submit_s, job.start_s, job.end_s) if t is not None), default=0)
