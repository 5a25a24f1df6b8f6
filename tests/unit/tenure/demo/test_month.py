"""The whole month, made once: its size, its extremes and its seasons."""

import json
from collections import Counter

from ledger.units import DAY_S, HOUR_S
from tenure.demo import Demo, generate
from tenure.demo.tree import BURST_TEAM, IDLE_TEAM


def submissions(month: Demo, account: str, first_day: int, last_day: int) -> int:
    since_s, until_s = month.span.at(first_day), month.span.at(last_day)
    return sum(j.ask.account == account and since_s <= j.submit_s < until_s for j in month.truth.jobs)


def test_a_month_has_the_size_the_gangs_and_the_seasons_it_should():
    month = generate(1)
    kinds = Counter(json.loads(line)["type"] for line in month.events)
    assert 80_000 <= len(month.events) <= 150_000
    assert 12_000 <= len(month.truth.attempts) <= 23_000
    assert kinds["tenure.clock.ticked.v1"] == 720
    assert kinds["tenure.run.observed.v1"] > 3_000
    assert kinds["tenure.account.opened.v1"] == 1 + 3 + 15 + 1

    assert {attempt.job.gpus for attempt in month.truth.attempts} == {1, 2, 4, 8, 16, 24, 32, 48, 64}
    assert 10_500_000 < sum(len(block) for block in month.samples) < 256 * 1_440 * 30

    assert submissions(month, IDLE_TEAM, 8, 15) == 0
    assert submissions(month, IDLE_TEAM, 15, 22) > 50
    assert submissions(month, BURST_TEAM, 18, 23) > 2 * submissions(month, BURST_TEAM, 11, 16)
    hours = [job.submit_s % DAY_S // HOUR_S for job in month.truth.jobs]
    assert sum(10 <= hour < 17 for hour in hours) > 2 * sum(hour < 7 for hour in hours)
