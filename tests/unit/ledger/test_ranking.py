"""Who is next: ratios, windows, trees and queues, by arithmetic, upstream's vectors and a literal walk."""

import math
import re
from collections.abc import Iterable
from dataclasses import FrozenInstanceError, dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from ledger.fairtree import Association, countdown, fair_tree, inverse_level_fs
from ledger.ranking import (
    Decay,
    Pending,
    Ranked,
    Ratio,
    Sliding,
    _weight_within,
    rank,
    tie_groups,
    weight,
    weighted_sum,
)

HERE = Path(__file__).resolve().parent
DOCUMENT = (HERE.parents[2] / "docs" / "ranking.md").read_text()

# ---------------------------------------------------------------- Ratio

INT64_MAX = 2**63 - 1
amounts = st.one_of(st.integers(0, 6), st.integers(0, INT64_MAX))
ratios = st.builds(Ratio, amounts, amounts, amounts)


def value(ratio: Ratio) -> tuple[bool, Fraction]:
    """ρ as something Python orders by itself: infinite or not, then the fraction."""
    numerator = ratio.used_gpu_ms + ratio.committed_gpu_ms
    if ratio.claim_gpu_ms == 0:
        return numerator > 0, Fraction(0)
    return False, Fraction(numerator, ratio.claim_gpu_ms)


@given(ratios, ratios)
@example(Ratio(1, 0, 0), Ratio(2, 3, 0))
@example(Ratio(0, 0, 0), Ratio(0, 0, 7))
@example(Ratio(1, 1, 4), Ratio(1, 0, 2))
@example(Ratio(INT64_MAX, 0, INT64_MAX - 1), Ratio(INT64_MAX - 1, 0, INT64_MAX - 2))
def test_ratios_compare_as_fractions_with_one_infinity(a: Ratio, b: Ratio):
    assert (a < b) is (value(a) < value(b))
    assert (a <= b) is (value(a) <= value(b))
    assert (a > b) is (value(a) > value(b))
    assert (a >= b) is (value(a) >= value(b))
    assert (a == b) is (value(a) == value(b))
    if a == b:
        assert hash(a) == hash(b)


@given(ratios, st.integers(1, 1000))
def test_terms_do_not_matter(ratio: Ratio, factor: int):
    scaled = Ratio(factor * ratio.committed_gpu_ms, factor * ratio.used_gpu_ms, factor * ratio.claim_gpu_ms)
    assert scaled == ratio
    assert len({scaled, ratio}) == 1


@given(ratios)
def test_a_ratio_shows_its_value(ratio: Ratio):
    infinite, fraction = value(ratio)
    if infinite:
        assert ratio.display() == math.inf
        with pytest.raises(OverflowError, match="infinity"):
            ratio.as_fraction()
    else:
        assert ratio.as_fraction() == fraction
        assert ratio.display() == float(fraction)


def test_floats_would_tie_what_differs():
    less = Ratio(2**62, 0, 2**62 + 1)
    more = Ratio(2**62 + 1, 0, 2**62 + 2)
    assert less.display() == more.display()
    assert less < more


def test_only_infinity_is_what_used_without_a_claim_is():
    assert Ratio(0, 1, 0) == Ratio(1, 0, 0) > Ratio(INT64_MAX, 0, 1)
    assert Ratio(0, 0, 0) == Ratio(0, 0, 1) < Ratio(1, 0, INT64_MAX)


def test_a_ratio_is_a_value():
    ratio = Ratio(1, 2, 3)
    with pytest.raises(FrozenInstanceError):
        ratio.used_gpu_ms = 5  # type: ignore[misc]
    assert ratio != Fraction(1)
    with pytest.raises(TypeError):
        _ = ratio < Fraction(2)
    for terms in [(-1, 0, 1), (0, -1, 1), (0, 0, -1)]:
        with pytest.raises(ValueError, match="negative"):
            Ratio(*terms)


# ---------------------------------------------------------------- windows and weights


@given(st.integers(1, 400), st.integers(0, 3000))
@example(84, 84)
@example(1, 32)
@example(1, 33)
@example(8784, 1)
@example(8784, 8783)
def test_a_weight_is_the_floored_root(half_life_h: int, age_h: int):
    root = weight(age_h, half_life_h)
    power = Fraction(2) ** (32 * half_life_h - age_h)
    assert root**half_life_h <= power < (root + 1) ** half_life_h


def test_weights_that_can_be_looked_up():
    assert weight(0, 84) == 2**32
    assert weight(84, 84) == 2**31
    assert weight(32 * 84, 84) == 1
    assert weight(32 * 84 + 1, 84) == 0
    assert weight(1, 2) == 3_037_000_499  # floor(2^31.5), as in floor(sqrt(2^63))
    assert weight(1, 3) == 3_408_917_801  # floor(2^(95/3))


@pytest.mark.parametrize("guard_bits", [1, 2, 5, 64, 200])
def test_bounds_too_wide_to_tell_are_tightened(guard_bits: int):
    got = [_weight_within(rest_h, 168, guard_bits) for rest_h in range(168)]
    assert got == [weight(rest_h, 168) for rest_h in range(168)]


hours = st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 10**12)), max_size=30)


@given(hours, st.integers(0, 1000), st.integers(1, 300))
def test_a_sliding_window_is_the_hours_in_it(pairs: list[tuple[int, int]], at_hour: int, window_h: int):
    inside = range(at_hour - window_h, at_hour + 1)
    expected = sum(amount for hour, amount in pairs if hour in inside)
    assert weighted_sum(pairs, at_hour, Sliding(window_h)) == expected


def test_the_default_window_is_a_week_and_the_open_hour():
    pairs = [(832, 1), (831, 10), (1000, 100), (1001, 1000)]
    assert weighted_sum(pairs, 1000, Sliding()) == 101


@given(hours, st.integers(0, 1000), st.sampled_from([1, 7, 84, 168]))
def test_decay_sums_weights_and_floors_once(pairs: list[tuple[int, int]], at_hour: int, half_life_h: int):
    exact = sum(
        (amount * Fraction(weight(at_hour - hour, half_life_h), 2**32) for hour, amount in pairs if hour <= at_hour),
        Fraction(0),
    )
    got = weighted_sum(pairs, at_hour, Decay(half_life_h))
    assert got == math.floor(exact)
    assert weighted_sum(reversed(pairs), at_hour, Decay(half_life_h)) == got


def test_decay_by_hand():
    pairs = [(10, 800), (9, 800), (8, 800), (7, 801), (11, 800)]
    assert weighted_sum(pairs, 10, Decay(1)) == 800 + 400 + 200 + 100
    assert weighted_sum([(-74, 800)], 10, Decay()) == 400


@pytest.mark.parametrize("weighting", [Sliding, Decay])
def test_a_weighting_of_nothing_is_refused(weighting: type[Sliding] | type[Decay]):
    with pytest.raises(ValueError, match="at least 1 h"):
        weighting(0)


# ---------------------------------------------------------------- trees: upstream's vectors


@dataclass(frozen=True, slots=True)
class Vector:
    """One tree of vectors_fairtree.txt with what must come out of it."""

    name: str
    rows: list[Association]
    level_fs: dict[str, str]
    ranks: dict[str, int]
    upstream_ranks: dict[str, int]
    upstream_order: list[str]


def parse_tree(lines: list[str]) -> list[Association]:
    rows: list[Association] = []
    above: dict[int, str] = {}
    for line in lines:
        name, shares, *usage = line.replace("*", "").split()
        depth = (len(line) - len(line.lstrip())) // 4
        above[depth] = name
        rows.append(
            Association(
                name,
                parent=above[depth - 1] if depth else None,
                shares=None if shares == "parent" else int(shares),
                usage=int(usage[0]) if usage else 0,
                user="*" in line,
            )
        )
    return rows


def parse_ranks(lines: list[str]) -> dict[str, int]:
    return {name: int(line.split()[0]) for line in lines for name in line.split()[1:]}


def parse_vectors(text: str) -> list[Vector]:
    plain = "\n".join(line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    vectors = []
    for block in plain.split("== ")[1:]:
        name, *sections = re.split(r"\n\[(.+)\]", block)
        parts = {title: body.strip("\n").split("\n") for title, body in zip(sections[::2], sections[1::2], strict=True)}
        vectors.append(
            Vector(
                name,
                parse_tree(parts["tree"]),
                dict(line.split() for line in parts.get("level fs", [])),
                parse_ranks(parts["ranks"]),
                parse_ranks(parts.get("upstream ranks", [])),
                " ".join(parts.get("upstream order", [])).split(),
            )
        )
    return vectors


VECTORS = {vector.name: vector for vector in parse_vectors((HERE / "vectors_fairtree.txt").read_text())}
each_vector = pytest.mark.parametrize("vector", VECTORS.values(), ids=VECTORS.keys())


def test_all_vectors_are_read():
    users = {name: len(vector.ranks) for name, vector in VECTORS.items()}
    assert users == {
        "slurm test24.4": 21,
        "flux no_tie": 7,
        "flux tie": 8,
        "flux tie_all": 9,
        "flux zero_shares": 8,
        "flux tie_diff_type": 6,
    }


@each_vector
def test_users_rank_as_the_vector_says(vector: Vector):
    assert countdown(fair_tree(vector.rows)) == vector.ranks


@each_vector
def test_level_fs_is_what_upstream_prints(vector: Vector):
    inverse = inverse_level_fs(vector.rows)
    for name, printed in vector.level_fs.items():
        denominator, numerator = inverse[name].terms
        assert f"{Ratio(numerator, 0, denominator).display():.6f}" == printed, name


@each_vector
def test_upstream_order_never_goes_back_to_a_better_group(vector: Vector):
    if vector.upstream_order:
        assert sorted(vector.upstream_order) == sorted(vector.ranks)
        along = [vector.ranks[name] for name in vector.upstream_order]
        assert along == sorted(along, reverse=True)


def test_a_tied_user_stands_before_the_accounts_best():
    groups = fair_tree(VECTORS["flux tie_diff_type"].rows)
    assert groups[2] == ["leaf.0.1", "leaf.1.3"]


def test_one_slurm_rank_is_rounding():
    vector = VECTORS["slurm test24.4"]
    inverse = inverse_level_fs(vector.rows)
    assert {inverse[name].as_fraction() for name in ("uD2", "uD3", "uDA3")} == {Fraction(17, 22)}
    assert (40 / 170) / (20 / 110) != (50 / 170) / (25 / 110)
    different = {name for name, at in (vector.ranks | vector.upstream_ranks).items() if vector.ranks[name] != at}
    assert different == {"uD2"}


@each_vector
def test_the_order_of_the_rows_does_not_matter(vector: Vector):
    assert fair_tree(reversed(vector.rows)) == fair_tree(vector.rows)


NESTED = """
a 1
    b parent
        c parent
            *x 3 6
        *y 1 2
    *z 4 8
    *free parent 0
*w 1 16
"""


def test_an_account_that_uses_its_parents_shares_is_no_level():
    rows = parse_tree(NESTED.strip().split("\n"))
    inverse = inverse_level_fs(rows)
    assert set(inverse) == {"a", "x", "y", "z", "free", "w"}
    assert {inverse[name].as_fraction() for name in "axyzw"} == {1}
    assert fair_tree(rows) == [["w", "free"], ["x", "y", "z"]]
    assert countdown(fair_tree(rows)) == {"w": 5, "free": 5, "x": 3, "y": 3, "z": 3}


def test_no_shares_is_last_even_unused():
    rows = parse_tree(["*idle 0 0", "*heavy 1 9", "*light 9 1"])
    assert fair_tree(rows) == [["light"], ["heavy"], ["idle"]]


def test_broken_trees_are_refused():
    account = Association("a", None, 1, 0, user=False)
    user = Association("u", "a", 1, 5, user=True)
    with pytest.raises(ValueError, match="given twice"):
        fair_tree([account, user, user])
    with pytest.raises(ValueError, match="u has no account a above it"):
        fair_tree([user])
    with pytest.raises(ValueError, match="v has no account u above it"):
        fair_tree([account, user, Association("v", "u", 1, 0, user=True)])
    with pytest.raises(ValueError, match="b has no account a above it"):
        fair_tree([replace(account, parent="b"), replace(account, name="b", parent="a"), user])


# ---------------------------------------------------------------- trees: a literal walk beside the sort


@dataclass(slots=True)
class Node:
    """A leaf (a user, in Slurm's words) when nothing is below it."""

    name: str
    rho: Ratio
    below: list["Node"] = field(default_factory=list)


def walk(level: list[Node], *, merge: bool) -> list[set[str]]:
    """Depth first, best first, users before tied accounts: as Slurm's page (merge) or its code (not) does."""
    groups: list[set[str]] = []

    def visit(level: list[Node], *, tied: bool) -> None:
        rest = sorted(level, key=lambda node: (node.rho, bool(node.below)))
        while rest:
            node, *rest = rest
            if node.below:
                twins = [other for other in rest if merge and other.rho == node.rho]
                rest = rest[len(twins) :]
                visit([child for account in (node, *twins) for child in account.below], tied=tied)
            elif tied:
                groups[-1].add(node.name)
            else:
                groups.append({node.name})
            tied = bool(rest) and rest[0].rho == node.rho

    visit(level, tied=False)
    return groups


def grow(rows: list[Association], inverse: dict[str, Ratio], parent: str | None = None) -> list[Node]:
    """The vector's tree for `walk`, accounts that use their parent's shares dissolved."""
    nodes: list[Node] = []
    for row in (row for row in rows if row.parent == parent):
        below = grow(rows, inverse, row.name)
        nodes += [Node(row.name, inverse[row.name], below)] if row.name in inverse else below
    return nodes


@each_vector
def test_the_vectors_that_tell_merging_from_not(vector: Vector):
    tree = grow(vector.rows, inverse_level_fs(vector.rows))
    groups = [set(group) for group in fair_tree(vector.rows)]
    assert walk(tree, merge=True) == groups
    discriminating = {"flux tie", "flux tie_all", "flux zero_shares"}
    assert (walk(tree, merge=False) != groups) is (vector.name in discriminating)


def test_without_merging_the_flux_leaf_would_come_later():
    vector = VECTORS["flux tie"]
    apart = walk(grow(vector.rows, inverse_level_fs(vector.rows)), merge=False)
    assert apart[2:] == [{"leaf.1.3"}, {"leaf.1.1", "leaf.1.2", "leaf.2.3"}, {"leaf.2.1", "leaf.2.2"}]


few_ratios = st.sampled_from(
    [
        Ratio(0, 0, 0),
        Ratio(0, 0, 5),
        Ratio(1, 0, 2),
        Ratio(1, 1, 4),
        Ratio(1, 0, 1),
        Ratio(3, 0, 2),
        Ratio(1, 0, 0),
    ]
)
levels = st.recursive(
    st.lists(st.builds(Node, st.just(""), few_ratios), min_size=1, max_size=4),
    lambda below: st.lists(
        st.builds(Node, st.just(""), few_ratios, st.one_of(st.just([]), below)), min_size=1, max_size=4
    ),
    max_leaves=20,
)


def name_leaves(
    level: list[Node], name: str = "", above: tuple[Ratio, ...] = ()
) -> Iterable[tuple[str, tuple[Ratio, ...]]]:
    for number, node in enumerate(level):
        node.name, path = f"{name}{number}", (*above, node.rho)
        if node.below:
            yield from name_leaves(node.below, f"{node.name}.", path)
        else:
            yield node.name, path


@given(levels)
def test_sorting_paths_is_walking_the_tree_with_ties_merged(level: list[Node]):
    paths = dict(name_leaves(level))
    groups = tie_groups(paths)
    assert [set(group) for group in groups] == walk(level, merge=True)
    assert groups == tie_groups(dict(reversed(paths.items())))


shared = st.tuples(st.integers(1, 3), st.integers(0, 3))
share_trees = st.recursive(
    st.lists(shared, min_size=1, max_size=3),
    lambda below: st.lists(
        st.one_of(shared, st.tuples(st.integers(1, 3), below)),
        min_size=1,
        max_size=3,
    ),
    max_leaves=15,
)


def associations(level: list[Any], parent: str | None = None) -> Iterable[Association]:
    for number, (shares, content) in enumerate(level):
        name = f"{parent or ''}/{number}"
        user = isinstance(content, int)
        yield Association(name, parent, shares, content if user else 0, user)
        if not user:
            yield from associations(content, name)


@given(share_trees)
def test_claims_in_proportion_to_shares_rank_as_level_fs_does(level: list[Any]):
    rows = list(associations(level))
    usage = {row.name: sum(user.usage for user in rows if f"{user.name}/".startswith(f"{row.name}/")) for row in rows}
    claim: dict[str | None, Fraction] = {None: Fraction(1)}
    for row in rows:
        level_shares = sum(sibling.shares or 0 for sibling in rows if sibling.parent == row.parent)
        claim[row.name] = claim[row.parent] * Fraction(row.shares or 0, level_shares)
    whole = math.lcm(*(part.denominator for part in claim.values()))
    rho = {row.name: Ratio(usage[row.name], 0, int(claim[row.name] * whole)) for row in rows}
    paths = {
        row.name: tuple(rho[above.name] for above in rows if f"{row.name}/".startswith(f"{above.name}/"))
        for row in rows
        if row.user
    }
    assert tie_groups(paths) == fair_tree(rows)


# ---------------------------------------------------------------- queues: the document's example


def number_of(word: str, units: dict[str, int]) -> int:
    digits = re.match(r"\d+", word)
    assert digits is not None
    return int(digits.group()) * units[word[digits.end() :]]


def table(title: str) -> list[list[str]]:
    """The rows of the document's table whose heading starts with `title`."""
    _, _, rest = DOCUMENT.partition(f"    {title} ")
    return [line.split() for line in rest.partition("\n\n")[0].split("\n")[1:]]


def test_the_documents_example_is_true():
    accounts = {name: Ratio(*map(int, numbers)) for name, *numbers, _ in table("account")}
    assert {name: f"{ratio.display():.2f}" for name, ratio in accounts.items()} == {
        row[0]: row[-1] for row in table("account")
    }
    expected = table("place")
    jobs = [
        Pending(
            job,
            None if account == "-" else account,
            int(priority),
            1000 * int(gpus),
            number_of(minimum, {"min": 60, "h": 3600}),
            number_of(submitted.replace(":", ""), {"": 1}),
        )
        for _, _, job, account, priority, gpus, minimum, submitted in expected
    ]
    ranked = rank(accounts, reversed(jobs))
    assert [(str(r.position), str(r.tie_group), r.job.job) for r in ranked] == [
        (place, group, job) for place, group, job, *_ in expected
    ]
    assert len(ranked) == 8
    assert ranked[3].path == tuple((name, accounts[name]) for name in ("lab", "lab/language", "lab/language/."))


# ---------------------------------------------------------------- queues: properties

LEAVES = ["a", "b/.", "b/x", "b/y", "c/x/p", "c/x/q", "c/y", "d"]
ACCOUNTS = ["a", "b", "b/.", "b/x", "b/y", "c", "c/x", "c/x/p", "c/x/q", "c/y", "d"]

books = st.fixed_dictionaries(dict.fromkeys(ACCOUNTS, few_ratios))
waiting = st.builds(
    Pending,
    job=st.text("xyz", min_size=1, max_size=3),
    account=st.sampled_from([*LEAVES, None]),
    priority=st.integers(-1, 2),
    gpus_milli=st.sampled_from([143, 8000, 8001, 64000]),
    min_runtime_s=st.sampled_from([0, 1, 900, 901, 28800]),
    submitted_s=st.integers(0, 5),
)
queues = st.lists(waiting, max_size=14, unique_by=lambda job: job.job)


def names(ranked: Iterable[Ranked]) -> list[str]:
    return [place.job.job for place in ranked]


def positions(ranked: Iterable[Ranked]) -> dict[str, int]:
    return {place.job.job: place.position for place in ranked}


def within(account: str, job: Pending) -> bool:
    return job.funded and f"{job.account}/".startswith(f"{account}/")


@given(books, queues, st.randoms(use_true_random=False))
def test_permuting_the_input_changes_nothing(book: dict[str, Ratio], queue: list[Pending], chance):
    shuffled, accounts = queue[:], list(book)
    chance.shuffle(shuffled)
    chance.shuffle(accounts)
    assert rank({name: book[name] for name in accounts}, iter(shuffled)) == rank(book, queue)


@given(books, queues)
def test_everyone_has_one_place_and_its_reason(book: dict[str, Ratio], queue: list[Pending]):
    ranked = rank(book, queue)
    assert [place.position for place in ranked] == list(range(1, len(queue) + 1))
    assert sorted(names(ranked)) == sorted(job.job for job in queue)
    steps = [after.tie_group - before.tie_group for before, after in pairwise(ranked)]
    assert set(steps) <= {0, 1}
    assert not ranked or ranked[0].tie_group == 1
    for place in ranked:
        if place.job.funded:
            assert place.path[-1][0] == place.job.account
            assert all(book[name] == ratio for name, ratio in place.path)
            assert [name.count("/") for name, _ in place.path] == list(range(len(place.path)))
        else:
            assert place.path == ()


@given(books, queues)
def test_of_two_siblings_the_lower_ratio_goes_first(book: dict[str, Ratio], queue: list[Pending]):
    at = positions(rank(book, queue))
    for low, high in ((a, b) for a in ACCOUNTS for b in ACCOUNTS if a.rpartition("/")[0] == b.rpartition("/")[0]):
        if book[low] < book[high]:
            first = [at[job.job] for job in queue if within(low, job)]
            then = [at[job.job] for job in queue if within(high, job)]
            assert max(first, default=0) < min(then, default=len(queue) + 1)


@given(books, queues)
def test_a_leaf_keeps_its_own_order(book: dict[str, Ratio], queue: list[Pending]):
    for leaf in LEAVES:
        own = [place.job for place in rank(book, queue) if place.job.funded and place.job.account == leaf]
        for before, after in pairwise(own):
            assert before.priority >= after.priority
            if before.priority == after.priority:
                debug = [job.gpus_milli <= 8000 and job.min_runtime_s <= 900 for job in (before, after)]
                assert debug != [False, True]
                if debug[0] == debug[1]:
                    assert (before.submitted_s, before.job) < (after.submitted_s, after.job)


@given(books, queues, st.sampled_from(LEAVES), st.data())
def test_priority_never_crosses_an_account(book: dict[str, Ratio], queue: list[Pending], leaf: str, data):
    changed = [
        replace(job, priority=data.draw(st.integers(-9, 9)), gpus_milli=data.draw(st.sampled_from([1, 9000])))
        if within(leaf, job)
        else job
        for job in queue
    ]
    before, after = positions(rank(book, queue)), positions(rank(book, changed))
    for job in queue:
        if not within(leaf, job):
            assert before[job.job] == after[job.job]


@given(books, queues)
def test_tied_leaves_take_turns_by_submit_time(book: dict[str, Ratio], queue: list[Pending]):
    plain = [replace(job, priority=0, gpus_milli=64000) for job in queue]
    ranked = rank(book, plain)
    for before, after in pairwise(ranked):
        if before.tie_group == after.tie_group:
            assert (before.job.submitted_s, before.job.job) < (after.job.submitted_s, after.job.job)


@given(books, queues, st.sampled_from(ACCOUNTS), few_ratios)
def test_raising_a_ratio_improves_none_of_its_jobs(
    book: dict[str, Ratio], queue: list[Pending], account: str, raised: Ratio
):
    assume(raised > book[account])
    before, after = names(rank(book, queue)), names(rank(book | {account: raised}, queue))
    others = {job.job for job in queue if not within(account, job)}
    for job in (job.job for job in queue if within(account, job)):
        ahead = set(before[: before.index(job)]) & others
        assert ahead <= set(after[: after.index(job)])
        assert after.index(job) >= before.index(job)


@given(books, queues)
def test_unfunded_work_is_last_and_first_come(book: dict[str, Ratio], queue: list[Pending]):
    ranked = rank(book, queue)
    unfunded = [job for job in queue if job.account is None or job.min_runtime_s == 0]
    tail = ranked[len(queue) - len(unfunded) :]
    assert names(tail) == [job.job for job in sorted(unfunded, key=lambda job: (job.submitted_s, job.job))]
    assert len({place.tie_group for place in tail}) <= 1
    assert {place.tie_group for place in tail}.isdisjoint(place.tie_group for place in ranked[: -len(tail) or None])


@given(books, queues, books)
def test_accounts_without_pending_work_take_no_part(
    book: dict[str, Ratio], queue: list[Pending], other: dict[str, Ratio]
):
    idle = {account for account in ACCOUNTS if not any(within(account, job) for job in queue)}
    busy = {name: ratio for name, ratio in book.items() if name not in idle}
    ranked = rank(busy, queue)
    assert ranked == rank(book, queue)
    assert ranked == rank({name: other[name] if name in idle else book[name] for name in ACCOUNTS}, queue)


# ---------------------------------------------------------------- queues: cases


def job(
    name: str,
    account: str | None,
    *,
    priority: int = 0,
    gpus_milli: int = 64_000,
    min_runtime_s: int = 3600,
    submitted_s: int = 0,
) -> Pending:
    return Pending(name, account, priority, gpus_milli, min_runtime_s, submitted_s)


HALF, MOST, OVER = Ratio(1, 0, 2), Ratio(3, 0, 4), Ratio(3, 0, 2)


def test_children_of_tied_accounts_are_one_level():
    book = {"a": HALF, "a/x": OVER, "a/y": HALF, "b": Ratio(1, 1, 4), "b/z": MOST}
    ranked = rank(book, [job("1", "a/x"), job("2", "b/z"), job("3", "a/y")])
    assert names(ranked) == ["3", "2", "1"]
    apart = rank(book | {"b": MOST}, [place.job for place in ranked])
    assert names(apart) == ["3", "1", "2"]


def test_a_leaf_tied_with_an_account_ranks_with_its_best():
    book = {"leaf": HALF, "a": HALF, "a/x": OVER, "a/y": MOST}
    queue = [
        job("late", "leaf", submitted_s=9),
        job("best", "a/y", submitted_s=5),
        job("early", "leaf", submitted_s=1),
        job("rest", "a/x", submitted_s=0),
    ]
    ranked = rank(book, queue)
    assert names(ranked) == ["early", "best", "late", "rest"]
    assert [place.tie_group for place in ranked] == [1, 1, 1, 2]


def test_an_urgent_newcomer_takes_its_own_accounts_place_only():
    book = {"a": HALF, "b": HALF}
    queue = [
        job("a1", "a", submitted_s=1),
        job("b2", "b", submitted_s=2),
        job("a3", "a", submitted_s=3, priority=9),
    ]
    assert names(rank(book, queue)) == ["a3", "b2", "a1"]


def test_the_own_part_of_an_account_is_its_child():
    book = {"a": HALF, "a/.": OVER, "a/x": MOST}
    ranked = rank(book, [job("own", "a"), job("own too", "a/.", submitted_s=1), job("x", "a/x", submitted_s=2)])
    assert names(ranked) == ["x", "own", "own too"]
    assert [name for name, _ in ranked[1].path] == ["a", "a/."]


@pytest.mark.parametrize(
    ("gpus_milli", "min_runtime_s", "debug"),
    [(8000, 900, True), (143, 1, True), (8001, 900, False), (8000, 901, False), (8000, 0, False)],
)
def test_a_debug_run_is_small_and_short(gpus_milli: int, min_runtime_s: int, debug: bool):
    run = job("run", "a", gpus_milli=gpus_milli, min_runtime_s=min_runtime_s, submitted_s=1)
    assert run.is_debug is debug
    if run.funded:
        assert (names(rank({"a": HALF}, [job("first", "a"), run]))[0] == "run") is debug


def test_priority_counts_before_debug():
    queue = [
        job("debug", "a", gpus_milli=1000, min_runtime_s=60),
        job("urgent", "a", priority=1, submitted_s=5),
    ]
    assert names(rank({"a": HALF}, queue)) == ["urgent", "debug"]


def test_without_a_minimum_runtime_no_account_is_asked():
    ranked = rank({"a": OVER}, [job("free", "nowhere", min_runtime_s=0, priority=9), job("paid", "a", submitted_s=9)])
    assert [(place.job.job, place.tie_group) for place in ranked] == [("paid", 1), ("free", 2)]


def test_nothing_pending_is_nothing_ranked():
    assert rank({}, []) == ()
    assert [place.tie_group for place in rank({}, [job("free", None)])] == [1]


def test_a_wrong_question_says_what_is_wrong():
    with pytest.raises(ValueError, match="pending in a/x/y but no ratio is given for a, a/x/y"):
        rank({"a/x": HALF}, [job("1", "a/x/y")])
    with pytest.raises(ValueError, match="job 1 is pending twice"):
        rank({"a": HALF}, [job("1", "a"), job("1", None)])
    with pytest.raises(ValueError, match=r"a has accounts below it: the ratio of a/\. is missing"):
        rank({"a": HALF, "a/x": HALF}, [job("1", "a"), job("2", "a/x")])
