"""States in all spellings."""

import pytest

from streams.sources.slurm.states import State, UnknownState, resolve, state_of


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("COMPLETED", State("ended", "succeeded")),
        ("CD", State("ended", "succeeded")),
        ("3", State("ended", "succeeded")),
        ("CANCELLED by 1000", State("ended", "cancelled")),
        ("CANCELLED+", State("ended", "cancelled")),
        ("4", State("ended", "cancelled")),
        ("FAILED", State("ended", "failed")),
        ("5", State("ended", "failed")),
        ("TIMEOUT", State("ended", "timeout")),
        ("6", State("ended", "timeout")),
        ("DEADLINE", State("ended", "timeout")),
        ("NODE_FAIL", State("ended", "node_failure")),
        ("7", State("ended", "node_failure")),
        ("BOOT_FAIL", State("ended", "node_failure")),
        ("PREEMPTED", State("ended", "preempted")),
        ("OUT_OF_MEMORY", State("ended", "out_of_memory")),
        ("OUT_OF_ME+", None),
        ("11", State("ended", "out_of_memory")),
        ("PENDING", State("pending")),
        ("RUNNING", State("running")),
        ("SUSPENDED", State("suspended")),
        ("STOPPED", State("suspended")),
        ("RESIZING", State("running")),
        ("COMPLETING", State("running", leaving=True)),
        ("CONFIGURING", State("running")),
        ("REQUEUED", State("pending", requeued=True)),
        ("1024", State("pending", requeued=True)),
        ("REQUEUE_HOLD", State("pending", requeued=True, held=True)),
        ("SPECIAL_EXIT", State("pending", requeued=True, held=True)),
        ("RESV_DEL_HOLD", State("pending", held=True)),
        ("REVOKED", State("pending", revoked=True)),
        ("32772", State("ended", "cancelled", leaving=True)),
        ("running", State("running")),
        ("RUNNING,COMPLETING", State("running", leaving=True)),
        ("", None),
        ("FOO", None),
        ("12", None),
        ("RUNNING,FOO", None),
    ],
)
def test_a_state_has_one_meaning_or_is_refused(text, state):
    if state is None:
        with pytest.raises(UnknownState, match="state"):
            state_of(text)
    else:
        assert state_of(text) == state


@pytest.mark.parametrize(
    ("words", "state"),
    [
        (["PENDING", "REQUEUED"], State("pending", requeued=True)),
        (["COMPLETED", "COMPLETING"], State("ended", "succeeded", leaving=True)),
        (["NODE_FAIL", "REQUEUED"], State("ended", "node_failure", requeued=True)),
        (["RUNNING", "CONFIGURING"], State("running")),
        (["CANCELLED"], State("ended", "cancelled")),
        (["PENDING", "LAUNCH_FAILED"], State("pending")),
    ],
)
def test_flags_go_with_a_base_state(words, state):
    assert resolve(words) == state
    assert resolve(words[::-1]) == state
