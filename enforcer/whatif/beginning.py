"""A cluster as a past begins: nodes, shares and policy as they were, what ran then, and the hours before. Pure."""

from __future__ import annotations

from functools import partial
from typing import Literal

from enforcer.whatif.cluster import Cluster
from enforcer.whatif.past import UNTOLD, Past
from enforcer.whatif.quiet import QuietBook
from enforcer.whatif.work import Work
from ledger.nodes import Node
from ledger.policy import Policies, PolicyChange
from ledger.runs import DerivedRun
from ledger.state import State


def begun(state: State, past: Past, mode: Literal["enforce", "paused"], look_s: int) -> Cluster:
    """The cluster at the span's first instant, under its own policy but for who enforces."""
    cluster = Cluster(_book(state, past, mode), past.from_s, look_s, enforces=mode == "enforce")
    for run in past.running:
        _tell(cluster, run.work, past.before[run.work.name], held=False)
        cluster.expect(run.work)
        run.attempt = str(run.work.attempts)
        if run.saved_s > run.start_s:
            cluster.say_of(run.saved_s, "job.checkpointed", job=run.work.name, attempt=run.attempt)
        cluster.put(run)
    for turn in past.turns:
        if turn.at_s <= past.from_s:
            cluster.turn(*turn[1:])
        else:
            cluster.later(turn.at_s, partial(cluster.turn, *turn[1:]))
    for at_s, work in past.coming:
        if work.name in past.before:
            _tell(cluster, work, past.before[work.name], held=at_s > past.from_s)
        cluster.later(at_s, partial(cluster.submit, work))
    for work in past.aside:
        _tell(cluster, work, past.before[work.name], held=True)
    cluster.book.state.horizon_s = state.horizon_s
    return cluster


def _book(state: State, past: Past, mode: str) -> QuietBook:
    """A book with the decisions and nodes of another, and of its jobs those that are over.

    It has no horizon yet: work that began before the other's is still to be told of.
    """
    made = State(state.cluster, recorded_s=past.from_s, first_node_s=state.first_node_s)
    made.shares, made.grants = state.shares, state.grants
    forced = PolicyChange(0, (("enforcement", mode),))
    made.policies = Policies([*state.policies.changes, forced], state.policies.opens_s)
    made.nodes = {name: Node(name, list(node.statements)) for name, node in state.nodes.items()}
    made.nodes_forgotten()
    made.decided_anew()
    for name in past.over:
        made.jobs[name] = state.jobs[name]
        made.touch(name)
    book = QuietBook(state.cluster)
    book.resume(made)
    return book


def _tell(cluster: Cluster, work: Work, runs: list[DerivedRun], *, held: bool) -> None:
    """What became of work before the span, run by run; `held` if nobody may start it until it is submitted anew."""
    asked_s = min(run.start_s for run in runs)
    cluster.say_of(asked_s, "job.submitted", **work.submission())
    for number, run in enumerate(runs, 1):
        placed = [{"node": node, "gpus_milli": milli} for node, milli, _ in run.placements]
        cluster.say_of(run.start_s, "job.started", job=work.name, attempt=str(number), placements=placed)
        if run.end_s <= cluster.now_s:
            ends = {"job": work.name, "attempt": str(number), "outcome": run.outcome or UNTOLD}
            cluster.say_of(run.end_s, "job.ended", **ends)
    if held:
        cluster.say_of(max(run.end_s for run in runs), "job.updated", job=work.name, held=True)
