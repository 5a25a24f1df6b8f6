import pytest

from ledger.policy import DEFAULT, Policies, PolicyChange


def test_before_anything_is_set():
    assert Policies().at(0) == DEFAULT
    assert (DEFAULT.window_h, DEFAULT.horizon_h, DEFAULT.max_min_runtime_s) == (168, 840, 28_800)
    assert (DEFAULT.ranking, DEFAULT.half_life_h) == ("sliding", 84)
    assert DEFAULT.enforcement == "observe"
    assert (DEFAULT.preemption_delay_s, DEFAULT.debug_delay_s) == (60, 10)
    assert (DEFAULT.grace_s, DEFAULT.hold_s) == (120, 300)
    assert DEFAULT.max_orders_per_hour == 0


@pytest.mark.parametrize(
    ("at", "window_h", "horizon_h"), [(9, 168, 840), (10, 24, 840), (19, 24, 840), (20, 24, 100), (30, 48, 100)]
)
def test_field_by_field_the_last_accepted_up_to_the_instant(at: int, window_h: int, horizon_h: int):
    changes = [(30, "window_h", 48), (10, "window_h", 24), (20, "horizon_h", 100)]
    found = Policies([PolicyChange(since, ((name, value),)) for since, name, value in sorted(changes)])
    assert (found.at(at).window_h, found.at(at).horizon_h) == (window_h, horizon_h)


def test_of_two_in_force_the_later_in_the_log_counts():
    found = Policies([PolicyChange(10, (("window_h", 24),)), PolicyChange(5, (("window_h", 48),))])
    assert [found.at(at).window_h for at in (4, 5, 10)] == [168, 48, 48]


def test_since_when_a_field_is_as_it_is():
    found = Policies([PolicyChange(at, (("enforcement", "enforce"),)) for at in (10, 30)])
    assert [found.since_s("enforcement", at) for at in (9, 10, 29, 30)] == [0, 10, 10, 30]
    assert found.since_s("window_h", 40) == 0


def test_its_record():
    change = PolicyChange(10, (("window_h", 24),))
    assert Policies([change], opens_s=7).record() == ("policy", 7, [change])
