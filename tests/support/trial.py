"""A log in a real broker, workers in processes, a store on a server: what they come to, and what they should.

with trial(broker, server) as tried:
    tried.publish(LINES)
    with tried.worker() as first: ...
    tried.settle()                      # a last worker takes the rest; the book is the embedded one's
"""

from __future__ import annotations

import select
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count

from ledger.store.clickhouse import ClickHouse
from streams.kafka.producer import publisher
from streams.runtime.embedded import Embedded
from streams.verify import verify
from tests.contract.runtime.books import contents
from tests.contract.runtime.feeds import clock
from tests.support.chdb import ROOT, fresh_store
from tests.support.clickhouse import ClickHouseServer
from tests.support.kafka import Broker
from tests.support.worker import ends

ENOUGH_S = 90.0
AMOUNTS = ("claim_gpu_ms", "charged_gpu_ms", "refunded_gpu_ms", "demand_gpu_ms", "owed_gpu_ms", "commitment_gpu_ms")
STATEMENT = ", ".join(("cluster", "pool", "account", "hour", *AMOUNTS))
_numbers = count(1)


class Life:
    """A worker's process; `said` are the lines it printed."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self.said: list[str] = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.life", *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )

    def wait_for(self, word: str, within_s: float = ENOUGH_S) -> str:
        """The next line that begins with the word."""
        assert self.process.stdout is not None
        until_s = time.monotonic() + within_s
        while time.monotonic() < until_s:
            if select.select([self.process.stdout], [], [], 0.2)[0]:
                line = self.process.stdout.readline().strip()
                if not line and self.process.poll() is not None:
                    break
                self.said.append(line)
                if line.startswith(word):
                    return line
        raise AssertionError(f"it never said {word!r}: {self.said}, exit {self.process.poll()}")

    def died(self) -> bool:
        """Whether it is gone."""
        return self.process.poll() is not None

    def stop(self) -> int:
        """SIGTERM, and how it left."""
        self.process.terminate()
        return self.process.wait(ENOUGH_S)

    def kill(self) -> None:
        """SIGKILL."""
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


class Trial:
    """One log and its book. Everything that was published is expected to be in it."""

    def __init__(self, broker: Broker, server: ClickHouseServer, store: ClickHouse) -> None:
        self.broker, self.server, self.store = broker, server, store
        self.lines: list[bytes] = []

    def publish(self, lines: Sequence[bytes], *, batch: int = 20) -> None:
        """Send events."""
        with publisher(self.broker.address) as sender:
            sender.publish(lines, batch=batch)
        self.lines += lines

    @contextmanager
    def worker(self, names: Sequence[str] = (), step: int = -1) -> Iterator[Life]:
        """A worker in a process of its own, killed afterwards if it still lives."""
        place = (self.broker.address, str(self.server.port), self.store.database)
        life = Life([*place, ";".join(names), str(step)])
        try:
            yield life
        finally:
            life.kill()

    def behind(self) -> int:
        """Records that are in the broker and not behind a checkpoint."""
        kept = self.store.checkpoints(self.store.live_generation())
        done = {partition: of[""].position.offset + 1 for partition, of in kept.items() if "" in of}
        return sum(max(0, end - done.get(partition, 0)) for partition, end in ends(self.broker.address).items())

    def await_all(self, *lives: Life, within_s: float = ENOUGH_S) -> None:
        """Until every record is behind a checkpoint."""
        until_s = time.monotonic() + within_s
        while left := self.behind():
            assert time.monotonic() < until_s, f"{left} records are not taken; {[life.said for life in lives]}"
            assert not any(life.died() for life in lives), [life.said for life in lives]
            time.sleep(0.1)

    def await_end(self, life: Life, within_s: float = ENOUGH_S) -> None:
        """Until every record is behind a checkpoint, or the worker is dead."""
        until_s = time.monotonic() + within_s
        while not life.died() and self.behind():
            assert time.monotonic() < until_s, f"neither dead nor done: {life.said}"
            time.sleep(0.1)
        patience_s = time.monotonic() + 4
        while not life.died() and time.monotonic() < patience_s:  # it may still acknowledge, commit, and die of that
            time.sleep(0.1)

    def settled(self) -> dict[tuple[str, int], list[str]]:
        """What the public view says now of each cluster, and as of which of its events."""
        asked = "SELECT cluster, settled_seq FROM settled WHERE cluster != '' ORDER BY ALL"
        while True:
            before = self.store.query(asked).rows
            rows = self.store.query(f"SELECT {STATEMENT} FROM report_account_hours ORDER BY ALL").rows
            if self.store.query(asked).rows == before:
                return {(str(c), int(str(n))): [repr(r) for r in rows if r[0] == c] for c, n in before}

    def statement(self, cluster: str, seq: int) -> list[str]:
        """What the live generation's rows say of a cluster as of one of its events."""
        latest = [f"argMax({column}, seq)" for column in AMOUNTS]
        sql = f"""SELECT cluster, pool, account, hour, {", ".join(latest)} FROM account_hours FINAL
            WHERE generation = (SELECT generation FROM live) AND cluster = '{cluster}' AND seq <= {seq}
            GROUP BY cluster, pool, account, hour ORDER BY ALL"""
        return [repr(row) for row in self.store.query(sql).rows]

    def settle(self) -> None:
        """A worker takes what is left; the book is then row by row what the embedded runtime makes of the lines."""
        if self.behind():
            with self.worker() as last:
                self.await_all(last)
                assert last.stop() == 0
        self.judge()

    def judge(self) -> None:
        """Rows, hashes, dead letters and the log equal those of an undisturbed embedded run; `verify` is content."""
        with fresh_store() as undisturbed:
            Embedded(undisturbed, clock).ingest(self.lines)
            expected = contents(undisturbed, placed=False)
        found = contents(self.store, placed=False)
        for table, rows in expected.items():
            assert found[table] == rows, table
        assert [finding.sentence for finding in verify(self.store).errors] == []


@contextmanager
def trial(broker: Broker, server: ClickHouseServer) -> Iterator[Trial]:
    """A trial on a broker of its own, in a database of its own."""
    store = server.store(database=f"trial_{next(_numbers)}")
    store.migrate()
    try:
        yield Trial(broker, server, store)
    finally:
        store.close()
