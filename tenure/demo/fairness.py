"""A simple fair-share ratio: decayed use and running contracts over decayed claim, programs before teams.

Floats are good enough here: this is how the demo's own scheduler chooses, not how the book counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import exp, log
from typing import Final

from ledger.units import DAY_S, HOUR_S
from tenure.demo.cluster import GPUS
from tenure.demo.running import Run
from tenure.demo.tree import LEAVES, Claims

HALF_LIFE_S: Final = 3.5 * DAY_S
DECAY: Final = log(2) / HALF_LIFE_S
LEAST_WINDOW_S: Final = 8 * HOUR_S
"""Claims of the first hours count at least this long, so that one contract does not decide everything."""
REFRESH_S: Final = 120
PROGRAM: Final = {leaf.path: leaf.program for leaf in LEAVES}
LEAVES_OF: Final = {program: [leaf for leaf, of in PROGRAM.items() if of == program] for program in PROGRAM.values()}


class Fairness:
    """Ratios of the leaves and programs of one pool."""

    __slots__ = ("_at_s", "_claim_gpu_s", "_since_s", "_used", "claims", "leaf", "pool", "program")

    def __init__(self, pool: str, opens_s: int, claims: Claims) -> None:
        self.pool = pool
        self.claims = claims
        self._at_s = self._since_s = opens_s
        self._used = dict.fromkeys(PROGRAM, 0.0)
        self._renew(dict.fromkeys(PROGRAM, 0))

    def advance(self, at_s: int, running: Iterable[Run]) -> None:
        """Charge the funded runs for the time since the last call and renew the ratios, if it is long ago."""
        passed_s = at_s - self._at_s
        if passed_s < REFRESH_S:
            return
        fade = exp(-DECAY * passed_s)
        rate = dict.fromkeys(PROGRAM, 0)
        bound = dict.fromkeys(PROGRAM, 0)
        for run in running:
            if run.funded:
                rate[run.account] += run.gpus
                left_s = run.contract_ends_s + run.stopped_s - at_s
                if left_s > 0:
                    bound[run.account] += run.gpus * left_s
        for account, used in self._used.items():
            self._used[account] = used * fade + rate[account] * passed_s
        self._at_s = at_s
        self._renew(bound)

    def order(self, account: str) -> tuple[float, float, str]:
        """Sort key: the smaller, the sooner."""
        return (self.program[PROGRAM[account]], self.leaf[account], account)

    def with_contract(self, account: str, gpu_s: int) -> float:
        """The leaf's ratio if it started `gpu_s` GPU-seconds of contract now."""
        return self.leaf[account] + gpu_s / self._claim_gpu_s[account]

    def commit(self, account: str, gpu_s: int) -> None:
        """Count a contract that just started, until the next call of `advance`."""
        self.leaf[account] = self.with_contract(account, gpu_s)
        program = PROGRAM[account]
        whole = sum(self._claim_gpu_s[leaf] for leaf, of in PROGRAM.items() if of == program)
        self.program[program] += gpu_s / whole

    def _renew(self, bound: dict[str, int]) -> None:
        window_s = max(LEAST_WINDOW_S, (1 - exp(-DECAY * (self._at_s - self._since_s))) / DECAY)
        self._claim_gpu_s = {
            account: self.claims[account, self.pool] * GPUS[self.pool] * window_s for account in PROGRAM
        }
        taken = {account: self._used[account] + bound[account] for account in PROGRAM}
        self.leaf = {account: taken[account] / self._claim_gpu_s[account] for account in PROGRAM}
        self.program = {
            program: sum(taken[leaf] for leaf in leaves) / sum(self._claim_gpu_s[leaf] for leaf in leaves)
            for program, leaves in LEAVES_OF.items()
        }
