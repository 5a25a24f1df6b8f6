"""Where Tenure touches the machine: the only reader of clock, environment, chance and sockets."""

from __future__ import annotations

import getpass
import logging
import os
import shutil
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit
from uuid import uuid4

from ledger.store.clickhouse import ClickHouse, open_chdb, open_server
from ledger.store.errors import StoreBusy, StoreError
from streams.kafka import StreamError
from streams.runtime.collector import calm
from streams.runtime.embedded import Embedded
from streams.runtime.patience import Patience
from streams.sources.config import ConfigError
from streams.sources.slurm.live.commands import Commands
from streams.sources.slurm.live.port import Slurm
from streams.sources.slurm.live.rest import Rest
from tenure.config import CollectConfig, Settings, broker_addresses, read_settings, replicated_cluster, server_address

if TYPE_CHECKING:
    # Kafka's clients and Faust take longer to import than most commands take; who needs them pays for them.
    from streams.kafka.admin import Admin
    from streams.kafka.log import Log, Spans
    from streams.kafka.producer import Publisher
    from streams.runtime.worker import Machine

PROGRAM: Final = "tenure"
CONFIG: Final = "TENURE_CONFIG"
DATA: Final = "TENURE_DATA"
CLICKHOUSE: Final = "TENURE_CLICKHOUSE"
CLUSTER: Final = "TENURE_CLICKHOUSE_CLUSTER"
PASSWORD: Final = "TENURE_CLICKHOUSE_PASSWORD"  # noqa: S105 -- the variable's name
KAFKA: Final = "TENURE_KAFKA"
SLURM_CONF: Final = "SLURM_CONF"
SLURM_JWT: Final = "SLURM_JWT"
CONFIG_NAME: Final = "tenure.toml"
BOOK: Final = "book"
"""The part of a data folder that is chDB's."""
LOCK: Final = "writer.lock"


@dataclass(frozen=True, slots=True)
class Place:
    """Where the book is kept: a data folder, and the address of a ClickHouse server if it is kept there.

    `cluster` is the name of the servers' cluster, if the server is a replica of one.
    """

    folder: Path
    server: str | None = None
    cluster: str | None = None

    @property
    def book(self) -> Path:
        """The folder chDB has for itself."""
        return self.folder / BOOK

    def __str__(self) -> str:
        return self.server or str(self.folder)


# ---------------------------------------------------------------- clock, chance, people


def clock() -> datetime:
    """Now, in UTC."""
    return datetime.now(UTC)


def now_s() -> float:
    """Seconds since 1970."""
    return time.time()


def monotonic_s() -> float:
    """Seconds since some instant, for measuring how long something took."""
    return time.monotonic()


def new_id() -> str:
    """A name nobody has used for an event."""
    return str(uuid4())


def login() -> str:
    """Who sits at the terminal; `unknown` where the system cannot tell."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


# ---------------------------------------------------------------- configuration


def load_settings(given: Path | None) -> Settings:
    """The settings of `--config`, else $TENURE_CONFIG, else ./tenure.toml, else ~/.config/tenure/tenure.toml."""
    named = given or _path(CONFIG)
    if named is not None:
        return read_settings(named)
    for candidate in (Path(CONFIG_NAME), _home("XDG_CONFIG_HOME", ".config") / "tenure" / CONFIG_NAME):
        if candidate.is_file():
            return read_settings(candidate)
    return Settings()


def place(given: Path | None, settings: Settings) -> Place:
    """Where the book is: `--data`, else $TENURE_DATA, else `data` in the settings, else ~/.local/share/tenure."""
    folder = given or _path(DATA) or settings.data or _home("XDG_DATA_HOME", ".local/share") / "tenure"
    address, cluster = os.environ.get(CLICKHOUSE), os.environ.get(CLUSTER)
    return Place(
        folder.expanduser(),
        server_address(address) if address else settings.clickhouse,
        replicated_cluster(cluster) if cluster else settings.clickhouse_cluster,
    )


def demo_place(given: Path | None, settings: Settings) -> Place:
    """Where a demo is: `--data`, else $TENURE_DATA, else a folder of its own, lest it become the user's book."""
    own = None if _path(DATA) else _home("XDG_DATA_HOME", ".local/share") / "tenure" / "demo"
    return place(given or own, settings)


def is_default(where: Place) -> bool:
    """Whether a command finds this place without being told: then examples need not name it."""
    try:
        return where == place(None, load_settings(None))
    except ConfigError:
        return False


def program() -> str:
    """What to type to call this program: its name where the shell finds it, else the path it was called by."""
    called = Path(sys.argv[0])
    if shutil.which(PROGRAM):
        return PROGRAM
    if called.name != PROGRAM:
        return f"{sys.executable} -m {PROGRAM}"
    return str(called.relative_to(Path.cwd()) if called.is_relative_to(Path.cwd()) else called)


def editor() -> str:
    """The command that edits text."""
    return os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"


def _path(name: str) -> Path | None:
    text = os.environ.get(name)
    return Path(text) if text else None


def _home(variable: str, below: str) -> Path:
    given = os.environ.get(variable)
    return Path(given) if given else Path.home() / below


# ---------------------------------------------------------------- Kafka


def brokers(settings: Settings) -> str | None:
    """Where Kafka is: $TENURE_KAFKA, else `address` in [kafka]; None where nothing says so. Raises ConfigError."""
    given = os.environ.get(KAFKA)
    return broker_addresses(given) if given else settings.kafka.address


@contextmanager
def open_admin(address: str) -> Iterator[Admin]:
    """The topics on a broker. Raises a StreamError."""
    from streams.kafka.admin import admin  # noqa: PLC0415 -- see above

    _hush()
    with admin(address) as asked:
        yield asked


@contextmanager
def open_publisher(address: str) -> Iterator[Publisher]:
    """What sends events to a broker. Raises a StreamError."""
    from streams.kafka.producer import publisher  # noqa: PLC0415 -- see above

    _hush()
    with publisher(address) as sender:
        yield sender


@contextmanager
def open_log(address: str, look: Spans) -> Iterator[Log]:
    """The log as a broker has it; `look` says what its partitions hold by now. Raises a StreamError."""
    from streams.kafka.log import log  # noqa: PLC0415 -- see above

    _hush()
    with log(address, look) as found:
        yield found


@contextmanager
def machine(patience_s: float) -> Iterator[Machine]:
    """This machine for a worker, which waits so long for a store that is away."""
    from streams.runtime.worker import Machine  # noqa: PLC0415 -- see above

    with tempfile.TemporaryDirectory(prefix="tenure-worker-") as folder:
        yield Machine(clock, monotonic_s, Path(folder), Patience(patience_s, time.sleep, monotonic_s))


def log_to_stderr() -> None:
    """Log as people read it, times in UTC: what Tenure says, and of the libraries below only errors."""
    line = logging.Formatter("%(asctime)s %(levelname)-8s %(message)s", "%Y-%m-%dT%H:%M:%SZ")
    line.converter = time.gmtime
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(line)
    handler.addFilter(_worth_telling)
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)


def _worth_telling(record: logging.LogRecord) -> bool:
    """Faust begins with `[^`, also where it speaks in the name of what derives from it. It tells of its life, and of
    a crash with all of its stack; what a worker fails of is told once, and ends it.
    """
    if record.name.startswith(("faust", "mode")) or record.getMessage().startswith("[^"):
        return False
    return record.name.startswith(("streams", "enforcer", "tenure")) or record.levelno >= logging.ERROR


def _hush() -> None:
    """The client logs each attempt to reach a broker; what comes of them is raised as a sentence."""
    logging.getLogger("kafka").setLevel(logging.CRITICAL)


def pause(seconds: float) -> None:
    """Wait."""
    time.sleep(seconds)


def fetch(url: str, within_s: float) -> tuple[int, bytes]:
    """The status and body of a page, whatever the status; raises a StreamError where nobody answers."""
    try:
        with urllib.request.urlopen(url, timeout=within_s) as page:  # noqa: S310 -- as it was asked for
            return page.status, page.read()
    except urllib.error.HTTPError as told:
        return told.code, told.read()
    except (OSError, ValueError) as wrong:
        why = getattr(wrong, "reason", None) or wrong
        raise StreamError(f"nobody answers at {url} ({why}): does the worker run, and is this its page?") from wrong


# ---------------------------------------------------------------- a live Slurm


def slurm_environment() -> dict[str, str]:
    """What Slurm's commands may know of where they run.

    In UTC, because sacct and scontrol write local time; without what users set to change what squeue and sacct show.
    """
    names = ("PATH", "HOME", "LD_LIBRARY_PATH", SLURM_CONF)
    return {name: os.environ[name] for name in names if name in os.environ} | {"TZ": "UTC", "LC_ALL": "C.UTF-8"}


def open_slurm(how: CollectConfig) -> Slurm:
    """The live cluster, as it is to be asked. Raises ConfigError where its token cannot be read."""
    if how.slurmrestd is not None:
        return Rest(how.slurmrestd, how.timeout, how.user, _token(how.token_file), how.api)
    environment = slurm_environment()
    if how.slurm_conf:
        environment[SLURM_CONF] = how.slurm_conf
    return Commands(environment, how.timeout, how.folder)


def _token(file: Path | None) -> str:
    if file is None:
        return os.environ.get(SLURM_JWT, "")
    try:
        return file.read_text("utf-8").strip().removeprefix(f"{SLURM_JWT}=")
    except (OSError, UnicodeDecodeError) as wrong:
        raise ConfigError(f"{file} cannot be read ({wrong}): keep slurmrestd's token there, or unset it") from wrong


# ---------------------------------------------------------------- the book


@contextmanager
def open_store(where: Place) -> Iterator[ClickHouse]:
    """The book's store with its tables up to date, closed afterwards. Raises a StoreError."""
    _make(where.folder)
    store = _server(where.server, where.cluster) if where.server else open_chdb(str(where.book))
    try:
        store.migrate()
        yield store
    finally:
        store.close()


@contextmanager
def open_runtime(store: ClickHouse, where: Place) -> Iterator[Embedded]:
    """The one writer of the book, which first folds what an interrupted one left. Raises a StoreError.

    chDB admits one process per folder; on a server, a lock in the data folder keeps writers of this host apart.
    """
    with (where.folder / LOCK).open("w") as lock:
        try:
            flock(lock, LOCK_EX | LOCK_NB)
        except BlockingIOError as held:
            raise StoreBusy(f"another process writes to the book at {where}: wait for it, or stop it") from held
        calm()
        runtime = Embedded(store, clock)
        yield runtime
        runtime.save()


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as wrong:
        raise StoreError(
            f"{folder} cannot be made ({wrong.strerror}): name a folder you may write to, with --data or {DATA}"
        ) from wrong


def _server(address: str, cluster: str | None) -> ClickHouse:
    parts = urlsplit(address)
    secure = parts.scheme == "https"
    return open_server(
        parts.hostname or "localhost",
        port=parts.port or (8443 if secure else 8123),
        user=parts.username or "default",
        password=os.environ.get(PASSWORD, ""),
        secure=secure,
        database=parts.path.strip("/") or "tenure",
        cluster=cluster,
    )
