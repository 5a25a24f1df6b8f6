"""What a command's exit code means, and the one exception that ends a command on purpose."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from ledger.facts import OtherFormat
from ledger.store.errors import StoreBusy, StoreError, StoreFull
from streams.kafka import StreamError
from streams.sources.config import ConfigError, sentence
from streams.sources.detect import UnknownFormat
from streams.sources.slurm.live.cursor import CursorWrong
from streams.sources.slurm.live.kept import CursorBusy

DONE: Final = 0
FINDINGS: Final = 1
"""Done, and something needs a look: verify found errors, rows or decisions were refused, generations differ."""
USAGE: Final = 2
"""The command line, the configuration or an input file cannot be used."""
NOTHING: Final = 3
"""There is no such thing, or the book is empty."""
BUSY: Final = 4
"""Another process has the data folder open."""
FULL: Final = 5
"""The disk is full."""
STORE: Final = 6
"""The store or Kafka does not answer or cannot do what was asked."""
INTERRUPTED: Final = 130
"""Stopped by Ctrl-C."""


class Stop(Exception):
    """Ends a command with a sentence for a person and an exit code."""

    def __init__(self, sentence: str, code: int = USAGE) -> None:
        super().__init__(sentence)
        self.code = code


def code_of(error: Exception) -> int | None:
    """The exit code of an error a person can do something about; None for a fault of the program."""
    match error:
        case Stop():
            return error.code
        case ConfigError() | UnknownFormat() | ValidationError() | CursorWrong():
            return USAGE
        case StoreBusy() | CursorBusy():
            return BUSY
        case StoreFull():
            return FULL
        case OSError() if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
            return FULL
        case StoreError() | StreamError() | OtherFormat() | OSError():
            return STORE
        case _:
            return None


def sentence_of(error: Exception) -> str:
    """What a person is told of it."""
    match error:
        case ValidationError():
            return sentence(error, "this cannot be written")
        case OSError(filename=str() | Path() as name) if error.strerror is not None:
            return f"{name}: {error.strerror}. What was taken before is kept; put that right and run it again"
        case _:
            return str(error)
