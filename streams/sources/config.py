"""How a source is read and mapped: pydantic models of its tables in the configuration, and their errors."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, Final, Literal, TypeVar

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from ledger.events.decisions import SharePercent
from ledger.events.envelope import AccountPath, GpuType, Name, Seconds
from ledger.events.faults import in_words
from ledger.events.jobs import JobKind
from streams.sources.times import short_duration_s, zone

M = TypeVar("M", bound=BaseModel)
WHOLE_PERCENT: Final = 100
DEFAULT_GPU_TYPE: Final = "gpu"


class ConfigError(ValueError):
    """The configuration cannot be used; the message says which key and what to write."""


def _seconds(value: object) -> object:
    return short_duration_s(value) if isinstance(value, str) else value


def _zone_exists(name: str) -> str:
    try:
        zone(name)
    except (KeyError, ValueError, OSError) as unknown:
        raise ValueError(f"there is no time zone {name!r}: write one like UTC or Europe/Oslo") from unknown
    return name


def _one_or_many(value: object) -> object:
    return (value,) if isinstance(value, str) else value


Duration = Annotated[Seconds, BeforeValidator(_seconds)]
"""Seconds, or text like `2h`."""
TimeZone = Annotated[str, AfterValidator(_zone_exists)]
CommentTrust = Literal["all", "contract", "none"]
Patterns = Annotated[tuple[str, ...], BeforeValidator(_one_or_many)]
"""One shell pattern or several; a record matches if any of them does."""


class Config(BaseModel):
    """A table of the configuration: immutable, strict about key names."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Rule(Config):
    """For records that match every pattern given, the values given. The first rule to give a value decides.

    `budget` may hold `{account}`, `{user}`, `{partition}`, `{qos}`; blanks and slashes in them become `_`.
    """

    account: Patterns | None = None
    partition: Patterns | None = None
    qos: Patterns | None = None
    user: Patterns | None = None
    reservation: Patterns | None = None
    budget: Annotated[str, Field(min_length=1, max_length=512)] | None = None
    min_runtime: Duration | None = None
    resumable: bool | None = None
    kind: JobKind | None = None
    priority: int | None = None

    @model_validator(mode="after")
    def _gives_something(self) -> Rule:
        given = (self.budget, self.min_runtime, self.resumable, self.kind, self.priority)
        if all(value is None for value in given):
            raise ValueError("the rule gives nothing: add budget, min_runtime, resumable, kind or priority")
        return self


class NodeSet(Config):
    """Nodes that are known without a statement of their own: `names` as in a node list, `gn[01-04]`."""

    names: Name
    gpus: Annotated[int, Field(ge=0, le=1_000_000)]
    gpu_type: GpuType = DEFAULT_GPU_TYPE


class ShareSet(Config):
    """The division of `parent`: percent per child; or `equal`, the same for every child the data names."""

    parent: AccountPath
    children: dict[str, SharePercent] = Field(default_factory=dict)
    equal: bool = False

    @model_validator(mode="after")
    def _sums(self) -> ShareSet:
        if self.equal == bool(self.children):
            raise ValueError("give either children = { name = percent } or equal = true")
        if sum(self.children.values(), Decimal(0)) > WHOLE_PERCENT:
            raise ValueError("the children's shares sum to more than 100 percent: lower one")
        return self


class ClusterConfig(Config):
    """What every source of one cluster's history may declare.

    `snapshot_at` is the instant a file was written, where it does not say so itself.
    """

    cluster: Name
    source: Name | None = None
    author: Name = "import"
    timezone: TimeZone = "UTC"
    snapshot_at: AwareDatetime | None = None
    gpu_type: GpuType | None = None
    default_kind: JobKind = "batch"
    opens_at: AwareDatetime | None = None
    nodes_at: AwareDatetime | None = None
    infer_nodes: bool = True
    rules: tuple[Rule, ...] = ()
    nodes: tuple[NodeSet, ...] = ()
    shares: tuple[ShareSet, ...] = ()

    @property
    def source_name(self) -> str:
        """CloudEvents `source`: where the facts are from, not the format they came in."""
        return self.source or f"import/{self.cluster}"

    def node_sets(self) -> tuple[NodeSet, ...]:
        """The nodes that are declared rather than stated."""
        return self.nodes


class SourceConfig(ClusterConfig):
    """A Slurm cluster.

    `attempt = "sluid"` names attempts by SLUID where a record has one; the default, the submit time of the
    row, stands in every format, so that one run has one name whichever command reported it. `comments` says how
    far a job's comment is trusted: with all its terms, with its contract but not its budget, or not at all.
    """

    delimiter: Annotated[str, Field(min_length=1, max_length=8)] = "|"
    fields: tuple[Name, ...] | Literal["xdmod", "sonar"] | None = None
    attempt: Literal["submit", "sluid"] = "submit"
    comments: CommentTrust = "all"

    @property
    def source_name(self) -> str:
        """The same for every format of one Slurm, so that equal facts have equal ids."""
        return self.source or f"slurm/{self.cluster}"


def validated(model: type[M], table: object, what: str) -> M:
    """The table as a model; raises ConfigError that names each wrong key and what to write."""
    try:
        return model.model_validate(table)
    except ValidationError as wrong:
        raise ConfigError(sentence(wrong, what)) from wrong


def sentence(wrong: ValidationError, what: str) -> str:
    """Each wrong key by its path, with what is wrong about it."""
    said = []
    for error in wrong.errors(include_url=False):
        key = _path(error["loc"])
        match error["type"]:
            case "extra_forbidden":
                said.append(f"{key}: there is no such key; remove it or correct its spelling")
            case "missing":
                said.append(f"{key}: is missing; add it")
            case _:
                words, given = in_words(error), repr(error["input"])
                said.append(f"{key}: {words}{'' if given in words else f' (it is {given})'}"[:400])
    return f"{what}: " + "; ".join(said)


def _path(location: Sequence[int | str]) -> str:
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path or "the table"


def tables(text: str, what: str) -> dict[str, object]:
    """TOML text as tables; raises ConfigError with the line that is wrong."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as wrong:
        raise ConfigError(f"{what} is not TOML: {wrong}") from wrong


def source_config(text: str, what: str = "the source's configuration") -> SourceConfig:
    """The configuration of a Slurm source from TOML text; raises ConfigError."""
    return validated(SourceConfig, tables(text, what), what)
