"""From a job's registers to its runs as they are booked (docs/accounting.md §2). Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from ledger.jobs import Attempt, JobFacts
from ledger.policy import Policy
from ledger.statements import End, Placed, Start, Terms
from ledger.tree import ShareTree
from ledger.units import FOREVER_S, HOUR_S

Pause = tuple[int, int, bool]
"""[from, until) without running, until FOREVER_S while it lasts, and whether it gives the GPUs back."""
RUNNING, SUSPENDED, RELEASED = "running", "suspended", "released"
UNFUNDED, PROTECTED, INTERRUPTIBLE = "unfunded", "protected", "interruptible"
UNKNOWN_POOL = "unknown"
REFUND_S = 4 * HOUR_S
"""At most the last four hours of charge are given back after a node failure."""
PREEMPTED = "preempted"
GIVES_WAY = frozenset({"cancelled", "requeued", "failed", "timeout"})
"""How schedulers tell the end of a run that was ordered off."""
CLOCKS_APART_S = 5
"""An end may be stamped so long before the order it follows: the host's clock is behind."""


class Piece(NamedTuple):
    """A stretch [a, b) of a run in one class; `b_s` is FOREVER_S while it lasts."""

    a_s: int
    b_s: int
    class_: str


class DerivedRun(NamedTuple):
    """A run as booked. `pieces` leave out what is released; `account` is where it is booked ('' for nobody).

    `pool` is that of its first placement at the start.
    `pools` has the pool of each placement if it is the same over the whole run, else it is empty and the
    node's timeline must be asked (`mixed`). `refund_from_s` is FOREVER_S without a refund. `told` is the outcome as its
    source told it, `outcome` as it reads where it was ordered off.
    """

    job: str
    attempt: str
    ordinal: int
    terms: Terms
    account: str
    funded: bool
    reason: str
    start_s: int
    end_s: int
    outcome: str
    exit_code: int | None
    placements: tuple[Placed, ...]
    gpus_milli: int
    pool: str
    pools: tuple[str, ...]
    pieces: tuple[Piece, ...]
    pauses: tuple[Pause, ...]
    contract_end_s: int
    refund_from_s: int
    checkpointed_s: int | None
    flags: tuple[str, ...]
    told: str = ""

    @property
    def run(self) -> str:
        """`job/attempt`, the run's name in postings."""
        return f"{self.job}/{self.attempt}"

    @property
    def mixed(self) -> bool:
        """Whether a node of the run changes its GPU type, so that pools depend on the instant."""
        return not self.pools


class World(Protocol):
    """What else a run's reading depends on."""

    def tree_at(self, pool: str, at_s: int) -> ShareTree:
        """The share tree of a pool in force at an instant."""
        ...

    def granted(self, pool: str, account: str, at_s: int) -> bool:
        """Whether the account has a grant in force."""
        ...

    def policy_at(self, at_s: int) -> Policy:
        """The policy in force."""
        ...

    def node_types(self, node: str) -> tuple[tuple[int, str], ...]:
        """The node's GPU types over time, () for an unknown node."""
        ...


def derive(facts: JobFacts, world: World) -> tuple[DerivedRun, ...]:
    """The runs of a job whose start is known, by start."""
    known: list[tuple[int, str]] = []
    for name, attempt in facts.attempts.items():
        start_s = attempt.started_s(facts.ended)
        if start_s is not None:
            known.append((start_s, name))
    known.sort()
    follows = [begin for begin, _ in known[1:]] + [FOREVER_S]
    return tuple(
        [
            _run(facts, facts.attempts[name], begin, ordinal + 1, follows[ordinal], world)
            for ordinal, (begin, name) in enumerate(known)
        ]
    )


def _run(facts: JobFacts, attempt: Attempt, start_s: int, ordinal: int, next_start_s: int, world: World) -> DerivedRun:
    """A run as booked; its fields by place, since by name they take three times as long."""
    full = attempt.full
    flags: list[str] = []
    start, own_end, again = attempt.life(facts.ended)
    end = own_end or _job_end(facts, start_s, next_start_s, again)
    end_s = FOREVER_S
    if end is not None:
        end_s = max(end.at_s, start_s)
        if end.at_s < start_s:
            flags.append("end_before_start")
    source = start if start is not None else full
    assert source is not None
    placements = source.placements
    terms = full.terms if full is not None else facts.terms_at(start_s)
    if attempt.reassigned is not None:
        terms = terms._replace(account=attempt.reassigned)
    if full is not None and full.suspended_s:
        flags.append("suspension_placed")
    pauses = _pauses(attempt, start_s, end_s)
    pools, at_start, unknown = _pools(placements, terms, start_s, end_s, world)
    if unknown:
        flags.append("unknown_node")
    account, reason = funding(terms, at_start, start_s, world)
    funded = not reason
    pieces = _pieces(start_s, end_s, pauses, terms.min_runtime_s if funded else None)
    checkpoint = max([at_s for at_s in attempt.checkpoints_s if at_s <= end_s], default=None)
    told, exit_code = (end.outcome, end.exit_code) if end is not None else ("", None)
    outcome = PREEMPTED if end is not None and attempt.orders and _gave_way(attempt, end) else told
    contract_end_s = contract_end(start_s, pauses, terms.min_runtime_s) if funded else start_s
    refund_from_s = _refund_from(pieces, checkpoint) if funded and outcome == "node_failure" else FOREVER_S
    return DerivedRun(
        facts.job,
        attempt.name,
        ordinal,
        terms,
        account,
        funded,
        reason,
        start_s,
        end_s,
        outcome,
        exit_code,
        placements,
        sum([milli for _, milli, _ in placements]),
        at_start[0],
        pools,
        pieces,
        pauses,
        contract_end_s,
        refund_from_s,
        checkpoint,
        tuple(flags),
        told,
    )


def _gave_way(attempt: Attempt, end: End) -> bool:
    """Whether the run ended because it was ordered off, however its source calls that."""
    return end.outcome in GIVES_WAY and end.at_s >= attempt.orders[0][0] - CLOCKS_APART_S


def _job_end(facts: JobFacts, start_s: int, next_start_s: int, again: Start | None) -> End | None:
    """The end told of the job alone, as the attempt running then sees it; none after a second start."""
    told = facts.ended if again is None else [e for e in facts.ended if e[:3] < again[:3]]
    return next((e for e in reversed(told) if start_s <= e.at_s < next_start_s), None)


def funding(terms: Terms, pools: tuple[str, ...], at_s: int, world: World) -> tuple[str, str]:
    """(booked account, reason it is not funded or '') of terms that start at an instant in these pools."""
    account = terms.account
    if not account:
        return "", "no_account"
    trees = [world.tree_at(pool, at_s) for pool in pools]
    booked = account
    for tree in trees:
        if account in tree.interior:
            booked = tree.own(account)
            break
    if terms.min_runtime_s <= 0:
        return account, "no_min_runtime"
    if terms.min_runtime_s > world.policy_at(at_s).max_min_runtime_s:
        return account, "min_runtime_over_maximum"
    reason = ""
    for pool, tree in zip(pools, trees, strict=True):
        if tree.leaves.get(booked) or world.granted(pool, booked, at_s):
            continue
        if booked not in tree.leaves:
            return account, "unknown_account"
        reason = "zero_share"
    return (account if reason else booked), reason


def _pools(
    placements: tuple[Placed, ...], terms: Terms, start_s: int, end_s: int, world: World
) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
    """(pool per placement or () if one changes, pools at the start, whether a node is unknown)."""
    pools: list[str] = []
    at_start: dict[str, None] = {}
    mixed = unknown = False
    for node, _, _ in placements:
        types = world.node_types(node)
        if not types:
            unknown = True
            pool = terms.gpu_type or UNKNOWN_POOL
        else:
            pool = types[0][1]
            for since, gpu_type in types[1:]:
                if since <= start_s:
                    pool = gpu_type
                elif since < end_s:
                    mixed = True
        pools.append(pool)
        at_start[pool] = None
    return (() if mixed else tuple(pools)), tuple(at_start), unknown


def _pauses(attempt: Attempt, start_s: int, end_s: int) -> tuple[Pause, ...]:
    """The run's pauses in order, without overlap, inside [start, end)."""
    full, toggles = attempt.full, attempt.spoken()
    if not toggles and (full is None or not (full.pauses or full.suspended_s)):
        return ()
    told: list[Pause] = []
    if full is not None and full.suspended_s:
        until = end_s if end_s != FOREVER_S else full.at_s
        told.append((max(start_s, until - full.suspended_s), until, False))
    elif full is not None:
        stated = ((since, FOREVER_S if until is None else until, releases) for since, until, releases in full.pauses)
        told += _one_after_another(stated, -FOREVER_S, FOREVER_S)
    for toggle in toggles:
        is_open = bool(told) and told[-1][1] == FOREVER_S
        if toggle.suspends and not is_open:
            told.append((toggle.at_s, FOREVER_S, toggle.releases))
        elif is_open and not toggle.suspends:
            told[-1] = (told[-1][0], toggle.at_s, told[-1][2])
    return _one_after_another(told, start_s, end_s)


def _one_after_another(told: Iterable[Pause], start_s: int, end_s: int) -> tuple[Pause, ...]:
    """Each from where the last one ended; of those that begin together, in the order they were told."""
    placed: list[Pause] = []
    free_from = start_s
    for since, until, releases in sorted(told, key=lambda pause: pause[0]):
        a, b = max(since, free_from), min(until, end_s)
        if a < b:
            placed.append((a, b, releases))
            free_from = b
    return tuple(placed)


def _pieces(start_s: int, end_s: int, pauses: tuple[Pause, ...], min_runtime_s: int | None) -> tuple[Piece, ...]:
    """The run cut into classes; `min_runtime_s` None for an unfunded run."""
    pieces: list[Piece] = []
    left = min_runtime_s
    at = start_s
    for since, until, releases in (*pauses, (end_s, end_s, True)):
        if at < since:
            if left is None:
                pieces.append(Piece(at, since, UNFUNDED))
            elif left >= since - at:
                pieces.append(Piece(at, since, PROTECTED))
                left -= since - at
            else:
                if left:
                    pieces.append(Piece(at, at + left, PROTECTED))
                pieces.append(Piece(at + left, since, INTERRUPTIBLE))
                left = 0
        if not releases:
            pieces.append(Piece(since, until, SUSPENDED))
        at = until
    return tuple(pieces)


def contract_end(start_s: int, pauses: tuple[Pause, ...], min_runtime_s: int) -> int:
    """The instant at which the minimum runtime is banked; FOREVER_S while a pause that has no end holds it up."""
    at, left = start_s, min_runtime_s
    for since, until, _ in pauses:
        if since - at >= left:
            break
        left -= since - at
        if until == FOREVER_S:
            return FOREVER_S
        at = until
    return at + left


def _refund_from(pieces: tuple[Piece, ...], checkpoint_s: int | None) -> int:
    """Where the stretch given back begins: four hours of running, or since the last checkpoint."""
    left = REFUND_S
    begin = FOREVER_S
    for piece in reversed(pieces):
        if piece.class_ == SUSPENDED:
            continue
        begin = piece.b_s - min(left, piece.b_s - piece.a_s)
        left -= piece.b_s - begin
        if not left:
            break
    return begin if checkpoint_s is None else max(begin, checkpoint_s)


def ran_s(run: DerivedRun, until_s: int) -> int:
    """Running time of a run before an instant, seconds."""
    return sum(min(p.b_s, until_s) - p.a_s for p in run.pieces if p.class_ != SUSPENDED and p.a_s < until_s)


def remaining_contract_s(run: DerivedRun, at_s: int) -> int:
    """Minimum runtime of a funded run not yet banked at an instant inside it; 0 while its GPUs are released."""
    if not run.funded or not run.start_s < at_s < run.end_s:
        return 0
    if any(a <= at_s < b and releases for a, b, releases in run.pauses):
        return 0
    return max(0, run.terms.min_runtime_s - ran_s(run, at_s))
