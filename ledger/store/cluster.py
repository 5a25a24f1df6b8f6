"""The tables on a replicated cluster: our own statements, rewritten.

The cluster has one shard: every replica holds the whole book. Tables are made everywhere (`ON CLUSTER`) and replicate
by themselves from then on. The macros `shard` and `replica` stand in each server's configuration.
https://clickhouse.com/docs/engines/table-engines/mergetree-family/replication
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ledger.store.errors import StoreError

PLACE: Final = "'/clickhouse/tables/{shard}/{database}/{table}', '{replica}'"
"""A table's place in Keeper. By name and not by uuid, as a replica that joins later finds the others by it."""

SETTINGS: Final = {
    "insert_quorum": "auto",  # an insert is durable when it returns: on most replicas, not on one that may be lost
    "insert_quorum_timeout": 60_000,
    "distributed_ddl_task_timeout": 60,
}
"""Of a client that writes. Inserts are not kept one at a time (`insert_quorum_parallel`): workers share the tables."""

_STATEMENT: Final = re.compile(
    r"(?P<head>(?:\s|--[^\n]*\n)*"
    r"(?P<verb>CREATE DATABASE|CREATE TABLE|CREATE OR REPLACE VIEW|ALTER TABLE|DROP TABLE|DROP VIEW)"
    r"(?: IF NOT EXISTS| IF EXISTS)? [\w.`]+)(?P<rest>.*)",
    re.DOTALL,
)
_REPLICATING: Final = re.compile(r"(?:\s|--[^\n]*\n)*INSERT INTO ")
_ENGINE: Final = re.compile(r"^ENGINE = (?P<engine>\w*MergeTree)(?:\((?P<arguments>[^)]*)\))?", re.MULTILINE)
_SYNCED: Final = re.compile(r"\bfsync_after_insert = 1\b")


class NotForClusters(ValueError):
    """A statement of ours that nobody has yet said how to run on a cluster."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster by the name that its servers' configuration has for it."""

    name: str

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[\w.-]+", self.name):
            raise ValueError(f"{self.name!r} cannot be the name of a cluster")

    def statement(self, statement: str) -> str:
        """A statement of a migration or a view as it runs on the cluster; raises NotForClusters."""
        if _REPLICATING.match(statement):
            return statement
        found = _STATEMENT.fullmatch(statement)
        if found is None:
            raise NotForClusters(f"say in {__name__} how this runs on a cluster: {statement.strip()[:60]}")
        made = f"{found['head']} ON CLUSTER '{self.name}'{found['rest']}"
        match found["verb"]:
            case "CREATE TABLE":
                return _replicated(made)
            case "DROP TABLE":
                return f"{made} SYNC"
            case _:
                return made


def check_shards(cluster: Cluster, shards: Mapping[str, str], where: str) -> None:
    """Raise StoreError unless the cluster is known and has one shard; `shards` are numbers of shards by name."""
    match shards.get(cluster.name):
        case None:
            known = ", ".join(sorted(shards)) or "none"
            raise StoreError(f"{where} knows no cluster {cluster.name!r}: name one that it has, of {known}")
        case "1":
            pass
        case number:
            raise StoreError(f"the cluster {cluster.name} has {number} shards, and a book wants one, of replicas")


def catching_up(table: str) -> str:
    """Wait until the replica that is asked has what any replica has taken.

    Before reads that must see the latest write. `select_sequential_consistency` would do it too, but only if inserts
    into a table came one at a time.
    """
    return f"SYSTEM SYNC REPLICA {table} LIGHTWEIGHT"


def _replicated(statement: str) -> str:
    """The table with a replicated engine. One that is made like another is a passing helper, and stays empty."""
    made, engines = _ENGINE.subn(_engine, statement)
    if not engines:
        return f"{made}\nENGINE = Memory"
    return _SYNCED.sub(r"\g<0>, min_compressed_bytes_to_fsync_after_fetch = 1", made)


def _engine(found: re.Match[str]) -> str:
    arguments = f", {found['arguments']}" if found["arguments"] else ""
    return f"ENGINE = Replicated{found['engine']}({PLACE}{arguments})"
