"""When a worker is well, and what it tells of that."""

from dataclasses import replace

from streams.runtime.health import Health, LaneHealth

LANE = LaneHealth("tenure.events/0", 10, 0, 0, last_take_age_s=500, last_commit_age_s=500, unsaved=False)


def health(*lanes: LaneHealth, trouble: str = "") -> Health:
    return Health(lanes, trouble, stall_s=120)


def test_a_worker_with_nothing_to_do_is_well_however_long():
    assert health().well
    assert health(LANE).well


def test_a_partition_stands_still_when_there_is_something_to_take_or_to_save():
    behind, unsaved = replace(LANE, lag=1), replace(LANE, partition="tenure.events/1", unsaved=True)
    assert health(behind, LANE, unsaved).stalled == ("tenure.events/0", "tenure.events/1")
    assert health(replace(behind, last_take_age_s=119), replace(unsaved, last_commit_age_s=119)).well


def test_what_it_tells_is_what_it_is():
    told = health(LANE, trouble="the store is away").report()
    assert (told["well"], told["trouble"], told["stalled"]) == (False, "the store is away", ())
    assert told["partitions"] == [
        {
            "partition": "tenure.events/0",
            "next_offset": 10,
            "lag": 0,
            "waiting": 0,
            "last_take_age_s": 500,
            "last_commit_age_s": 500,
            "unsaved": False,
        }
    ]
