"""Every figure, each group in a process of its own, so that memory is its own: `python -m bench [--quick] [GROUP]`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from bench import fold, ingest, looks, orders, plans, samples
from bench.report import Figure, Line, Missing
from deploy.kafka import node
from deploy.processes import Trouble

Measure = Callable[[], Figure | Iterable[Line]]


def kafka(*, quick: bool) -> Iterator[Line]:
    """Imported when it is run: the memory of the other groups is theirs alone."""
    from bench.kafka import contest, latency, scaling  # noqa: PLC0415

    try:
        node.fetch()
    except Trouble as trouble:
        yield Missing("Kafka to committed rows", str(trouble))
        return
    yield from contest.throughput(20_000, 5_000, 1) if quick else contest.throughput()
    yield from contest.ticking(20_000, 1) if quick else contest.ticking()
    yield from latency.rows(12) if quick else latency.rows()
    yield from scaling.two_workers(20_000, 1) if quick else scaling.two_workers()


GROUPS: dict[str, Sequence[Measure]] = {
    "fold": (fold.no_closed_hour, fold.with_rows, fold.corrections, fold.closing, fold.bytes_to_facts),
    "memory": (fold.memory,),
    "ingest": (ingest.committed,),
    "samples": (samples.a_day,),
    "plans": (plans.a_look, plans.quality, looks.a_book),
    "orders": (orders.latency,),
    "kafka": (partial(kafka, quick=False),),
}
QUICK: dict[str, Sequence[Measure]] = {
    "orders": (partial(orders.latency, 5),),
    "kafka": (partial(kafka, quick=True),),
}
"""With small numbers: to see that it works, not how fast."""


def run(group: str, *, quick: bool) -> None:
    """Measure one group here and print its figures."""
    for measure in (GROUPS | QUICK if quick else GROUPS)[group]:
        found = measure()
        for figure in [found] if isinstance(found, Figure) else found:
            print(figure.line(), flush=True)


def main(arguments: Sequence[str]) -> int:
    """Run the groups named, or all, one after the other."""
    quick = arguments[:1] == ["--quick"]
    names = arguments[quick:]
    if len(names) == 1 and names[0] in GROUPS:
        run(names[0], quick=quick)
        return 0
    unknown = [name for name in names if name not in GROUPS]
    if unknown:
        print(f"no group is called {unknown[0]}; there are {', '.join(GROUPS)}")
        return 2
    for group in names or GROUPS:
        subprocess.run([sys.executable, "-m", "bench", *arguments[:quick], group], check=True)
    return 0


sys.exit(main(sys.argv[1:]))
