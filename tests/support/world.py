"""A small world for runs: one tree, one node. Seconds are small on purpose."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from ledger.jobs import JobFacts
from ledger.policy import DEFAULT, Policy
from ledger.statements import End, Start, Submitted, Terms, Toggle
from ledger.tree import ShareTree

TREE = ShareTree({"lab/a": Fraction(1, 2), "lab/z": Fraction(0), "lab/.": Fraction(1, 2)}, frozenset({"lab"}), {})
NO_TREE = ShareTree({}, frozenset(), {})
FUNDED = Terms(user="ann", account="lab/a", min_runtime_s=100)


@dataclass
class World:
    """What the runs of these tests see around them."""

    trees: dict[str, ShareTree] = field(default_factory=lambda: {"h100": TREE})
    grants: set[tuple[str, str]] = field(default_factory=set)
    types: dict[str, tuple[tuple[int, str], ...]] = field(default_factory=lambda: {"n": ((0, "h100"),)})

    def tree_at(self, pool: str, at_s: int) -> ShareTree:
        return self.trees.get(pool, NO_TREE)

    def granted(self, pool: str, account: str, at_s: int) -> bool:
        return (pool, account) in self.grants

    def policy_at(self, at_s: int) -> Policy:
        return DEFAULT

    def node_types(self, node: str) -> tuple[tuple[int, str], ...]:
        return self.types.get(node, ())


def stamped(kind: Any, at: int, *rest: Any) -> Any:
    """A statement of this kind at a second, under an id of its own."""
    return kind(at * 1_000_000, "s", f"{kind.__name__}{at}", at, *rest)


def job(
    *,
    starts: dict[str, int],
    ends: dict[str, int] | None = None,
    outcome: str = "succeeded",
    terms: Terms = FUNDED,
    toggles: tuple[tuple[int, bool, bool], ...] = (),
    job_ends: tuple[tuple[int, str], ...] = (),
    on: tuple[tuple[str, int], ...] = (("n", 1000),),
) -> JobFacts:
    """Attempts by start and end; pauses are of attempt 1: (at, suspends, releases)."""
    facts = JobFacts("j", submitted=[stamped(Submitted, 0, terms)])
    for name, at in starts.items():
        facts.attempt(name).starts = (stamped(Start, at, tuple((node, milli, ()) for node, milli in on)),)
    for name, at in (ends or {}).items():
        facts.attempt(name).ends = (stamped(End, at, outcome, 0),)
    if toggles:
        facts.attempt("1").toggles = [stamped(Toggle, at, suspends, releases) for at, suspends, releases in toggles]
    facts.ended = [stamped(End, at, how, None) for at, how in job_ends]
    return facts
