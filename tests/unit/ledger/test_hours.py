import pytest

from ledger.hours import CLAIM, DEMAND, FIELDS, GRANT, NODE_FIELD, NODE_FIELDS, PoolHour, owed_gpu_ms
from ledger.rows import ClusterHour, NodeHour


def sums(claim: int, grant: int, demand: int) -> list[int]:
    found = [0] * FIELDS
    found[CLAIM], found[GRANT], found[DEMAND] = claim, grant, demand
    return found


@pytest.mark.parametrize(
    ("claim", "grant", "demand", "owed"),
    [(10, 0, 5, 5), (10, 0, 20, 10), (10, 3, 20, 13), (10, 3, 13, 13), (0, 0, 5, 0)],
)
def test_owed_is_what_is_asked_up_to_what_is_held(claim: int, grant: int, demand: int, owed: int):
    assert owed_gpu_ms(sums(claim, grant, demand)) == owed


def test_an_account_is_zero_until_something_is_added():
    hour = PoolHour()
    assert hour.account("lab/a") == [0] * FIELDS
    hour.account("lab/a")[DEMAND] += 7
    assert hour.account("lab/a")[DEMAND] == 7
    assert hour.account("lab/b")[DEMAND] == 0


def test_claims_add_up_to_the_pools():
    hour = PoolHour()
    hour.claim("lab/a", 5)
    hour.claim("lab/b", 7)
    hour.claim("lab/a", -2)
    hour.account("lab/a")[GRANT] += 100  # a grant is no claim
    assert (hour.account("lab/a")[CLAIM], hour.account("lab/b")[CLAIM], hour.claimed_gpu_ms) == (3, 7, 10)


def test_capacity_sums_are_in_the_order_of_the_columns():
    columns = [name.removesuffix("_gpu_ms").removeprefix("unavailable_") for name in NodeHour._fields]
    assert tuple(name for name in columns if name in NODE_FIELD) == NODE_FIELDS
    assert set(NodeHour._fields) - {"node"} < set(ClusterHour._fields)
    assert len(PoolHour().nodes) == len(NODE_FIELDS)
