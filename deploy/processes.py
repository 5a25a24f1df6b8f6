"""What is started here shares: troubles in a sentence, free ports, one process at a time, waiting."""

import fcntl
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

HOST = "127.0.0.1"
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
START_S = 60.0
GRACE_S = 10.0
# Below the range that Linux takes for outgoing connections (32768 to 60999): a client that retries while its server is
# down would one day be given the server's own port, connect to itself, and keep the server from coming back.
PORTS = range(20_000, 32_000)


class Trouble(Exception):
    """A sentence about what is missing or wrong, and what to do."""


class Missing(Trouble):
    """Something that has to be installed first."""


def free_ports(*names: str) -> dict[str, int]:
    """A free port for each name; processes that ask at the same moment begin to look at different places."""
    first = os.getpid() * 61 % len(PORTS)
    free = (port for place in range(len(PORTS)) if is_free(port := PORTS[(first + place) % len(PORTS)]))
    found = dict(zip(names, free, strict=False))
    if len(found) < len(names):
        raise Trouble(f"Too few ports of {HOST} from {PORTS.start} to {PORTS.stop} are free.")
    return found


def is_free(port: int) -> bool:
    """Whether nobody listens there now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """One process at a time; the lock ends with its holder, however that ends."""
    with file.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def until(true: Callable[[], bool], limit_s: float) -> bool:
    """Whether it came true in time."""
    deadline = time.monotonic() + limit_s
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
