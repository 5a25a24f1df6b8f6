"""A past as it was, as it plays without enforcement, and as it plays with it. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from enforcer.whatif.beginning import begun
from enforcer.whatif.cluster import SOURCE, Cluster
from enforcer.whatif.figures import Figures, figures
from enforcer.whatif.past import read
from ledger.acts import Plan
from ledger.state import State
from ledger.units import DAY_S, HOUR_S

LOOK_S: Final = 600
"""How often the played scheduler and enforcer look: what waits for them waits so long at most."""
RECORDED, WITHOUT, WITH = "recorded", "without", "with"
SIDES: Final = (RECORDED, WITHOUT, WITH)


class Unplayable(Exception):
    """A span that cannot be played, or was not played whole; the sentence says why."""


class Yielded(NamedTuple):
    """A run that a plan orders off."""

    job: str
    attempt: str
    account: str
    class_: str
    rule: str
    gpus_milli: int
    lost_gpu_ms: int


class Made(NamedTuple):
    """A plan that enforcement would have made; `why` is how it ended, '' while it is open. A drain has no job."""

    at_s: int
    plan: str
    pool: str
    job: str
    account: str
    gpus_milli: int
    rule: str
    lost_gpu_ms: int
    why: str
    victims: tuple[Yielded, ...]


@dataclass(frozen=True)
class WhatIf:
    """The answer. `unknown` counts works whose length had to be assumed; `policy` is under what it was played."""

    cluster: str
    from_s: int
    until_s: int
    seq: int
    policy: str
    look_s: int
    works: int
    unknown: int
    sides: dict[str, Figures]
    plans: tuple[Made, ...]


def what_if(
    state: State, from_s: int, until_s: int, look_s: int = LOOK_S, told: Callable[[int], None] | None = None
) -> WhatIf:
    """Play [from, until), whole hours that are closed and kept, twice; `told` of each day played. Raises Unplayable."""
    _check(state, from_s, until_s)
    played = {WITHOUT: _played(state, from_s, until_s, look_s, told, enforces=False)}
    played[WITH] = _played(state, from_s, until_s, look_s, told, enforces=True)
    past = read(state, from_s, until_s)
    sides = {RECORDED: figures(state, from_s, until_s, past.classes)}
    sides |= {name: figures(cluster.book.state, from_s, until_s, past.classes) for name, cluster in played.items()}
    return WhatIf(
        state.cluster,
        from_s,
        until_s,
        state.seq,
        policy_words(state, until_s, look_s),
        look_s,
        len(past.coming) + len(past.running),
        past.unknown,
        sides,
        tuple(_made(plan) for plan in played[WITH].book.state.acts.plans.values()),
    )


def policy_words(state: State, at_s: int, look_s: int = LOOK_S) -> str:
    """What a result is kept under: the same span may be played under another policy."""
    policy = state.policy_at(at_s)._asdict()
    del policy["enforcement"], policy["horizon_h"]
    return ", ".join(f"{name}={value}" for name, value in {**policy, "look_s": look_s}.items())


def _check(state: State, from_s: int, until_s: int) -> None:
    if from_s % HOUR_S or until_s % HOUR_S or until_s <= from_s:
        raise Unplayable("a span is of whole hours, and ends after it begins")
    if from_s < state.kept_from_s or until_s > state.closed_until_s or state.opens_s is None:
        raise Unplayable("the book no longer keeps, or has not yet closed, every hour of the span")


def _played(
    state: State, from_s: int, until_s: int, look_s: int, told: Callable[[int], None] | None, *, enforces: bool
) -> Cluster:
    """The past played to the end of its last hour, which is then closed."""
    cluster = begun(state, read(state, from_s, until_s), "enforce" if enforces else "paused", look_s)
    while cluster.now_s < until_s:
        cluster.play(min(until_s, cluster.now_s + DAY_S))
        if told is not None:
            told(1)
    cluster.close()
    _check_told(cluster)
    return cluster


def _check_told(cluster: Cluster) -> None:
    """What the enforcer decides may be refused, as anywhere; what happened may not: the play would lack it."""
    lacks = [why for source, why in cluster.refused if source == SOURCE]
    if lacks:
        raise Unplayable(f"the book of the play did not take {len(lacks)} of what happened in it, first: {lacks[0]}")


def _made(plan: Plan) -> Made:
    made, asker = plan.made, plan.made.asker
    return Made(
        made.committed_s,
        made.plan,
        made.pool,
        asker.job if asker is not None else "",
        asker.account if asker is not None else "",
        asker.pieces * asker.piece_milli if asker is not None else 0,
        made.rule,
        sum(victim.lost_gpu_ms for victim in made.victims),
        plan.expired.why if plan.expired is not None else "",
        tuple(
            Yielded(v.job, v.attempt, v.account, v.class_, v.rule, v.gpus_milli, v.lost_gpu_ms) for v in made.victims
        ),
    )
