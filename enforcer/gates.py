"""Who may ask (POLICY §3): the gates an asker must pass before anybody is looked at as a victim. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from enforcer.rules import Rules
from enforcer.snapshot import Asker, Snapshot

FUNDED: Final = "G1"
RULE: Final = "G2"
DELAY: Final = "G3"
FITS: Final = "G4"
PLACEABLE: Final = "G5"
BACK_OFF: Final = "G6"
PROPORTION: Final = "G7"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an asker gets no plan: the gate it fails, in a sentence, and when that could change (None: not by time).

    `closed` counts the units it may not take from, by why; empty where nobody counted.
    """

    job: str
    gate: str
    name: str
    sentence: str
    until_s: int | None = None
    closed: tuple[tuple[str, int], ...] = ()


class Gates:
    """The gates that need no victims to be judged, over one snapshot. Askers of one shape find the same room."""

    def __init__(self, snapshot: Snapshot, rules: Rules) -> None:
        """Nobody has asked yet."""
        self._snapshot = snapshot
        self._rules = rules
        self._rooms: dict[tuple[int, int, bool], Refusal | None] = {}

    def refusal(self, asker: Asker) -> Refusal | None:
        """The first gate an asker fails, in their order: G1, G3, G4, G5, G6."""
        snapshot, rules = self._snapshot, self._rules
        for refusal in (*_funded(asker, snapshot, rules), *_waited(asker, snapshot, rules)):
            return refusal
        shape = (asker.pieces, asker.piece_milli, asker.apart)
        if shape not in self._rooms:
            self._rooms[shape] = next(chain(_room(asker, snapshot), _placeable(asker, snapshot)), None)
        found = self._rooms[shape]
        if found is not None:
            return replace(found, job=asker.job)
        return next(_free_to_plan(asker, snapshot), None)


def _funded(asker: Asker, snapshot: Snapshot, rules: Rules) -> Iterator[Refusal]:
    if not asker.account:
        yield Refusal(asker.job, FUNDED, "unfunded", "no budget pays for it, so nobody yields to it")
    elif not 0 < asker.min_runtime_s <= rules.max_min_runtime_s:
        most = rules.max_min_runtime_s
        yield Refusal(asker.job, FUNDED, "contract", f"its minimum runtime must be over 0 and at most {most} s")
    for account in asker.path:
        limit = snapshot.limits_milli.get(account)
        running = snapshot.running_milli.get(account, 0)
        if limit is not None and running + asker.gpus_milli > limit:
            sentence = (
                f"{account} runs {running / 1000:g} of the {limit / 1000:g} GPUs it may run at once, and this job asks "
                f"for {asker.gpus_milli / 1000:g}"
            )
            yield Refusal(asker.job, FUNDED, "slot_limit", sentence)


def may_ask_s(asker: Asker, rules: Rules) -> int:
    """When it has waited for as long as everybody waits first."""
    return asker.since_s + (rules.debug_delay_s if asker.debug else rules.delay_s)


def _waited(asker: Asker, snapshot: Snapshot, rules: Rules) -> Iterator[Refusal]:
    due_s = may_ask_s(asker, rules)
    if snapshot.at_s < due_s:
        waited_s, delay_s = max(0, snapshot.at_s - asker.since_s), due_s - asker.since_s
        sentence = f"it has waited for {waited_s} s of the {delay_s} s that everybody waits first"
        yield Refusal(asker.job, DELAY, "delay", sentence, due_s)


def _room(asker: Asker, snapshot: Snapshot) -> Iterator[Refusal]:
    fits = sum(asker.pieces_in(node.spare_milli) for node in snapshot.nodes)
    if fits >= asker.pieces:
        yield Refusal(
            asker.job, FITS, "fits", "it fits on what is free or being freed: the scheduler only has to start it"
        )


def _placeable(asker: Asker, snapshot: Snapshot) -> Iterator[Refusal]:
    places = sum(asker.pieces_in(node.size_milli) for node in snapshot.nodes if node.usable)
    if places < asker.pieces:
        sentence = (
            f"no set of healthy nodes could hold it, even if all were free: it asks for {asker.pieces} × "
            f"{asker.piece_milli / 1000:g} GPUs, and there is room for {places} of them"
        )
        closing = sum(asker.pieces_in(node.size_milli) for node in snapshot.nodes if node.closing)
        if closing:
            sentence += f"; there would be for {closing} more on nodes whose maintenance is near"
        yield Refusal(asker.job, PLACEABLE, "not_placeable", sentence)


def _free_to_plan(asker: Asker, snapshot: Snapshot) -> Iterator[Refusal]:
    if asker.planned:
        yield Refusal(asker.job, BACK_OFF, "planned", "there is a plan for it already")
    elif snapshot.at_s < asker.not_before_s:
        yield Refusal(
            asker.job, BACK_OFF, "back_off", "its last plan failed, and it waits before another", asker.not_before_s
        )
