"""An instant the log's columns cannot hold would be kept as another, and the log would not be the one it was."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from ledger.checkpoint import Partition
from ledger.outcomes import Refused
from ledger.units import epoch_us
from streams.intake import record
from tests.support.said import node, t

YEARS = ["1800-01-01T00:00:00Z", "1899-12-31T23:59:59Z", "2300-01-01T00:00:00Z", "2299-12-31T23:00:00-05:00"]


@pytest.mark.parametrize("year", YEARS)
@pytest.mark.parametrize("field", ["time", "recordedtime"])
def test_an_instant_no_column_of_the_log_holds(field: str, year: str):
    event: Any = node("08:00").model_copy(update={field: datetime.fromisoformat(year)})
    now_us = epoch_us(t("09:00"))
    read = record(event.model_dump_json().encode(), Partition("tenure.events", 0), 0, now_us)
    assert isinstance(read.event, Refused)
    assert read.event.name == "not_an_event"
    assert read.archived.recorded_us == now_us
    assert read.archived.occurred_us is None


def test_the_first_and_last_that_one_does():
    for year in ("1900-01-01T00:00:00Z", "2299-12-31T23:59:59Z"):
        event: Any = node("08:00").model_copy(update={"time": datetime.fromisoformat(year)})
        assert not isinstance(record(event.model_dump_json().encode(), Partition("t", 0), 0, 0).event, Refused)
