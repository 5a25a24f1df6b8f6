"""What a contestant says at its end: how many events, from its first record to its last word, at what cost."""

from __future__ import annotations

import json
from time import perf_counter, process_time


class Watch:
    """Runs from the first record that arrives until `tell`."""

    def __init__(self) -> None:
        self.begun_s = 0.0
        self._cpu = 0.0
        self._told = False

    @property
    def runs(self) -> bool:
        return bool(self.begun_s)

    def begin(self) -> None:
        """To be called with every record: the first one counts."""
        if not self.begun_s:
            self.begun_s, self._cpu = perf_counter(), process_time()

    def tell(self, events: int, **more: float) -> None:
        """Print the line, the first time it is asked for; `cpu_s` is of all threads of this process."""
        if self._told:
            return
        self._told = True
        told = {"events": events, "wall_s": perf_counter() - self.begun_s, "cpu_s": process_time() - self._cpu}
        print(json.dumps(told | more), flush=True)
