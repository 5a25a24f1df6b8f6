"""Event ids from content, and which run or job an import has met before."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import datetime

from pydantic import BaseModel

from streams.sources.reading import About, AnyEvent, Known, Place, Statement

_MAX_NAME = 96
"""Characters of a name in an id; the hash tells longer ones apart. 3 × 96 + a kind + a hash stay below 512."""


def event_id(kind: str, name: str, time: datetime, data: BaseModel) -> str:
    """`kind/name/hash`: the same for the same content at the same instant, whatever file it came from."""
    content = f"{kind}\n{time.isoformat()}\n{data.model_dump_json(exclude_defaults=True)}"
    digest = hashlib.blake2b(content.encode(), digest_size=12).hexdigest()
    return f"{kind}/{name[: 3 * _MAX_NAME]}/{digest}"


@dataclass(slots=True)
class Seen:
    """The attempts of one import, as (cluster, job, attempt): those that ran and those that only waited."""

    runs: set[tuple[str, str, str]] = field(default_factory=set)
    jobs: set[tuple[str, str, str]] = field(default_factory=set)

    def statement(
        self,
        about: About,
        key: tuple[str, str, str],
        events: tuple[AnyEvent, ...],
        place: Place,
        note: str = "",
    ) -> Statement | Known:
        """The first statement of this attempt, or a further one. That it waited does not make its run known."""
        known = key in self.runs or (about == "job" and key in self.jobs)
        (self.runs if about == "run" else self.jobs).add(key)
        return Known(about, events, place, note) if known else Statement(about, events, place, note)
