"""How near R2 is to letting a job."""

from __future__ import annotations

from ledger.ranking import Ratio
from tenure.cli.rebalancing import gap


def test_between_infinities_the_nearest_is_found_exactly():
    """Without a claim ρ is infinite, and so may be both: their difference is no number."""
    infinite, half, two = Ratio(0, 1, 0), Ratio(1, 0, 2), Ratio(2, 0, 1)
    assert gap(infinite, infinite) > gap(infinite, two) > gap(infinite, half)
    assert gap(half, two) > gap(two, half) > gap(infinite, infinite)
