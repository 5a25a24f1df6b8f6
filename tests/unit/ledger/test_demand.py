import pytest

from ledger.demand import NO_NODES, Asker, Health, Limits, admitted, placeable, total
from ledger.statements import Terms

HEALTH = Health((1000, 2000, 4000, 8000), 15_000)


@pytest.mark.parametrize(
    ("terms", "fits"),
    [
        (Terms(gpus_milli=15_000), True),
        (Terms(gpus_milli=15_001), False),
        (Terms(gpus_milli=8000, shape_nodes=2, shape_gpus_milli=4000), True),
        (Terms(gpus_milli=8002, shape_nodes=2, shape_gpus_milli=4001), False),
        (Terms(gpus_milli=4000, shape_nodes=4, shape_gpus_milli=1000), True),
        (Terms(gpus_milli=5000, shape_nodes=5, shape_gpus_milli=1000), False),
        (Terms(gpus_milli=8000, shape_nodes=1, shape_gpus_milli=8000), True),
    ],
)
def test_placeable_on_healthy_nodes_whoever_runs_there(terms: Terms, fits: bool):
    assert placeable(terms, HEALTH) is fits


def test_nowhere():
    assert not placeable(Terms(gpus_milli=1), NO_NODES)
    assert placeable(Terms(gpus_milli=0), NO_NODES)


def ask(
    a: int, b: int, milli: int, job: str = "j", *, account: str = "lab/a", running: bool = False, at: int = 0
) -> Asker:
    return Asker(a, b, milli, account, running, at, job)


def test_without_limits_demand_is_all_that_is_asked_inside():
    asked = [ask(-50, 50, 1000), ask(50, 500, 2000), ask(0, 100, 500, account="lab/b")]
    assert total(asked, 0, 100) == {"lab/a": 150_000, "lab/b": 50_000}


def three(account: str, at: int) -> Limits:
    return (("lab/a", 3000),) if account.startswith("lab/a") else ()


def test_running_first_then_submit_time_then_name_whole_jobs():
    asked = [
        ask(0, 100, 2000, "a", at=1),  # 2 + 2 is over the limit
        ask(0, 100, 1000, "c", at=3),  # no room behind b
        ask(0, 100, 1000, "b", at=3),
        ask(0, 100, 2000, "r", running=True, at=9),
    ]
    assert admitted(asked, three, 0, 100, []) == {"lab/a": 300_000}
    first = [*asked[:3], asked[3]._replace(running=False)]
    assert admitted(first, three, 0, 100, []) == {"lab/a": 300_000}  # a, then b; then c and r have no room


def test_what_runs_always_counts_and_uses_up_room():
    asked = [ask(0, 100, 5000, "r", running=True), ask(0, 100, 1000)]
    assert admitted(asked, three, 0, 100, []) == {"lab/a": 500_000}


def test_room_is_looked_at_from_instant_to_instant():
    asked = [ask(0, 40, 3000, "r", running=True), ask(20, 100, 2000, "j")]
    assert admitted(asked, three, 0, 100, []) == {"lab/a": 40 * 3000 + 60 * 2000}


def test_limits_may_change_at_an_edge():
    def limits(account: str, at: int) -> Limits:
        return (("lab/a", 1000 if at < 30 else 2000),)

    assert admitted([ask(0, 100, 2000)], limits, 0, 100, [30]) == {"lab/a": 70 * 2000}


def test_every_limited_account_of_the_path_must_have_room():
    def limits(account: str, at: int) -> Limits:
        return (("lab/a", 3000), ("lab/a/x", 1000)) if account == "lab/a/x" else (("lab/a", 3000),)

    asked = [
        ask(0, 100, 1000, "x1", account="lab/a/x", at=1),
        ask(0, 100, 1000, "x2", account="lab/a/x", at=2),  # over x's own limit
        ask(0, 100, 2000, "y1", account="lab/a/y", at=3),
        ask(0, 100, 500, "y2", account="lab/a/y", at=4),  # over a's
    ]
    assert admitted(asked, limits, 0, 100, []) == {"lab/a/x": 100_000, "lab/a/y": 200_000}


def test_one_at_the_limit_has_room():
    assert admitted([ask(0, 100, 3000)], three, 0, 100, []) == {"lab/a": 300_000}
    assert admitted([ask(0, 100, 3001)], three, 0, 100, []) == {}
