"""What is wrong with an event, as people are told."""

import pytest
from pydantic import ValidationError

from ledger.events.faults import ends_before_start, in_words, told_of
from ledger.events.jobs import JobStartedData, JobSubmittedData, RunObservedData
from tests.support import said

SUBMITTED = {"cluster": "c", "job": "j", "user": "u", "gpus_milli": 1000}
RUN = {"cluster": "c", "job": "j", "attempt": "1", "user": "u", "placements": [{"node": "n", "gpus_milli": 1}]}


@pytest.mark.parametrize("account", ["lab//x", "/lab", " ", "lab/"])
def test_an_account_is_described_and_not_matched(account: str):
    with pytest.raises(ValidationError) as wrong:
        JobSubmittedData.model_validate(SUBMITTED | {"account": account})
    (fault,) = wrong.value.errors()
    assert in_words(fault) == (
        f"{account!r} is no account: write its path with one slash between names and no blanks, like lab/nlp/parsing"
    )
    assert told_of(wrong.value).startswith("account: ")


def test_an_attempt_has_no_slash():
    with pytest.raises(ValidationError, match="attempt") as wrong:
        JobStartedData.model_validate({**RUN, "attempt": "1/2"} | {"user": "u"})
    assert any("must not hold a slash" in in_words(fault) for fault in wrong.value.errors())


def test_what_a_validator_says_stands_alone():
    times = {"started_at": said.t("09:00"), "ended_at": said.t("08:00")}
    with pytest.raises(ValidationError) as wrong:
        RunObservedData.model_validate(RUN | times)
    assert ends_before_start(wrong.value.errors())
    assert told_of(wrong.value).startswith("end_before_start: the run ends before it starts; correct")
    assert told_of(ValueError("as it is")) == "as it is"
