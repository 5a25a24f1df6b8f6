"""The configuration file `tenure.toml`: where the book is kept and how the sources are read."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from ledger.events.envelope import Name
from streams.sources.config import Config, ConfigError, SourceConfig, tables, validated
from streams.sources.files.mapping import FilesMapping


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


class Settings(Config):
    """The whole file; every key may be left out.

    `slurm` and `files` hold a table per source, by name. A Slurm source's cluster is its name unless it says
    otherwise.
    """

    data: Path | None = None
    clickhouse: ServerAddress | None = None
    clickhouse_cluster: ReplicatedCluster | None = None
    cluster: Name | None = None
    author: Name | None = None
    slurm: dict[str, SourceConfig] = Field(default_factory=dict)
    files: dict[str, FilesMapping] = Field(default_factory=dict)


def server_address(text: str) -> str:
    """The address in TENURE_CLICKHOUSE; raises ConfigError."""
    return _checked(_address, "TENURE_CLICKHOUSE", text)


def replicated_cluster(text: str) -> str:
    """The name in TENURE_CLICKHOUSE_CLUSTER; raises ConfigError."""
    return _checked(_replicas, "TENURE_CLICKHOUSE_CLUSTER", text)


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
