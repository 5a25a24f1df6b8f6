"""The declared mapping of a CSV: which column means what, in which unit, and what odd rows are."""

from __future__ import annotations

from importlib.resources import files
from typing import Annotated, Final, Literal

from pydantic import AwareDatetime, Field, model_validator

from ledger.events.envelope import Name
from ledger.events.jobs import Outcome
from streams.sources.config import DEFAULT_GPU_TYPE, ClusterConfig, Config, ConfigError, NodeSet, tables, validated

StateMeaning = Outcome | Literal["running", "pending"]
Column = Annotated[str, Field(min_length=1)]


class Columns(Config):
    """Names of columns. `gpus` × `milli_per_gpu` is the size; `tres` is `id=count,…` with `gpu_tres` in it."""

    job: Column | None = None
    user: Column | None = None
    group: Column | None = None
    partition: Column | None = None
    qos: Column | None = None
    submit: Column | None = None
    eligible: Column | None = None
    start: Column | None = None
    end: Column | None = None
    duration: Column | None = None
    suspended: Column | None = None
    time_limit_min: Column | None = None
    exit_code: Column | None = None
    state: Column | None = None
    gpus: Column | None = None
    milli_per_gpu: Column | None = None
    tres: Column | None = None
    tres_requested: Column | None = None
    nodes: Column | None = None
    node: Column | None = None
    gpu_type: Column | None = None

    def named(self) -> frozenset[str]:
        """Every column the mapping speaks of."""
        return frozenset(name for name in self.model_dump().values() if name is not None)


class FilesMapping(ClusterConfig):
    """How one CSV is read.

    `time` is the form of instants: `epoch` seconds, `iso` (in `timezone` where it has no offset), or `seconds`
    since `origin`. `job_is_unique = false` says that ids repeat among different jobs, so the row number joins
    them. `missing_end` is what a row with a start and no end is. Runs without a node column lie on one
    synthetic node, `virtual_node`, with `virtual_gpus` GPUs or as many as were ever in use at once.
    """

    rows: Literal["jobs", "nodes"] = "jobs"
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] = ","
    columns: Columns
    time: Literal["epoch", "iso", "seconds"] = "iso"
    origin: AwareDatetime | None = None
    job_is_unique: bool = True
    gpu_tres: tuple[Name, ...] = ()
    states: dict[str, StateMeaning] = Field(default_factory=dict)
    missing_end: Literal["running", "refuse"] = "refuse"
    virtual_node: Name | None = None
    virtual_gpus: Annotated[int, Field(ge=1, le=1_000_000)] | None = None

    @model_validator(mode="after")
    def _whole(self) -> FilesMapping:
        for wrong, sentence in self._gaps():
            if wrong:
                raise ValueError(sentence)
        return self

    def _gaps(self) -> list[tuple[bool, str]]:
        c = self.columns
        origin = (self.time == "seconds" and self.origin is None, "time = 'seconds' needs an origin")
        if self.rows == "nodes":
            return [
                origin,
                (c.node is None or c.gpus is None, "a node list needs columns.node and columns.gpus"),
            ]
        return [
            origin,
            (
                c.start is None and c.submit is None,
                "name columns.start, or columns.submit if start is the same",
            ),
            (c.end is None and c.duration is None, "name columns.end or columns.duration"),
            (c.gpus is None and c.tres is None, "name columns.gpus or columns.tres"),
            (self.virtual_gpus is not None and self.virtual_node is None, "virtual_gpus needs virtual_node, its name"),
            (c.tres is not None and not self.gpu_tres, "columns.tres needs gpu_tres, the ids that mean GPU"),
            (
                c.state is not None and not self.states,
                "columns.state needs [states], a meaning for each value",
            ),
        ]

    @property
    def source_name(self) -> str:
        """CloudEvents `source`."""
        return self.source or f"files/{self.cluster}"

    def node_sets(self) -> tuple[NodeSet, ...]:
        """The nodes that are declared, the synthetic one among them if its size is."""
        if self.virtual_node is None or self.virtual_gpus is None:
            return self.nodes
        gpu_type = self.gpu_type or DEFAULT_GPU_TYPE
        return (*self.nodes, NodeSet(names=self.virtual_node, gpus=self.virtual_gpus, gpu_type=gpu_type))


SHIPPED: Final = ("mit_supercloud", "philly", "openb", "openb_nodes")


def mapping(text: str, what: str = "the mapping") -> FilesMapping:
    """The mapping that TOML text declares; raises ConfigError with the key and what to write."""
    return validated(FilesMapping, tables(text, what), what)


def shipped(name: str) -> FilesMapping:
    """A mapping that comes with Tenure, by name; raises ConfigError naming those there are."""
    if name not in SHIPPED:
        raise ConfigError(f"there is no mapping {name!r}: take one of {', '.join(SHIPPED)}, or write a TOML file")
    text = files("streams.sources.files").joinpath("mappings", f"{name}.toml").read_text("utf-8")
    return mapping(text, f"the mapping {name}")
