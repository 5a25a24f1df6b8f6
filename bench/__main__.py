"""Every figure, each group in a process of its own, so that memory is its own: `python -m bench [GROUP]`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence

from bench import fold, ingest, samples
from bench.report import Figure

GROUPS: dict[str, Sequence[Callable[[], Figure | list[Figure]]]] = {
    "fold": (fold.no_closed_hour, fold.with_rows, fold.corrections, fold.closing, fold.bytes_to_facts),
    "memory": (fold.memory,),
    "ingest": (ingest.committed,),
    "samples": (samples.a_day,),
}


def run(group: str) -> None:
    """Measure one group here and print its figures."""
    for measure in GROUPS[group]:
        found = measure()
        for figure in found if isinstance(found, list) else [found]:
            print(figure.line(), flush=True)


def main(arguments: Sequence[str]) -> int:
    """Run the groups named, or all, one after the other."""
    if len(arguments) == 1 and arguments[0] in GROUPS:
        run(arguments[0])
        return 0
    unknown = [name for name in arguments if name not in GROUPS]
    if unknown:
        print(f"no group is called {unknown[0]}; there are {', '.join(GROUPS)}")
        return 2
    for group in arguments or GROUPS:
        subprocess.run([sys.executable, "-m", "bench", group], check=True)
    return 0


sys.exit(main(sys.argv[1:]))
