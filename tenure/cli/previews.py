"""A set of shares before it is decided, shown."""

from __future__ import annotations

from ledger.tree import OWN_PART
from tenure.cli import output
from tenure.cli.sharing import WHOLE, Preview
from tenure.cli.text import NONE, decimal, gpu_hours, gpus, moment, signed_gpu_hours


def tell(seen: Preview, from_s: int) -> None:
    """Who gains and who loses, GPU-hours a day by pool."""
    pools = sorted({pool for change in seen.changes for pool in change.after_gpu_ms})
    columns = [column for pool in pools for column in (f">{pool} now", ">Then", ">Change")]
    title = f"Revision {seen.revision} of {seen.parent}: GPU-hours a day of what is healthy now"
    made = output.table(title, "*Child", ">Percent now", ">Then", ">Slots", *columns)
    for change in seen.changes:
        cells = [
            change.child if change.child != OWN_PART else "(own part)",
            decimal(change.before_percent) if change.before_percent is not None else NONE,
            decimal(change.after_percent) if change.after_percent is not None else NONE,
            gpus(change.slot_limit_milli) if change.slot_limit_milli is not None else NONE,
        ]
        for pool in pools:
            was, will = change.before_gpu_ms.get(pool, 0), change.after_gpu_ms.get(pool, 0)
            cells += [gpu_hours(was), gpu_hours(will), signed_gpu_hours(will - was)]
        output.fill(made, [cells])
    output.show(made)
    rest = WHOLE - seen.total_percent
    output.say(f"{decimal(rest)} % stay with {seen.parent} itself. In force from {moment(from_s)} UTC on.")


def preview_json(seen: Preview) -> output.Report:
    """The preview for programs."""
    return {
        "parent": seen.parent,
        "pool": seen.pool,
        "revision": seen.revision,
        "changes": [change._asdict() for change in seen.changes],
        "undivided_percent": WHOLE - seen.total_percent,
    }
