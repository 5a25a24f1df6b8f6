"""The configuration file `tenure.toml`: where the book is kept and how the sources are read."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from ledger.events.envelope import Name
from streams.sources.config import Config, ConfigError, Duration, SourceConfig, tables, validated
from streams.sources.files.mapping import FilesMapping
from tenure.actuators import ActuatorConfig


def _address(text: str) -> str:
    """A server's address, or a ValueError that says what one looks like."""
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("write an address like https://tenure@ch.example.org:8443/tenure")
    if parts.password is not None:
        raise ValueError("leave the password out of the file and set TENURE_CLICKHOUSE_PASSWORD")
    return text


ServerAddress = Annotated[str, AfterValidator(_address)]
"""`http[s]://[user@]host[:port][/database]`."""


def _replicas(text: str) -> str:
    """A cluster's name, or a ValueError that says where it stands."""
    if not re.fullmatch(r"[\w.-]+", text):
        raise ValueError("write the name that `remote_servers` of the ClickHouse servers has for the cluster")
    return text


ReplicatedCluster = Annotated[str, AfterValidator(_replicas)]
"""A cluster of ClickHouse servers, of one shard."""


def _brokers(text: str) -> str:
    """Addresses of Kafka's brokers, or a ValueError that says what they look like."""
    brokers = [part.strip() for part in text.split(",")]
    if not all(re.fullmatch(r"(\[[\da-fA-F:.]+\]|[\w.-]+):\d{1,5}", broker) for broker in brokers):
        raise ValueError("write the brokers as host:port, with commas between, like kafka1:9092,kafka2:9092")
    return ",".join(brokers)


BrokerAddresses = Annotated[str, AfterValidator(_brokers)]
"""`host:port[,host:port...]`; one that answers is enough to find the others."""


class KafkaConfig(Config):
    """`[kafka]`: where it is, and how a worker runs.

    `replication` is how many copies topics must have: without it three, or as many as there are brokers. A worker
    writes ticks every `tick_s` seconds (0: none), checkpoints every `save_every_s`, is unwell when nothing happens for
    `stall_s`, and gives up when the store does not answer for `patience_s`. `await_s` is how long a command waits until
    its decision is folded. `health_port` 0: no page that tells how it is.
    """

    address: BrokerAddresses | None = None
    replication: Annotated[int, Field(ge=1, le=100)] | None = None
    group: Annotated[str, Field(pattern=r"^[\w.-]{1,200}$")] = "tenure"
    tick_s: Annotated[int, Field(ge=0, le=3600)] = 30
    save_every_s: Annotated[float, Field(gt=0, le=3600)] = 10.0
    stall_s: Annotated[float, Field(gt=0)] = 120.0
    patience_s: Annotated[float, Field(ge=0)] = 600.0
    await_s: Annotated[float, Field(ge=0)] = 30.0
    health_host: Name = "127.0.0.1"
    health_port: Annotated[int, Field(ge=0, le=65_535)] = 0


def _slurmrestd(text: str) -> str:
    """Where slurmrestd listens, or a ValueError that says what that looks like."""
    parts = urlsplit(text)
    is_socket = text.startswith("unix:/")
    if not is_socket and not (parts.scheme in {"http", "https"} and parts.hostname):
        raise ValueError("write http://host:6820, or unix:/run/slurmrestd/slurmrestd.socket")
    return text


class CollectConfig(Config):
    """`[collect.NAME]`: how the live cluster of `[slurm.NAME]` is asked, and how often.

    By Slurm's commands, which are in `folder` (else where PATH finds them) and read `slurm_conf` (else their own
    default); or by `slurmrestd`, if it is named, as `user` with the token in `token_file` (else $SLURM_JWT), in version
    `api` (else the newest that it knows). What gives no answer in `timeout` is asked again at the next poll.
    """

    every: Annotated[Duration, Field(ge=1)] = 10
    timeout: Annotated[Duration, Field(ge=1)] = 30
    folder: str = ""
    slurm_conf: str = ""
    slurmrestd: Annotated[str, AfterValidator(_slurmrestd)] | None = None
    user: str = ""
    token_file: Path | None = None
    api: Annotated[str, Field(pattern=r"^(v\d+\.\d+\.\d+)?$")] = ""


class Settings(Config):
    """The whole file; every key may be left out.

    `actuators` holds a table per cluster: how it is told what the enforcer decided. `slurm` and `files` hold a table
    per source, by name; a Slurm source's cluster is its name unless it says otherwise. `collect` holds one per Slurm
    source that is polled.
    """

    data: Path | None = None
    clickhouse: ServerAddress | None = None
    clickhouse_cluster: ReplicatedCluster | None = None
    cluster: Name | None = None
    author: Name | None = None
    kafka: KafkaConfig = Field(default_factory=KafkaConfig)
    actuators: dict[Name, ActuatorConfig] = Field(default_factory=dict)
    slurm: dict[str, SourceConfig] = Field(default_factory=dict)
    files: dict[str, FilesMapping] = Field(default_factory=dict)
    collect: dict[str, CollectConfig] = Field(default_factory=dict)


def server_address(text: str) -> str:
    """The address in TENURE_CLICKHOUSE; raises ConfigError."""
    return _checked(_address, "TENURE_CLICKHOUSE", text)


def replicated_cluster(text: str) -> str:
    """The name in TENURE_CLICKHOUSE_CLUSTER; raises ConfigError."""
    return _checked(_replicas, "TENURE_CLICKHOUSE_CLUSTER", text)


def broker_addresses(text: str) -> str:
    """The addresses in TENURE_KAFKA; raises ConfigError."""
    return _checked(_brokers, "TENURE_KAFKA", text)


def _checked(check: Callable[[str], str], variable: str, text: str) -> str:
    try:
        return check(text)
    except ValueError as wrong:
        raise ConfigError(f"{variable}: {wrong} (it is {text!r})") from wrong


def settings(text: str, what: str) -> Settings:
    """The settings in TOML text; raises ConfigError naming the key and what to write."""
    found = tables(text, what)
    slurm = found.get("slurm")
    if isinstance(slurm, dict):
        for name, table in slurm.items():
            if isinstance(table, dict):
                table.setdefault("cluster", name)
    return validated(Settings, found, what)


def read_settings(path: Path) -> Settings:
    """The settings in a file; raises ConfigError also where it cannot be read."""
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError as wrong:
        raise ConfigError(f"{path} is not UTF-8 at byte {wrong.start}: write it as UTF-8") from wrong
    except OSError as wrong:
        raise ConfigError(f"{path} cannot be read ({wrong.strerror}): name a file that is there") from wrong
    return settings(text, str(path))
