"""What the store answers, row by row: instants in epoch seconds, amounts in GPU-milliseconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple
from zoneinfo import ZoneInfo


class PoolSpan(NamedTuple):
    """From when until when a pool's hours are closed."""

    cluster: str
    pool: str
    opens_s: int
    closed_until_s: int


class CapacityHour(NamedTuple):
    """A pool's closed hour. capacity + overbooked = planned + unplanned + idle + the four classes of occupied."""

    pool: str
    hour_s: int
    capacity_gpu_ms: int
    planned_gpu_ms: int
    unplanned_gpu_ms: int
    idle_gpu_ms: int
    protected_gpu_ms: int
    interruptible_gpu_ms: int
    suspended_gpu_ms: int
    unfunded_gpu_ms: int
    overbooked_gpu_ms: int


class OccupiedHour(NamedTuple):
    """What a subtree occupied of a pool in a closed hour, in one class."""

    pool: str
    hour_s: int
    class_: str
    amount_gpu_ms: int


class Leaf(NamedTuple):
    """A leaf account over the period; `closed_*` is how its hours read when they were closed."""

    pool: str
    account: str
    claim_gpu_ms: int
    grant_gpu_ms: int
    charged_gpu_ms: int
    refunded_gpu_ms: int
    demand_gpu_ms: int
    owed_gpu_ms: int
    met_gpu_ms: int
    unfunded_gpu_ms: int
    closed_claim_gpu_ms: int
    closed_delivered_gpu_ms: int
    closed_owed_gpu_ms: int
    closed_unfunded_gpu_ms: int


class LeafHour(NamedTuple):
    """A leaf account's hour as its ratio counts it: claim with grants, and what was still bound at its end."""

    pool: str
    account: str
    hour_s: int
    claim_gpu_ms: int
    delivered_gpu_ms: int
    commitment_gpu_ms: int


class Asking(NamedTuple):
    """A request for another share; `pool` '' is every pool."""

    request: str
    pool: str
    account: str
    share_percent: str
    author: str
    reason: str
    asked_s: int


class Decided(NamedTuple):
    """A decision as taken."""

    seq: int
    kind: str
    subject: str
    detail: str
    author: str
    reason: str
    decided_s: int


class ShareLine(NamedTuple):
    """One child's line of a revision of shares; `slot_limit_milli` -1 is no limit."""

    pool: str
    parent: str
    revision: int
    child: str
    share_percent: str
    slot_limit_milli: int
    effective_s: int
    backdated: bool
    author: str
    reason: str
    recorded_s: int


class Granted(NamedTuple):
    """A grant that accrues, or was made, in the period."""

    pool: str
    account: str
    grant: str
    amount_gpu_ms: int
    since_s: int
    until_s: int
    author: str
    reason: str
    recorded_s: int


class Corrected(NamedTuple):
    """Events of one type that changed closed hours of the period."""

    type: str
    events: int
    hours: int
    moved_gpu_ms: int
    first_s: int
    last_s: int


class RefusedFor(NamedTuple):
    """Dead letters of one reason; the sentence is that of the first."""

    reason: str
    letters: int
    first_s: int
    last_s: int
    sentence: str


class Overbooked(NamedTuple):
    """A node on which more was occupied than there was."""

    pool: str
    node: str
    hours: int
    overbooked_gpu_ms: int
    first_s: int
    last_s: int


class Remarked(NamedTuple):
    """Remarks of one name; the sentence is that of the first."""

    name: str
    remarks: int
    sentence: str


class Offender(NamedTuple):
    """A job that held GPUs for nothing: what it occupied, what of that was sampled, used and idle."""

    pool: str
    job: str
    user: str
    account: str
    kind: str
    gpus_milli: int
    occupied_gpu_ms: int
    sampled_gpu_ms: int
    utilized_gpu_ms: int
    idle_gpu_ms: int


class Lost(NamedTuple):
    """What an account lost to one cause; `unsaved_gpu_ms` is of runs that can be resumed and told no checkpoint."""

    pool: str
    account: str
    cause: str
    times: int
    lost_gpu_ms: int
    unsaved_gpu_ms: int


@dataclass(frozen=True, slots=True)
class Question:
    """What the pack is about: a subtree (`account` '' is all) of a pool ('' is each) of a cluster.

    The hours are [from_s, until_s), all of them closed; `asked_until_s` is where the period was to end. Ratios and
    commitments are those at `as_of_s`, the end of a closed hour, decisions those before `decided_until_s`.
    `known_at_s` None is the present; `recorded_s` is the cluster's last settled record.
    """

    cluster: str
    pool: str
    account: str
    from_s: int
    until_s: int
    asked_until_s: int
    as_of_s: int
    decided_until_s: int
    known_at_s: int | None
    recorded_s: int
    zone: ZoneInfo

    def holds(self, account: str) -> bool:
        """Whether an account is in the subtree."""
        return not self.account or account == self.account or account.startswith(f"{self.account}/")

    def concerns(self, account: str) -> bool:
        """Whether what happens to an account touches the subtree: it is in it, or above it."""
        return self.holds(account) or self.account.startswith(f"{account}/")
