"""The order of the queue is published by few calls, only where the cluster enforces, and taken back."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from enforcer.actuators.slurm import Failed
from enforcer.actuators.slurm_queue import AGAIN_S, EVERY_S, MOST, Publishing
from enforcer.orders import REFUSED, UNREACHABLE
from ledger.state import State
from tests.support.folded import folded
from tests.support.said import node, opens, s, shares, started, submitted, tick


class Queue:
    """Slurm's, as far as priorities go; `wrong` is what it answers to changes."""

    def __init__(self, shown: dict[str, int], wrong: Failed | None = None) -> None:
        self.shown = shown
        self.wrong = wrong
        self.looks = 0
        self.said: list[str] = []

    def priorities(self) -> Mapping[str, int] | Failed:
        self.looks += 1
        return dict(self.shown)

    def prioritise(self, job: str, priority: int) -> Failed | None:
        self.said.append(job)
        if self.wrong is None:
            self.shown[job] = priority
        return self.wrong

    def give_back(self, jobs: Sequence[str]) -> Failed | None:
        self.said.append(f"back {','.join(jobs)}")
        self.shown |= dict.fromkeys(jobs, 100_000)
        return self.wrong

    @property
    def order(self) -> list[str]:
        return sorted(self.shown, key=lambda job: -self.shown[job])


def state(mode: str = "enforce", waiting: int = 3) -> State:
    """lab/b has the node; of those that wait it asked first, and lab/a goes before it."""
    said: list[Any] = [
        opens("08:00", enforcement=mode),
        node("08:00", "n", 4),
        shares("08:00", "lab", {"a": 50, "b": 50}),
        submitted("08:00", "run", account="lab/b", gpus=4, min_runtime_s=8 * 3600),
        started("08:00", "run", on={"n": 4}),
        *(submitted("09:00", f"{n + 10}", account="lab/b", gpus=1) for n in range(waiting - 1)),
        submitted("09:30", "7_3", account="lab/a", gpus=1),
        tick("10:00"),
    ]
    return folded(said).book.state


def test_the_better_ranked_gets_the_higher_number_and_is_named_as_slurm_names_it():
    slurm = Queue({"10": 100_002, "11": 100_001, "7": 100_000, "99": 5})
    publishing = Publishing(slurm, wanted=True)
    publishing.look(state(), s("10:00"))
    assert slurm.order == ["7", "10", "11", "99"]
    assert slurm.shown["99"] == 5, "what has no place with us is left alone"


def test_nothing_is_said_twice():
    slurm = Queue({"10": 3, "11": 2, "7": 1})
    publishing, known = Publishing(slurm, wanted=True), state()
    for second in range(AGAIN_S):
        publishing.look(known, s("10:00") + second)
    assert (len(slurm.said), slurm.looks) == (3, 1)
    slurm.shown["10"] = 3
    publishing.look(known, s("10:00") + AGAIN_S)
    assert slurm.said[3:] == ["10"], "what somebody else changed is put right after a while"
    Publishing(slurm, wanted=True).look(known, s("11:00"))
    assert len(slurm.said) == 4, "what is published stands in Slurm: a new enforcer finds it"


def test_a_round_changes_so_many_and_the_first_in_line_first():
    jobs = sorted(f"{n + 10}" for n in range(2 * MOST))
    slurm = Queue(dict.fromkeys(jobs, 100_000))
    publishing, known = Publishing(slurm, wanted=True), state(waiting=2 * MOST + 1)
    publishing.look(known, s("10:00"))
    publishing.look(known, s("10:00") + EVERY_S - 1)
    assert slurm.said == jobs[:MOST]
    publishing.look(known, s("10:00") + EVERY_S)
    publishing.look(known, s("10:00") + 2 * EVERY_S)
    assert slurm.order == jobs
    numbers = [slurm.shown[job] for job in slurm.order]
    assert all(first > second for first, second in itertools.pairwise(numbers))


def test_what_was_published_is_taken_back_once_it_is_not_wanted_or_nothing_is_enforced():
    for wanted, mode in ((False, "enforce"), (True, "observe"), (True, "paused")):
        slurm = Queue({"10": 100_000, "11": 3_000_000_000, "7": 3_000_000_001, "8": 4_294_901_000})
        publishing, known = Publishing(slurm, wanted=wanted), state(mode)
        for second in range(AGAIN_S):
            publishing.look(known, s("10:00") + second)
        assert slurm.said == ["back 11,7"]
        assert slurm.looks == 1


def test_a_refusal_is_told_once_and_asked_again(caplog):
    slurm = Queue({"10": 3, "11": 2, "7": 1}, Failed(REFUSED, "Tenure has to be an operator"))
    publishing, known = Publishing(slurm, wanted=True), state()
    publishing.look(known, s("10:00"))
    publishing.look(known, s("10:00") + EVERY_S)
    assert len(slurm.said) == 6
    assert [record.getMessage() for record in caplog.records] == [
        "c: the order of the queue is not published: Tenure has to be an operator"
    ]
    slurm.wrong = Failed(UNREACHABLE, "slurmctld does not answer")
    publishing.look(known, s("10:00") + 2 * EVERY_S)
    assert len(slurm.said) == 7, "who does not answer is not asked for the others"
