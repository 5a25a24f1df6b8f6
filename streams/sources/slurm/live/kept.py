"""The cursor on disk, of which one collector at a time has the pen."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path

from streams.sources.slurm.live.cursor import CursorWrong, Kept, dumps, loads


class CursorBusy(Exception):
    """Another collector has it; the message says what to do."""


class CursorFile:
    """The file; what is written to it is on disk once `save` returns, whole or not at all."""

    def __init__(self, path: Path) -> None:
        """Of an open one, see `cursor_file`."""
        self.path = path

    def load(self) -> Kept | None:
        """What was kept; None the first time. Raises CursorWrong, OSError."""
        try:
            return loads(self.path.read_bytes())
        except FileNotFoundError:
            return None
        except CursorWrong as wrong:
            raise CursorWrong(
                f"{self.path}: {wrong}. Move it away and say --since with the instant it was last written: facts that "
                "come again keep their ids, and count once"
            ) from wrong

    def save(self, kept: Kept) -> None:
        """Keep it. Raises OSError."""
        fresh = self.path.with_suffix(".new")
        with fresh.open("wb") as file:
            file.write(dumps(kept))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self.path)
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextmanager
def cursor_file(path: Path) -> Iterator[CursorFile]:
    """The file, for this process alone. Raises CursorBusy, OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_suffix(".lock").open("w") as lock:
        try:
            flock(lock, LOCK_EX | LOCK_NB)
        except BlockingIOError as held:
            raise CursorBusy(f"another collector works with {path}: one is enough, stop it first") from held
        yield CursorFile(path)
