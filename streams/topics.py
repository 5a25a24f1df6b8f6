"""The topics, in one table: what they carry, their key, and how they must be configured. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from ledger.events import GpuSampled
from ledger.events.directory import AccountChanged, AccountClosed, AccountOpened, ShareRequested
from ledger.outcomes import Refused
from ledger.units import DAY_S
from streams.intake import AnyEvent, cluster_of

KEPT_FOR_EVER: Final = -1
LARGEST_RECORD_BYTES: Final = 4 << 20
"""A batch is closed well below; one event may be long."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as it must be. `key` says what its records are ordered by; `kept_s` is -1 for ever.

    The number of partitions is for good: another number would move keys to other partitions, and split a cluster's
    order.
    """

    name: str
    carries: str
    key: str
    partitions: int
    kept_s: int
    stamped: bool = True
    """The broker says when a record was recorded: a producer's clock may be wrong, and then the log would be."""

    def config(self, replication: int) -> dict[str, str]:
        """The broker's settings for it, by their names there."""
        return {
            "cleanup.policy": "delete",
            "retention.ms": str(self.kept_s * 1000 if self.kept_s >= 0 else -1),
            "retention.bytes": str(KEPT_FOR_EVER),  # time alone says when a record may go
            "max.message.bytes": str(LARGEST_RECORD_BYTES),
            "min.insync.replicas": str(max(1, replication - 1)),
            "unclean.leader.election.enable": "false",
            "message.timestamp.type": "LogAppendTime" if self.stamped else "CreateTime",
        }


EVENTS: Final = Topic("tenure.events", "events of clusters", "cluster", 12, 30 * DAY_S)
SAMPLES: Final = Topic("tenure.samples", "samples of GPUs", "cluster/node", 12, 3 * DAY_S)
DIRECTORY: Final = Topic("tenure.directory", "accounts' titles, leads and requests", "account", 1, 30 * DAY_S)
DEAD_LETTERS: Final = Topic("tenure.dead-letter", "what was refused, and why", "cluster", 3, 90 * DAY_S, stamped=False)

TOPICS: Final = (EVENTS, SAMPLES, DIRECTORY, DEAD_LETTERS)
LOGS: Final = (EVENTS, DIRECTORY)
"""What is folded. Retention may be finite, since all of it is in the store too."""


def route(event: AnyEvent | Refused) -> tuple[Topic, str]:
    """The topic and key of an event; what cannot be read goes among the events, where it becomes a dead letter."""
    match event:
        case Refused():
            return EVENTS, ""
        case GpuSampled():
            return SAMPLES, f"{event.data.cluster}/{event.data.node}"
        case AccountOpened() | AccountChanged() | AccountClosed() | ShareRequested():
            return DIRECTORY, event.data.account
        case _:
            return EVENTS, cluster_of(event)


@dataclass(frozen=True, slots=True)
class Found:
    """A topic as the broker has it."""

    partitions: int
    replication: int
    settings: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Wrong:
    """What is not as it must be, and the command that mends it. `loses`: records are lost or spoiled meanwhile."""

    topic: str
    what: str
    command: str
    loses: bool


LOSING: Final = {
    "cleanup.policy",
    "retention.ms",
    "retention.bytes",
    "unclean.leader.election.enable",
    "message.timestamp.type",
}
"""Settings that lose records, or record them under a wrong time, while everything else is well. Others only lose when
brokers do, or refuse what is too large and say so."""
MOST_COPIES: Final = 3


def copies(asked: int | None, brokers: int) -> int:
    """How many copies topics are to have: as asked, else three, or as many as there are brokers."""
    return asked if asked is not None else max(1, min(brokers, MOST_COPIES))


def missing(found: Mapping[str, Found], partitions: int | None = None) -> list[Topic]:
    """The topics to be made; those that spread over workers with so many `partitions`."""
    spread = {} if partitions is None else {topic.name: partitions for topic in (EVENTS, SAMPLES)}
    return [
        replace(topic, partitions=spread.get(topic.name, topic.partitions))
        for topic in TOPICS
        if topic.name not in found
    ]


def check(found: Mapping[str, Found], replication: int, address: str) -> Iterator[Wrong]:
    """Everything that is missing or otherwise configured, in the order of the table."""
    for topic in TOPICS:
        there = found.get(topic.name)
        if there is None:
            yield Wrong(topic.name, "there is no such topic", "tenure topics create", loses=True)
        else:
            yield from _differences(topic, there, replication, address)


def _differences(topic: Topic, there: Found, replication: int, address: str) -> Iterator[Wrong]:
    if there.replication < replication:
        what = f"has {there.replication} copies instead of {replication}"
        script = f"kafka-reassign-partitions.sh --bootstrap-server {address} --execute --reassignment-json-file FILE"
        yield Wrong(topic.name, what, script, loses=False)
    wanted = topic.config(replication)
    wrong = {name: value for name, value in wanted.items() if not _enough(name, there.settings.get(name), value)}
    if wrong:
        what = ", ".join(f"{name} is {there.settings.get(name, 'unset')} instead of {wrong[name]}" for name in wrong)
        settings = ",".join(f"{name}={value}" for name, value in wrong.items())
        yield Wrong(
            topic.name,
            what,
            f"kafka-configs.sh --bootstrap-server {address} --alter --entity-type topics "
            f"--entity-name {topic.name} --add-config {settings}",
            loses=not LOSING.isdisjoint(wrong),
        )


def _enough(name: str, found: str | None, wanted: str) -> bool:
    """Whether a setting is as wanted; to keep more, and to take larger records, is no fault."""
    if found is None or found == wanted:
        return found is not None
    match name:
        case "retention.ms":
            return int(found) < 0 or 0 <= int(wanted) <= int(found)
        case "max.message.bytes" | "min.insync.replicas":
            return int(found) >= int(wanted)
        case _:
            return False
