"""Named reasons in words. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

FUNDING: Final[Mapping[str, str]] = {
    "no_account": "it names no account: submit it with one",
    "no_min_runtime": "it declares no minimum runtime, so it is free and always interruptible",
    "min_runtime_over_maximum": "its minimum runtime is over the cluster's maximum: ask for less at a time",
    "unknown_account": "its account has neither a share nor a grant: correct its name, or ask for a share",
    "zero_share": "its account has a share of zero and no grant in force",
}
"""Why no budget pays for a run, by name (docs/accounting.md §2)."""

OUTCOMES: Final[Mapping[str, str]] = {
    "succeeded": "ended well",
    "failed": "failed",
    "cancelled": "was cancelled",
    "timeout": "ran into its time limit",
    "out_of_memory": "ran out of memory",
    "node_failure": "lost a node",
    "preempted": "was preempted",
    "requeued": "was put back into the queue",
}

FLAGS: Final[Mapping[str, str]] = {
    "end_before_start": "its record says it ended before it started; it counts as nothing",
    "suspension_placed": "only the total of its suspension is known; it was placed just before the end",
    "unknown_node": "it ran on a node nobody has described",
}

CLASSES: Final[Mapping[str, str]] = {
    "unfunded": "no budget pays for it, and it yields to any funded job",
    "protected": "inside its minimum runtime: nobody may stop it",
    "interruptible": "its minimum runtime is banked: it runs on while nobody ranks ahead of it",
}
