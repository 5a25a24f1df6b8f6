"""Python's garbage collector under a large, long-lived state.

A book is millions of objects without cycles. The collector's full passes walk all of them again and again for nothing:
a third of the fold's time with 20,000 runs known.
"""

from __future__ import annotations

import gc

YOUNG = 1_000_000
"""Allocations between two looks at the youngest objects."""
FULL_EVERY = 1_000
"""Looks at the middle generation between two full passes."""


def calm() -> None:
    """Collect rarely, and leave what exists now out of it: to be called by a process that has opened books."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, 20, FULL_EVERY)
