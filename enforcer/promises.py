"""A snapshot with what an open plan promises taken out of it: room for its asker, its victims on their way. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from enforcer.classes import with_contract
from enforcer.snapshot import Asker, Node, Snapshot, Unit, by_node
from ledger.ranking import Ratio


def promised(snapshot: Snapshot, asker: Asker | None, taken: Mapping[str, int], gone: tuple[Unit, ...]) -> Snapshot:
    """`taken` are the asker's milli-GPUs by node, `gone` the units that have to leave; a drain has no asker."""
    freed = by_node(gone)
    names = {unit.name for unit in gone}
    return replace(
        snapshot,
        nodes=tuple(_after(node, freed.get(node.name, 0), taken.get(node.name, 0)) for node in snapshot.nodes),
        units=tuple(unit for unit in snapshot.units if unit.name not in names),
        running_milli=_running(snapshot, asker, gone),
        ratios=snapshot.ratios if asker is None else _bound(snapshot, asker),
    )


def _after(node: Node, freed_milli: int, taken_milli: int) -> Node:
    if not freed_milli and not taken_milli:
        return node
    return replace(
        node, freeing_milli=node.freeing_milli + freed_milli, promised_milli=node.promised_milli + taken_milli
    )


def _running(snapshot: Snapshot, asker: Asker | None, gone: tuple[Unit, ...]) -> dict[str, int]:
    found = dict(snapshot.running_milli)
    for unit in gone:
        for account in unit.path:
            found[account] = found.get(account, 0) - unit.gpus_milli
    if asker is not None:
        for account in asker.path:
            found[account] = found.get(account, 0) + asker.gpus_milli
    return found


def _bound(snapshot: Snapshot, asker: Asker) -> dict[str, Ratio]:
    """The next asker stands beside a contract that is as good as running."""
    found = dict(snapshot.ratios)
    for account in asker.path:
        found[account] = with_contract(snapshot.ratio(account), asker.contract_gpu_ms)
    return found
