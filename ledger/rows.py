"""The rows the fold writes, one NamedTuple per table, fields in column order.

Amounts are integers of GPU-milliseconds, times whole epoch seconds (None: not yet), hours the epoch second
at which a UTC hour starts. Every row carries the `seq` of the event that made it (the number of fact-changing
events of its cluster so far) and `recorded_s`, the running maximum of recorded time of its cluster.
The store adds `generation` in front.
"""

from __future__ import annotations

from typing import NamedTuple


class Posting(NamedTuple):
    """One leg of a balanced transaction; the legs of one (book, cause, pool, hour) sum to zero. Append-only."""

    cluster: str
    pool: str
    hour_s: int
    book: str
    account: str
    class_: str
    kind: str
    node: str
    run: str
    cause: bytes
    amount_gpu_ms: int
    seq: int
    recorded_s: int


class AccountHour(NamedTuple):
    """One version of a leaf account's closed hour; a later cause adds a later version. Append-only."""

    cluster: str
    pool: str
    account: str
    hour_s: int
    cause: bytes
    claim_gpu_ms: int
    grant_gpu_ms: int
    charged_gpu_ms: int
    refunded_gpu_ms: int
    demand_gpu_ms: int
    owed_gpu_ms: int
    commitment_gpu_ms: int
    unfunded_gpu_ms: int
    seq: int
    recorded_s: int


class ClusterHour(NamedTuple):
    """One version of a pool's closed hour: the capacity book summed over nodes. Append-only."""

    cluster: str
    pool: str
    hour_s: int
    cause: bytes
    capacity_gpu_ms: int
    overbooked_gpu_ms: int
    unfunded_gpu_ms: int
    protected_gpu_ms: int
    interruptible_gpu_ms: int
    suspended_gpu_ms: int
    idle_gpu_ms: int
    unavailable_planned_gpu_ms: int
    unavailable_unplanned_gpu_ms: int
    claimed_gpu_ms: int
    seq: int
    recorded_s: int


class NodeHour(NamedTuple):
    """A node's closed hour as now known, replaced by higher seq."""

    cluster: str
    pool: str
    node: str
    hour_s: int
    capacity_gpu_ms: int
    overbooked_gpu_ms: int
    unfunded_gpu_ms: int
    protected_gpu_ms: int
    interruptible_gpu_ms: int
    suspended_gpu_ms: int
    idle_gpu_ms: int
    unavailable_planned_gpu_ms: int
    unavailable_unplanned_gpu_ms: int
    seq: int
    recorded_s: int


class OpenHour(NamedTuple):
    """A leaf account's hour still open at a tick: provisional, true up to `until_s`, replaced at each tick.

    Rows with a seq below the cluster's last tick are stale.
    """

    cluster: str
    pool: str
    account: str
    hour_s: int
    until_s: int
    claim_gpu_ms: int
    grant_gpu_ms: int
    charged_gpu_ms: int
    refunded_gpu_ms: int
    demand_gpu_ms: int
    owed_gpu_ms: int
    commitment_gpu_ms: int
    unfunded_gpu_ms: int
    seq: int
    recorded_s: int


class Run(NamedTuple):
    """A run as now known, replaced by higher seq.

    `account` is what was asked for, `ledger_account` where it is booked ('' when unfunded). `eligible_s` is since when
    this attempt waited: as told, else since the job was in the queue. `contract_end_s` is None when unfunded.
    `suspended_s` and `running_s` count up to `ended_s`, and are None for a run not ended. `placed_nodes`,
    `placed_gpus_milli` and `placed_gpu_indices` are parallel arrays. `released` are the pauses [from, until) that gave
    the GPUs back, epoch seconds, until FOREVER_S while one lasts.
    """

    cluster: str
    job: str
    attempt: str
    ordinal: int
    user: str
    account: str
    ledger_account: str
    pool: str
    kind: str
    gang: str
    gpus_milli: int
    placed_nodes: tuple[str, ...]
    placed_gpus_milli: tuple[int, ...]
    placed_gpu_indices: tuple[tuple[int, ...], ...]
    submitted_s: int | None
    eligible_s: int | None
    started_s: int
    ended_s: int | None
    outcome: str
    exit_code: int | None
    min_runtime_s: int
    resumable: bool
    priority: int
    funded: bool
    funding_reason: str
    contract_end_s: int | None
    suspended_s: int | None
    running_s: int | None
    checkpointed_s: int | None
    refunded_gpu_ms: int
    idle_since_s: int | None
    flags: tuple[str, ...]
    released: tuple[tuple[int, ...], ...]
    seq: int
    recorded_s: int


class Job(NamedTuple):
    """A job as now known, replaced by higher seq. `state` is pending, held, running or ended."""

    cluster: str
    job: str
    user: str
    account: str
    kind: str
    gang: str
    gpus_milli: int
    gpu_type: str
    shape_nodes: int
    shape_gpus_milli: int
    min_runtime_s: int
    resumable: bool
    priority: int
    submitted_s: int | None
    eligible_from_s: int | None
    state: str
    attempts: int
    ended_s: int | None
    outcome: str
    waited_s: int
    seq: int
    recorded_s: int


class Share(NamedTuple):
    """One child's line of an accepted revision of a parent's shares. `pool` '' holds for every GPU type."""

    cluster: str
    pool: str
    parent: str
    revision: int
    child: str
    share_percent: str
    slot_limit_milli: int | None
    effective_s: int
    backdated: bool
    author: str
    reason: str
    seq: int
    recorded_s: int


class Grant(NamedTuple):
    """An accepted grant."""

    cluster: str
    pool: str
    account: str
    grant: str
    amount_gpu_ms: int
    since_s: int
    until_s: int
    author: str
    reason: str
    seq: int
    recorded_s: int


class Maintenance(NamedTuple):
    """A maintenance window as last said, replaced by higher seq."""

    cluster: str
    window: str
    nodes: tuple[str, ...]
    since_s: int
    until_s: int
    cancelled: bool
    author: str
    reason: str
    seq: int
    recorded_s: int


class Decision(NamedTuple):
    """A share decision, policy change, maintenance or reassignment, as taken: who, what, why."""

    cluster: str
    kind: str
    subject: str
    detail: str
    author: str
    reason: str
    occurred_s: int
    seq: int
    recorded_s: int


class Correction(NamedTuple):
    """An event that changed closed hours [since, until): postings of the same `cause` say how.

    `moved_gpu_ms` is half the sum of the postings' absolute amounts: what changed its place.
    """

    cluster: str
    cause: bytes
    source: str
    event_id: str
    type: str
    subject: str
    occurred_s: int
    since_s: int
    until_s: int
    moved_gpu_ms: int
    seq: int
    recorded_s: int


class Remark(NamedTuple):
    """Something an accepted event said that a person should look at: a named outcome and a sentence."""

    cluster: str
    seq: int
    name: str
    subject: str
    sentence: str
    source: str
    event_id: str
    recorded_s: int


class Plan(NamedTuple):
    """A plan as now known, replaced by higher seq. `state` is open, or why it is over.

    `made_seq` and `planned_s` are those of the facts it was made of, `reaction_ms` is None where nobody said. A plan
    for a drain has no asker: `job` is ''.
    """

    cluster: str
    plan: str
    pool: str
    purpose: str
    mode: str
    state: str
    rule: str
    job: str
    account: str
    pieces: int
    piece_milli: int
    min_runtime_s: int
    victims: int
    freed_milli: int
    lost_gpu_ms: int
    host_nodes: tuple[str, ...]
    host_gpus_milli: tuple[int, ...]
    sentences: tuple[str, ...]
    detail: str
    grace_s: int
    hold_s: int
    made_seq: int
    planned_s: int
    committed_s: int
    reaction_ms: int | None
    held_s: int | None
    held_until_s: int | None
    handle: str
    expired_s: int | None
    wasted_gpu_ms: int
    sentence: str
    seq: int
    recorded_s: int


class Preemption(NamedTuple):
    """A run that a plan names, and what came of it, replaced by higher seq; `issued_s` is None where only observed."""

    cluster: str
    plan: str
    job: str
    attempt: str
    mode: str
    account: str
    class_: str
    rule: str
    gpus_milli: int
    lost_gpu_ms: int
    resumable: bool
    how: str
    grace_s: int
    issued_s: int | None
    settled_s: int | None
    outcome: str
    sentence: str
    seq: int
    recorded_s: int


Row = (
    Posting
    | AccountHour
    | ClusterHour
    | NodeHour
    | OpenHour
    | Run
    | Job
    | Share
    | Grant
    | Maintenance
    | Decision
    | Correction
    | Remark
    | Plan
    | Preemption
)

TABLES: dict[type[Row], str] = {
    Posting: "postings",
    AccountHour: "account_hours",
    ClusterHour: "cluster_hours",
    NodeHour: "node_hours",
    OpenHour: "open_hours",
    Run: "runs",
    Job: "jobs",
    Share: "shares",
    Grant: "grants",
    Maintenance: "maintenance",
    Decision: "decisions",
    Correction: "corrections",
    Remark: "remarks",
    Plan: "plans",
    Preemption: "preemptions",
}
"""Where each row type is stored."""
