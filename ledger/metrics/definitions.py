"""Every metric, declared once: what it means, of what it is made, which query has its parts.

docs/metrics.md says the same to people, and a test keeps the two in step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from ledger.units import GPU_HOUR_MS

Unit = Literal["ratio", "GPU-hours", "s"]

DIMENSIONS: Final = (
    "cluster",
    "pool",
    "account",
    "user",
    "node",
    "kind",
    "job",
    "funding",
    "size",
    "outcome",
)
"""What rows may be told apart by, in the order they are sorted by."""
FILTERS: Final = ("cluster", "pool", "account", "user", "node", "kind", "job")
"""What rows may be narrowed to."""


@dataclass(frozen=True, slots=True)
class Source:
    """A query (a file in the store's SQL) and the dimensions it knows.

    `by_hour`: it sums whole closed UTC hours. Otherwise it counts instants, to the second.
    """

    query: str
    dimensions: frozenset[str]
    by_hour: bool


CAPACITY: Final = Source("metric_capacity", frozenset({"cluster", "pool"}), by_hour=True)
NODES: Final = Source("metric_node_capacity", frozenset({"cluster", "pool", "node"}), by_hour=True)
NODE_STATES: Final = Source("metric_node_states", frozenset({"cluster", "pool", "node"}), by_hour=True)
ACCOUNTS: Final = Source("metric_accounts", frozenset({"cluster", "pool", "account"}), by_hour=True)
OCCUPIED: Final = Source(
    "metric_occupied",
    frozenset({"cluster", "pool", "account", "user", "node", "kind", "job"}),
    by_hour=True,
)
WAITS: Final = Source(
    "metric_waits",
    frozenset({"cluster", "pool", "account", "user", "kind", "funding", "size"}),
    by_hour=False,
)
REQUESTS: Final = Source("metric_requests", frozenset({"cluster", "pool", "account", "user", "kind"}), by_hour=False)
LOST: Final = Source(
    "metric_lost",
    frozenset({"cluster", "pool", "account", "user", "kind", "funding", "outcome"}),
    by_hour=False,
)

CLOSED_HOURS: Final = Source("metric_closed_hours", frozenset({"cluster"}), by_hour=True)
"""Not of a metric: the coverage of those that sum closed hours."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A metric: numerator / denominator, both exact integers, columns of the query or a constant.

    `formula` and `meaning` are for people. `sources` are tried in order: the first that knows the dimensions asked for
    answers. `covered` and `coverable` are the columns of its coverage; '' stands for closed hours of all hours.
    """

    name: str
    unit: Unit
    meaning: str
    formula: str
    numerator: str
    denominator: str | int
    sources: tuple[Source, ...]
    covered: str = ""
    coverable: str = ""

    @property
    def dimensions(self) -> frozenset[str]:
        """Every dimension it may be asked for by."""
        return frozenset().union(*(source.dimensions for source in self.sources))

    def source(self, dimensions: frozenset[str]) -> Source | None:
        """The query that answers by these dimensions, if one does."""
        return next((source for source in self.sources if dimensions <= source.dimensions), None)


def _amount(name: str, meaning: str, column: str, *sources: Source) -> Definition:
    formula = f"Σ {column.removesuffix('_gpu_ms').replace('_', ' ')}"
    return Definition(name, "GPU-hours", meaning, formula, column, GPU_HOUR_MS, sources)


_BOOK: Final = (CAPACITY, NODES)
_ANY: Final = (CAPACITY, NODES, OCCUPIED)

_ALL: Final = (
    # ------------------------------------------------------------ the hardware
    Definition(
        "availability",
        "ratio",
        "how much of the GPU time there was the hardware was healthy, or in use all the same",
        "(capacity − unavailable) / capacity",
        "available_gpu_ms",
        "capacity_gpu_ms",
        _BOOK,
    ),
    Definition(
        "unavailable_planned",
        "ratio",
        "how much of it was drained or in maintenance, and not in use",
        "unavailable planned / capacity",
        "unavailable_planned_gpu_ms",
        "capacity_gpu_ms",
        _BOOK,
    ),
    Definition(
        "unavailable_unplanned",
        "ratio",
        "how much of it was down",
        "unavailable unplanned / capacity",
        "unavailable_unplanned_gpu_ms",
        "capacity_gpu_ms",
        _BOOK,
    ),
    Definition(
        "occupancy",
        "ratio",
        "how much of the available GPU time was held by runs",
        "occupied / (capacity − unavailable)",
        "occupied_gpu_ms",
        "available_gpu_ms",
        _BOOK,
    ),
    _amount("capacity_gpu_hours", "the GPU time there was", "capacity_gpu_ms", *_BOOK),
    _amount("available_gpu_hours", "capacity less what was unavailable", "available_gpu_ms", *_BOOK),
    _amount("unoccupied_gpu_hours", "healthy GPU time that no run held", "unoccupied_gpu_ms", *_BOOK),
    # ------------------------------------------------------------ nodes
    Definition(
        "mtbf",
        "s",
        "how long a node is available between two failures",
        "Σ available node time / failures",
        "up_s",
        "failures",
        (NODE_STATES,),
    ),
    Definition(
        "time_to_repair",
        "s",
        "how long a failed node takes until it is available again",
        "Σ (available again − failed) / repairs",
        "repair_s",
        "repairs",
        (NODE_STATES,),
    ),
    # ------------------------------------------------------------ occupied time
    Definition(
        "funded_share",
        "ratio",
        "how much of the occupied GPU time a budget paid for",
        "(protected + interruptible) / occupied",
        "funded_gpu_ms",
        "occupied_gpu_ms",
        _ANY,
    ),
    _amount("occupied_gpu_hours", "GPU time that runs held", "occupied_gpu_ms", *_ANY),
    _amount("funded_gpu_hours", "occupied GPU time that a budget paid for", "funded_gpu_ms", *_ANY),
    _amount("unfunded_gpu_hours", "occupied GPU time that no budget paid for", "unfunded_gpu_ms", *_ANY),
    _amount("suspended_gpu_hours", "GPU time that suspended runs kept", "suspended_gpu_ms", *_ANY),
    # ------------------------------------------------------------ impact
    Definition(
        "impact_strict",
        "ratio",
        "how much of what accounts were owed they got in the hour they wanted it",
        "Σ min(delivered, owed) / Σ owed, leaf by leaf and hour by hour",
        "met_gpu_ms",
        "owed_gpu_ms",
        (ACCOUNTS,),
    ),
    Definition(
        "impact_period",
        "ratio",
        "how much of what accounts were owed they got by the end of the period",
        "Σ min(Σ delivered, Σ owed) / Σ owed, leaf by leaf over the period",
        "period_met_gpu_ms",
        "owed_gpu_ms",
        (ACCOUNTS,),
    ),
    Definition(
        "claim_used",
        "ratio",
        "how much of their claim accounts got; over 1 where they burst",
        "Σ delivered / Σ (claim + grants)",
        "delivered_gpu_ms",
        "claim_gpu_ms",
        (ACCOUNTS,),
    ),
    _amount("claim_gpu_hours", "what accounts held: shares of healthy GPU time, and grants", "claim_gpu_ms", ACCOUNTS),
    _amount("demand_gpu_hours", "funded work that ran or could have", "demand_gpu_ms", ACCOUNTS),
    _amount("owed_gpu_hours", "the claim as far as there was demand, hour by hour", "owed_gpu_ms", ACCOUNTS),
    _amount("charged_gpu_hours", "what funded runs were charged", "charged_gpu_ms", ACCOUNTS),
    _amount("refunded_gpu_hours", "charges given back after node failures", "refunded_gpu_ms", ACCOUNTS),
    _amount("delivered_gpu_hours", "charged less refunded", "delivered_gpu_ms", ACCOUNTS),
    _amount("unmet_gpu_hours", "owed and not delivered in its hour", "unmet_gpu_ms", ACCOUNTS),
    # ------------------------------------------------------------ the queue
    Definition(
        "queue_wait_median",
        "s",
        "how long half of the runs that started had waited at most",
        "nearest-rank median of the waits of runs that started",
        "wait_median_s",
        "known",
        (WAITS,),
        "known_runs",
        "runs",
    ),
    Definition(
        "queue_wait_p90",
        "s",
        "how long nine tenths of the runs that started had waited at most",
        "nearest-rank 90th percentile of the waits of runs that started",
        "wait_p90_s",
        "known",
        (WAITS,),
        "known_runs",
        "runs",
    ),
    # ------------------------------------------------------------ requests
    Definition(
        "high_priority_share",
        "ratio",
        "how many of the jobs submitted ask for a high priority: where it climbs, priorities inflate",
        "jobs submitted at or above the high priority / jobs submitted",
        "high_requests",
        "requests",
        (REQUESTS,),
        "requests",
        "requests",
    ),
    Definition(
        "high_priority_gpu_share",
        "ratio",
        "the same, each job counting for the GPUs it asks for",
        "GPUs asked for at or above the high priority / GPUs asked for",
        "high_requested_milli",
        "requested_milli",
        (REQUESTS,),
        "requests",
        "requests",
    ),
    # ------------------------------------------------------------ utilization
    Definition(
        "utilization",
        "ratio",
        "how busy the GPUs of runs were while they were sampled",
        "Σ (utilization × sampled time) / Σ sampled time",
        "utilized_gpu_ms",
        "sampled_gpu_ms",
        (OCCUPIED,),
        "covered_gpu_ms",
        "occupied_gpu_ms",
    ),
    Definition(
        "sm_activity",
        "ratio",
        "how much of the time a multiprocessor of theirs had work",
        "Σ (SM activity × time sampled with it) / Σ time sampled with it",
        "sm_active_gpu_ms",
        "sm_sampled_gpu_ms",
        (OCCUPIED,),
        "sm_covered_gpu_ms",
        "occupied_gpu_ms",
    ),
    Definition(
        "idle_share",
        "ratio",
        "how much of the sampled time of runs their GPUs did nothing at all",
        "Σ sampled time at zero / Σ sampled time",
        "idle_gpu_ms",
        "sampled_gpu_ms",
        (OCCUPIED,),
        "covered_gpu_ms",
        "occupied_gpu_ms",
    ),
    Definition(
        "idle_gpu_hours",
        "GPU-hours",
        "occupied GPU time sampled at zero: at least so much was held for nothing",
        "Σ sampled time at zero",
        "idle_gpu_ms",
        GPU_HOUR_MS,
        (OCCUPIED,),
        "covered_gpu_ms",
        "occupied_gpu_ms",
    ),
    Definition(
        "utilized_gpu_hours",
        "GPU-hours",
        "sampled GPU time times utilization: at least so much was used",
        "Σ (utilization × sampled time)",
        "utilized_gpu_ms",
        GPU_HOUR_MS,
        (OCCUPIED,),
        "covered_gpu_ms",
        "occupied_gpu_ms",
    ),
    Definition(
        "funded_utilized_gpu_hours",
        "GPU-hours",
        "sampled GPU time of funded runs times utilization: at least so much was used",
        "Σ (utilization × sampled time of funded runs)",
        "funded_utilized_gpu_ms",
        GPU_HOUR_MS,
        (OCCUPIED,),
        "funded_covered_gpu_ms",
        "funded_gpu_ms",
    ),
    # ------------------------------------------------------------ goodput
    Definition(
        "goodput",
        "ratio",
        "how much of the running time of runs that ended was not lost",
        "(Σ ran − Σ lost) / Σ ran, over runs that ended",
        "good_gpu_ms",
        "ran_gpu_ms",
        (LOST,),
        "exact_gpu_ms",
        "ran_gpu_ms",
    ),
    Definition(
        "lost_to_failures_gpu_hours",
        "GPU-hours",
        "running time not banked when a run failed, ran out of memory or lost its node",
        "Σ unbanked of runs that ended node_failure, failed or out_of_memory",
        "lost_to_failures_gpu_ms",
        GPU_HOUR_MS,
        (LOST,),
        "exact_gpu_ms",
        "ran_gpu_ms",
    ),
    Definition(
        "lost_to_preemption_gpu_hours",
        "GPU-hours",
        "running time not banked when a run was preempted",
        "Σ unbanked of runs that ended preempted",
        "lost_to_preemption_gpu_ms",
        GPU_HOUR_MS,
        (LOST,),
        "exact_gpu_ms",
        "ran_gpu_ms",
    ),
    Definition(
        "lost_to_restarts_gpu_hours",
        "GPU-hours",
        "running time not banked when somebody requeued a run",
        "Σ unbanked of runs that ended requeued",
        "lost_to_restarts_gpu_ms",
        GPU_HOUR_MS,
        (LOST,),
        "exact_gpu_ms",
        "ran_gpu_ms",
    ),
)

METRICS: Final = {definition.name: definition for definition in _ALL}
"""Every metric by name, in the order people read them."""

WATERFALL: Final = (
    "capacity_gpu_hours",
    "available_gpu_hours",
    "occupied_gpu_hours",
    "funded_gpu_hours",
    "funded_utilized_gpu_hours",
)
"""The steps of the waterfall. Each is a part of the one before, so the last is what funded runs used."""
