"""The CloudEvents 1.0 envelope every event wears, and the field types they share.

Unknown envelope attributes are CloudEvents extensions and pass; an unknown field inside `data` is a
spelling mistake and is refused.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints

Name = Annotated[str, StringConstraints(min_length=1, max_length=256)]
"""A cluster, node, job, attempt, user or author name: any non-empty text."""

ATTEMPT_PATTERN: Final = r"^[^/]+$"
AttemptToken = Annotated[str, StringConstraints(min_length=1, max_length=256, pattern=ATTEMPT_PATTERN)]
"""An attempt, by a token of its source without `/`, so that `job/attempt` names one run."""

ACCOUNT_PATTERN: Final = r"^[^/\s]+(/[^/\s]+)*$"
AccountPath = Annotated[
    str,
    StringConstraints(min_length=1, max_length=512, pattern=ACCOUNT_PATTERN),
]
"""An account named by its path, `lab/program/project`; `lab/program/.` is the interior account's own part."""

GpuType = Annotated[str, StringConstraints(min_length=1, max_length=64)]
MOST_MILLI: Final = 1_000_000_000
Milli = Annotated[int, Field(ge=0, le=MOST_MILLI)]
"""milli-GPUs, at most a million GPUs."""
PositiveMilli = Annotated[int, Field(gt=0, le=MOST_MILLI)]
Seconds = Annotated[int, Field(ge=0, le=10 * 366 * 86_400)]
Note = Annotated[str, StringConstraints(max_length=4_096)]


class Data(BaseModel):
    """Payload of an event: immutable, strict about field names."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ClusterData(Data):
    """Payload that belongs to one cluster: the partition key of `tenure.events`."""

    cluster: Name


class Envelope(BaseModel):
    """CloudEvents attributes. `time` is when it occurred; `recordedtime` is set when it is appended to the log."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    specversion: Literal["1.0"] = "1.0"
    id: Annotated[str, StringConstraints(min_length=1, max_length=512)]
    source: Annotated[str, StringConstraints(min_length=1, max_length=512)]
    time: AwareDatetime
    subject: str | None = None
    recordedtime: AwareDatetime | None = None
