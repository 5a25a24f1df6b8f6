"""Random small states for the properties of plans."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from enforcer.snapshot import Asker, Node, Snapshot, Unit
from ledger.ranking import Ratio
from ledger.tree import lineage
from ledger.units import HOUR_S

NOW_S = 1_000_000
LEAVES = ("a/x", "a/y", "b/z", "c")
ACCOUNTS = ("a", "a/x", "a/y", "b", "b/z", "c")
GPU_H = 1000 * HOUR_S
WINDOW_CLAIM = 8 * 168 * GPU_H


class Flat:
    """Longer windows are the one window as many times."""

    def __init__(self, ratios: dict[str, Ratio]) -> None:
        self.ratios = ratios

    def over(self, account: str, windows: Fraction) -> tuple[int, int]:
        ratio = self.ratios[account]
        return int(ratio.used_gpu_ms * windows), int(ratio.claim_gpu_ms * windows)

    def covering(self, account: str, claim_gpu_ms: int, most: int) -> Fraction | None:
        claim = self.ratios[account].claim_gpu_ms
        found = Fraction(claim_gpu_ms, claim) if claim else None
        return found if found is not None and found <= most else None


@st.composite
def snapshots(draw: DrawFn, *, nodes: int = 4, units: int = 9, askers: int = 2, size: int = 4) -> Snapshot:
    """A pool of a few nodes, full or nearly so, with runs of every class, gangs, and askers of every shape."""
    free = {f"n{n}": size for n in range(draw(st.integers(1, nodes)))}
    made: list[Unit] = []
    for number in range(draw(st.integers(units // 2, units))):
        width = draw(st.sampled_from([1, 1, 1, 2]))
        gpus = draw(st.integers(1, size))
        places = [name for name, left in free.items() if left >= gpus][:width]
        if len(places) < width:
            continue
        for name in places:
            free[name] -= gpus
        account = draw(st.sampled_from(("", "a/x", "b/z", "b/z", "c", "c")))
        started_s = NOW_S - draw(st.integers(1, 20)) * HOUR_S
        lost_s = draw(st.integers(0, min(2 * HOUR_S, NOW_S - started_s)))
        made.append(
            Unit(
                f"u{number}",
                ((f"u{number}", "1"),),
                account,
                tuple((name, gpus * 1000) for name in places),
                started_s,
                started_s + draw(st.sampled_from([HOUR_S, HOUR_S, 8 * HOUR_S, 30 * HOUR_S])),
                width * gpus * 1000 * lost_s,
                draw(st.integers(0, 1)),
                draw(st.sampled_from([0, 0, 0, 3])),
            )
        )
    ratios = {a: _ratio(draw) for a in ACCOUNTS}
    return Snapshot(
        "c",
        "h100",
        7,
        NOW_S,
        tuple(
            Node(name, size * 1000, left * 1000, usable=draw(st.sampled_from([True] * 7 + [False])))
            for name, left in free.items()
        ),
        tuple(made),
        tuple(_asker(draw, n, size) for n in range(draw(st.integers(1, askers)))),
        ratios,
        {
            "a": Fraction(1, 2),
            "a/x": Fraction(1, 4),
            "a/y": Fraction(1, 4),
            "b": Fraction(3, 10),
            "b/z": Fraction(3, 10),
            "c": Fraction(1, 5),
        },
        _running(made),
        Flat(ratios),
        draw(st.sampled_from([{}, {}, {"a": 6000}])),
    )


def _ratio(draw: DrawFn) -> Ratio:
    claim = draw(st.sampled_from([WINDOW_CLAIM] * 4 + [WINDOW_CLAIM // 4, 0]))
    return Ratio(draw(st.sampled_from([0, 0, 2, 3, 4, 5, 8])) * WINDOW_CLAIM // 4, 0, claim)


def _asker(draw: DrawFn, number: int, size: int) -> Asker:
    return Asker(
        f"j{number}",
        draw(st.sampled_from(("a/x", "a/y", "a/y", "b/z"))),
        draw(st.integers(1, 2)),
        draw(st.integers(1, size)) * 1000,
        draw(st.sampled_from([600, HOUR_S, 8 * HOUR_S])),
        NOW_S - draw(st.sampled_from([5, 30, 600])),
        apart=draw(st.booleans()),
        priority=draw(st.integers(0, 2)),
        debug=draw(st.booleans()),
    )


def _running(units: list[Unit]) -> dict[str, int]:
    found: dict[str, int] = {}
    for unit in units:
        for account in lineage(unit.account) if unit.account else ():
            found[account] = found.get(account, 0) + unit.gpus_milli
    return found
