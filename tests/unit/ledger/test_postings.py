import pytest

from ledger.postings import Leg, Legs, UnbalancedError, difference, transaction, transfer

CAUSE = b"c" * 16
A = Leg("h100", "budget", "lab/a", "budget", "charge", "", "j/1")
B = Leg("h100", "budget", "lab/a", "spent", "charge", "", "j/1")
OTHER = Leg("b200", "capacity", "", "", "idle", "n", "")


@pytest.mark.parametrize("legs", [{A: 1}, {A: -1}, {A: 5, B: -4}, {A: 3, B: -3, OTHER: 1}])
def test_an_unbalanced_transaction_cannot_be_constructed(legs: Legs):
    with pytest.raises(UnbalancedError, match=r"postings of c at 3600 do not sum to zero"):
        transaction("c", 3600, CAUSE, legs, 1, 2)


def test_a_balanced_one_is_its_legs_and_zero_is_no_leg():
    first, second = transaction("c", 3600, CAUSE, {A: 5, B: -5, OTHER: 0}, 8, 9)
    assert (first.amount_gpu_ms, second.amount_gpu_ms) == (5, -5)
    assert (first.pool, first.book, first.account, first.class_, first.kind, first.node, first.run) == A
    assert (first.cluster, first.hour_s, first.cause, first.seq, first.recorded_s) == ("c", 3600, CAUSE, 8, 9)
    assert transaction("c", 3600, CAUSE, {}, 1, 2) == []


@pytest.mark.parametrize(
    ("kind", "giver", "taker"),
    [
        ("claim", ("", "pool"), ("lab/a", "budget")),
        ("grant", ("", "pool"), ("lab/a", "budget")),
        ("charge", ("lab/a", "budget"), ("lab/a", "spent")),
        ("refund", ("lab/a", "spent"), ("lab/a", "budget")),
    ],
)
def test_a_transfer_goes_from_one_side_to_the_other(kind: str, giver: tuple[str, str], taker: tuple[str, str]):
    legs: Legs = {}
    transfer(legs, "h100", "lab/a", kind, "j/1", 7)
    transfer(legs, "h100", "lab/a", kind, "j/1", 3)
    transfer(legs, "h100", "lab/a", kind, "k/1", 0)
    assert legs == {
        Leg("h100", "budget", giver[0], giver[1], kind, "", "j/1"): -10,
        Leg("h100", "budget", taker[0], taker[1], kind, "", "j/1"): 10,
    }


def test_a_difference_leads_from_before_to_after():
    before, after = {A: 5, B: -5}, {A: 7, OTHER: -7}
    assert difference(after, before) == {A: 2, OTHER: -7, B: 5}
    assert difference(after, after) == {}
    assert difference({A: 1, B: 0}, {}) == {A: 1}
    assert difference({}, {A: 0, B: 1}) == {B: -1}
