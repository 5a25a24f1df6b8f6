"""Random small states for the properties of plans."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from enforcer.classes import Class, beats, below_common, exceeds, shared, with_contract
from enforcer.rules import Rules
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
            Node(name, size * 1000, left * 1000, usable=usable, closing=not usable and draw(st.booleans()))
            for name, left in free.items()
            for usable in (draw(st.sampled_from([True] * 7 + [False])),)
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


def class_seen(unit: Unit, asker: Asker, snapshot: Snapshot, hysteresis: Fraction) -> Class:
    """The class of a unit as POLICY §2 words it, one asker and one unit at a time."""
    if not unit.account:
        return Class.UNFUNDED
    if snapshot.at_s < unit.contract_end_s:
        return Class.CONTRACT
    own = tuple(lineage(unit.account))[shared(unit.account, asker.account) :] or (unit.account,)
    over = any(exceeds(snapshot.ratio(one), 1 + hysteresis) for one in own)
    return Class.OVER if over else Class.WITHIN


def rule_seen(unit: Unit, asker: Asker, snapshot: Snapshot, rules: Rules) -> str:
    """The rule that opens a unit to an asker as POLICY §3 words them, '' where none does."""
    class_ = class_seen(unit, asker, snapshot, rules.hysteresis)
    if class_ == Class.UNFUNDED:
        return "R0"
    lost = Fraction(unit.lost_gpu_ms, asker.gpus_milli * max(asker.min_runtime_s, HOUR_S))
    if class_ == Class.CONTRACT or unit.preempted_today >= 3 or lost > rules.proportion:
        return ""
    if unit.account == asker.account:
        return "inside" if asker.debug else ""
    path = [snapshot.ratio(account) for account in lineage(asker.account)]
    if class_ == Class.OVER and all(not exceeds(reclaimed(r, asker, rules), Fraction(1)) for r in path):
        return "R1"
    mine, theirs = below_common(asker.account, unit.account), below_common(unit.account, asker.account)
    assert mine is not None
    assert theirs is not None
    after = with_contract(snapshot.ratio(mine), asker.contract_gpu_ms)
    return "R2" if beats(after, snapshot.ratio(theirs), rules.hysteresis) else ""


def reclaimed(ratio: Ratio, asker: Asker, rules: Rules) -> Ratio:
    """ρ with the contract, over a window long enough for it where there is one (all windows are alike here)."""
    if ratio.claim_gpu_ms and ratio.claim_gpu_ms < asker.contract_gpu_ms <= rules.longest_windows * ratio.claim_gpu_ms:
        windows = Fraction(asker.contract_gpu_ms, ratio.claim_gpu_ms)
        used = int(ratio.used_gpu_ms * windows)
        return Ratio(used, asker.contract_gpu_ms, asker.contract_gpu_ms)
    return with_contract(ratio, asker.contract_gpu_ms)
