"""`tenure collect slurm` on a real Slurm: its folder, its process, and the log of its book."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from tests.e2e.slurm.process import Tenure
from tests.support.chdb import run_python
from tests.support.slurm import Cluster

LOG: Final = """
import sys
from pathlib import Path
from streams.runtime.embedded import LOG
from tenure import wiring
with wiring.open_store(wiring.Place(Path(sys.argv[1]))) as store:
    for archived in store.read_events(*LOG, -1, 1_000_000):
        print(archived.raw.decode())
"""


class Collected(Tenure):
    """One collector; `more` goes into its table of the configuration."""

    def __init__(self, folder: Path, slurm: Cluster, more: str = "") -> None:
        super().__init__(folder, slurm, ("collect", "slurm"), more)

    def events(self) -> list[dict[str, Any]]:
        """The log of the book."""
        done = run_python(LOG, str(self.data))
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]
