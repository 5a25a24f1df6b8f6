"""What the log keeps: every record as it came in, and the records that could not be read or were refused."""

from __future__ import annotations

from typing import NamedTuple


class ArchivedEvent(NamedTuple):
    """One event of the log under its place; `index` counts inside a batched record.

    `cluster` is '' for an event of no cluster. `source`, `event_id` and `type` are '' and `occurred_us` is
    None where the bytes could not be read. Times are microseconds since 1970 UTC. `raw` is what was
    received, byte for byte, UTF-8 or not.
    """

    topic: str
    partition: int
    offset: int
    index: int  # type: ignore[assignment]  # the log's word for it; hides tuple.index, which nobody asks
    cluster: str
    source: str
    event_id: str
    type: str
    occurred_us: int | None
    recorded_us: int
    raw: bytes


class DeadLetter(NamedTuple):
    """A record that was not taken into the book: where it stands in the log, a named reason, and its bytes.

    `sentence` tells a person what to do. `source` and `event_id` are '' where the bytes could not be read.
    `recorded_us` is microseconds since 1970 UTC.
    """

    topic: str
    partition: int
    offset: int
    index: int  # type: ignore[assignment]  # the log's word for it; hides tuple.index, which nobody asks
    cluster: str
    reason: str
    sentence: str
    raw: bytes
    recorded_us: int
    source: str
    event_id: str
