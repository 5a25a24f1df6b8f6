"""Where work fits, and for whom room is kept."""

import pytest

from enforcer.whatif.placing import Booking, booking, places
from enforcer.whatif.work import ENDLESS_S, Running, Work


def work(pieces: int = 1, milli: int = 4000, **given: object) -> Work:
    return Work("j", "lab/a", pieces, milli, 3600, **given)  # type: ignore[arg-type]


def running(node: str, milli: int, ends_s: int, limit_s: int | None = None) -> Running:
    return Running(work(limit_s=limit_s), "1", {node: milli}, 0, 0, ends_s, "succeeded")


def test_least_is_left_over():
    assert places(work(), {"n1": 8000, "n2": 4000, "n3": 5000}) == {"n2": 4000}
    assert places(work(2), {"n1": 8000, "n2": 4000, "n3": 5000}) == {"n2": 4000, "n3": 4000}
    assert places(work(3), {"n1": 8000, "n2": 4000, "n3": 3000}) is None


def test_pieces_without_a_shape_may_share_a_node():
    assert places(work(3, 1000, apart=False), {"n1": 8000, "n2": 2000}) == {"n2": 2000, "n1": 1000}


def test_equal_nodes_are_taken_in_their_order():
    assert places(work(), {"n2": 4000, "n1": 4000}) == {"n2": 4000}


def test_room_is_kept_from_when_the_last_piece_fits():
    """Two nodes: one is free for 4 GPUs at 100 s, the other needs both of its runs gone, the second at 300 s."""
    runs = [running("n1", 8000, 100), running("n2", 5000, 200), running("n2", 3000, 300)]
    assert booking(work(2), {"n1": 0, "n2": 0}, runs, 0) == Booking(200, {"n1": 4000, "n2": 4000})
    assert booking(work(2, 8000), {"n1": 0, "n2": 0}, runs, 0) == Booking(300, {"n1": 8000, "n2": 8000})


def test_a_time_limit_is_what_a_scheduler_goes_by():
    assert booking(work(), {"n1": 0}, [running("n1", 8000, 100, limit_s=500)], 0) == Booking(500, {"n1": 4000})


@pytest.mark.parametrize("runs", [[running("n1", 8000, ENDLESS_S)], []])
def test_what_never_fits_keeps_nothing(runs: list[Running]):
    assert booking(work(), {"n1": 0}, runs, 0) is None
