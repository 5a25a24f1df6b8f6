"""A writer of a book that is killed again and again: `python -m tests.chaos.lives FOLDER SEED JOBS STEPS KILLS`.

The program imports everything but chDB, which runs threads once it is loaded, and forks a process for each life. A
life opens the book, goes on behind the last record of its log, and dies: STEPS lives after a write of their own
choice, first of all after each kind of write; KILLS lives by a signal from outside, at any moment. One life more
carries the rest through. Beside it, an undisturbed life writes the same log into another book. What both books hold,
and what `verify` says of them, is written down beside them.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from ledger.store.clickhouse import open_chdb
from streams.runtime import embedded
from streams.runtime.embedded import LOG, Embedded
from streams.verify import verify
from tests.contract.runtime.books import contents, samples
from tests.contract.runtime.feeds import clock, seeded
from tests.contract.runtime.frail import Fault, Frail

LATEST_KILL_S = 1.0
"""A life that is killed from outside is killed within so many seconds of its opening the book."""
LIVES_PER_DEATH = 3
"""Not every life that is to die does: it may have carried its part through before."""


def die(tell_to: int, after: str) -> None:
    """The end of a process, as hard as it comes; the parent is told after which write."""
    os.write(tell_to, after.encode())
    os.kill(os.getpid(), signal.SIGKILL)


@dataclass(slots=True)
class Life:
    """At most `records` records in batches of `batch`, with a checkpoint after each batch or none before the end."""

    batch: int = 200
    records: int = 1_000_000
    checkpoint_s: int = 0
    after: frozenset[str] = field(default_factory=frozenset)
    step: int = -1

    def live(self, folder: str, lines: list[bytes], tell_to: int) -> None:
        """Open the book, go on behind its log's last record, close it, and tell the kinds of writes it took."""
        embedded.BATCH, embedded.CHECKPOINT_S = self.batch, self.checkpoint_s
        store = open_chdb(folder)
        store.migrate()
        fault = Fault(partial(die, tell_to), self.after, self.step)
        frail: Any = Frail(store, fault)
        runtime = Embedded(frail, clock)
        done = store.last_offset(*LOG) + 1
        runtime.ingest(lines[done : done + self.records])
        runtime.close()
        os.write(tell_to, json.dumps(sorted(set(fault.done))).encode())


def begin(folder: str, _: int) -> None:
    """A book of samples and nothing else: a life must find out by itself which hours are to be summed."""
    store = open_chdb(folder)
    store.migrate()
    store.write_samples(samples())
    store.close()


def tell(folder: str, _: int) -> None:
    """Write down what the book holds, and what `verify` finds wrong."""
    store = open_chdb(folder)
    found = {"contents": contents(store), "errors": [finding.sentence for finding in verify(store).errors]}
    Path(f"{folder}.json").write_text(json.dumps(found))
    store.close()


def forked(act: Callable[[int], None], *, killed_after_s: float | None = None) -> tuple[bool, str]:
    """Do it in a process of its own; returns whether it was killed, and what it told."""
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        _act_and_exit(act, writes)
    os.close(writes)
    if killed_after_s is not None:
        time.sleep(killed_after_s)
        os.kill(child, signal.SIGKILL)
    with os.fdopen(reads) as pipe:
        told = pipe.read()
    _, status = os.waitpid(child, 0)
    killed = os.WIFSIGNALED(status)
    assert killed or status == 0, "a life ended with an error"
    return killed, told


def _act_and_exit(act: Callable[[int], None], tell_to: int) -> NoReturn:
    status = 1
    try:
        act(tell_to)
        status = 0
    except BaseException as error:  # noqa: BLE001 -- a forked process must not go on in its parent's code
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
    finally:
        os._exit(status)


def main(folder: str, seed: int, jobs: int, steps: int, kills: int) -> None:
    """Tell both stories."""
    began = time.monotonic()
    dice = random.Random(seed)
    lines = seeded(seed, hours=12, nodes=4, jobs=jobs)
    quiet, torn = f"{folder}/quiet", f"{folder}/torn"
    for book in (quiet, torn):
        forked(partial(begin, book))
    _, kinds = forked(partial(Life().live, quiet, lines))
    pending = set(json.loads(kinds))
    died: list[str] = []
    wanted = dice.sample(["step"] * steps + ["kill"] * kills, steps + kills)
    for _ in range(LIVES_PER_DEATH * len(wanted)):
        if len(died) == len(wanted):
            break
        life = Life(dice.choice((1, 5, 20, 60)), len(lines) // len(wanted), dice.choice((0, 5)))
        kill_s = None
        if wanted[len(died)] == "kill":
            kill_s = dice.uniform(0.1, LATEST_KILL_S)
        elif pending:
            life.after = frozenset(pending)
        else:
            life.step = dice.randint(1, 12)
        killed, after = forked(partial(life.live, torn, lines), killed_after_s=kill_s)
        if killed:
            pending.discard(after)
            died.append(after or "kill")
    forked(partial(Life(500).live, torn, lines))
    for book in (quiet, torn):
        forked(partial(tell, book))
    spent_s = time.monotonic() - began
    print(json.dumps({"records": len(lines), "died": died, "pending": sorted(pending), "spent_s": round(spent_s, 1)}))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
