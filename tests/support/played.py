"""Scenarios of enforcement over time, as text. See tests/scenarios/enforcement/README.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

from ledger.units import DAY_S, GPU_MILLI, instant
from tests.support.enforcing import START_S, Work, World
from tests.support.planning import seconds

FLAGS = ("resumable", "again", "stays")


class WrongPlay(Exception):
    """A line that cannot be read, or whose expectation does not hold."""


class Play:
    """One cluster, told line by line."""

    def __init__(self) -> None:
        self.world = World()
        self.later: list[Work] = []
        self.windows: dict[str, tuple[str, int, int]] = {}

    def take(self, line: str) -> None:
        word, *rest = line.split()
        getattr(self, f"_{word}")(rest)

    # ------------------------------------------------------------------ what is there

    def _policy(self, words: list[str]) -> None:
        values: dict[str, Any] = dict(word.split("=") for word in words)
        opening: dict[str, object] = {} if self.world.book.state.hours else {"opens_at": instant(START_S)}
        self.world.say("policy.set", author="ann", **opening, **values)

    def _nodes(self, words: list[str]) -> None:
        *names, gpus = words
        for name in names:
            self.world.add_node(name, int(gpus))

    def _node(self, words: list[str]) -> None:
        name, state = words
        self.world.add_node(name, self.world.sizes[name] // GPU_MILLI, state)

    def _shares(self, words: list[str]) -> None:
        parts = dict(word.split("=") for word in words)
        children = [{"child": child, "share_percent": share} for child, share in parts.items()]
        self.world.say("shares.set", author="ann", parent="lab", children=children, expected_revision=0)

    def _equals(self, words: list[str]) -> None:
        """`equals 24 c`: accounts c1 to c24 of equal shares."""
        number, stem = int(words[0]), words[1]
        share = f"{100 / number:.6f}"[:-1]
        self._shares([f"{stem}{n}={share}" for n in range(1, number + 1)])

    def _job(self, words: list[str]) -> None:
        self._submit(self._work(words))

    def _each(self, words: list[str]) -> None:
        """`each 24 j of c 1x1 …`: job j1 of c1, j2 of c2 and so on."""
        number, stem, _, account, *rest = words
        for n in range(1, int(number) + 1):
            self._submit(self._work([f"{stem}{n}", "of", f"{account}{n}", *rest]))

    def _submit(self, work: Work) -> None:
        if work.from_s:
            work.from_s += self.world.now_s - START_S
            self.later.append(work)
        else:
            self.world.submit(work)

    def _work(self, words: list[str]) -> Work:
        name, _, account, shape, *rest = words
        pieces, gpus = map(int, shape.split("x"))
        flags: dict[str, Any] = {flag: flag in rest for flag in FLAGS}
        rest = [word for word in rest if word not in FLAGS]
        given = dict(zip(rest[::2], rest[1::2], strict=True))
        times = {"min": "min_runtime_s", "checkpoint": "checkpoint_s", "length": "left_s", "leaves": "leaves_s"}
        fields: dict[str, Any] = {times[key]: seconds(value) for key, value in given.items() if key in times}
        fields["from_s"] = seconds(given.get("from", "0s"))
        fields.setdefault("min_runtime_s", 0)
        return Work(
            name, f"lab/{account}", pieces, gpus * GPU_MILLI, kind=given.get("kind", "batch"), **flags, **fields
        )

    def _window(self, words: list[str]) -> None:
        """`window w on n1 in 1h for 2h`, and `window w cancelled`."""
        name, *rest = words
        if rest == ["cancelled"]:
            self.world.maintain(name, *self.windows.pop(name), cancelled=True)
            return
        given = dict(zip(rest[::2], rest[1::2], strict=True))
        since_s = self.world.now_s + seconds(given["in"])
        self.windows[name] = (given["on"], since_s, since_s + seconds(given["for"]))
        self.world.maintain(name, *self.windows[name])

    def _thief(self, words: list[str]) -> None:
        """`thief takes n1 8 when a node is kept`: somebody past the scheduler is faster than the asker."""
        node, gpus = words[1], int(words[2])
        self.world.thief = (node, gpus)

    # ------------------------------------------------------------------ time

    def _without(self, words: list[str]) -> None:
        """`without R2`."""
        assert words == ["R2"]
        self.world.rebalance = False

    def _every(self, words: list[str]) -> None:
        """How often somebody looks, at least."""
        self.world.look_s = seconds(words[0])

    def _for(self, words: list[str]) -> None:
        until_s = self.world.now_s + seconds(words[0])
        later, self.later = (
            [w for w in self.later if START_S + w.from_s < until_s],
            [w for w in self.later if START_S + w.from_s >= until_s],
        )
        self.world.play_on(until_s, later)

    # ------------------------------------------------------------------ what came of it

    def _expect(self, words: list[str]) -> None:
        what, *rest = words
        found: Callable[[list[str]], object] = getattr(self, f"_{what}_is")
        *about, want = rest
        got = found(about)
        if not _within(got, want):
            raise WrongPlay(f"it is {got}")

    def _preemptions_is(self, about: list[str]) -> int:
        counts = self.world.preempted
        return counts[f"lab/{about[0]}"] if about else sum(counts.values())

    def _acts_is(self, about: list[str]) -> int:
        """Events of the enforcer of one kind: `committed`, `issued`, `settled`, `held`, `expired`."""
        return sum(act.type.split(".")[2] == about[0] for act in self.world.acts)

    def _why_is(self, about: list[str]) -> int:
        return sum(act.data.why == about[0] for act in self.world.acts if act.type == "tenure.plan.expired.v1")

    def _settled_is(self, about: list[str]) -> int:
        settled = [act for act in self.world.acts if act.type == "tenure.preemption.settled.v1"]
        return sum(act.data.outcome == about[0] for act in settled)

    def _victims_is(self, about: list[str]) -> str:
        """Who the n-th plan names, sorted."""
        plans = [act for act in self.world.acts if act.type == "tenure.plan.committed.v1"]
        return ",".join(sorted(victim.job for victim in plans[int(about[0]) - 1].data.victims))

    def _share_is(self, about: list[str]) -> Fraction:
        return Fraction(self.world.ran_gpu_s[f"lab/{about[0]}"], sum(self.world.ran_gpu_s.values()))

    def _lost_is(self, about: list[str]) -> Fraction:
        return Fraction(sum(self.world.lost_gpu_s.values()), sum(self.world.ran_gpu_s.values()))

    def _wasted_is(self, about: list[str]) -> Fraction:
        """GPU-seconds of holds for nothing."""
        over = [act for act in self.world.acts if act.type == "tenure.plan.expired.v1"]
        return Fraction(sum(act.data.wasted_gpu_ms for act in over), 1000)

    def _running_is(self, about: list[str]) -> str:
        return ",".join(sorted(self.world.running))

    def _refused_is(self, about: list[str]) -> int:
        return len(self.world.refused)

    def _halfweek_is(self, about: list[str]) -> Fraction:
        """The least of an account's share of what ran in any half week, from when it is first asked for."""
        return self.world.least_share(f"lab/{about[0]}", 7 * DAY_S // 2)

    def _often_is(self, about: list[str]) -> int:
        """How often the most preempted account was."""
        return max(self.world.preempted.values(), default=0)

    def _spread_is(self, about: list[str]) -> Fraction:
        """How far the accounts' GPU time lies from their mean at most, as a part of it."""
        ran: Counter[str] = self.world.ran_gpu_s
        mean = Fraction(sum(ran.values()), len(ran))
        return max(abs(amount - mean) for amount in ran.values()) / mean


def _within(got: object, want: str) -> bool:
    if isinstance(got, str):
        return got == want or (want == "nobody" and not got)
    assert isinstance(got, int | Fraction)
    low, _, high = want.partition("..")
    return Fraction(low) <= got <= Fraction(high or low)


def judge(lines: Iterable[str], name: str) -> None:
    """Play every scenario of a text; raises WrongPlay with the line at fault."""
    play = Play()
    for number, raw in enumerate(lines, start=1):
        line = raw.partition("#")[0].strip()
        if not line:
            continue
        if line.startswith("=="):
            play = Play()
            continue
        try:
            play.take(line)
        except (WrongPlay, ValueError, KeyError, AttributeError, IndexError) as why:
            raise WrongPlay(f"{name}:{number}: {line}: {why}") from why
