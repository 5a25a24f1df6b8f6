"""Two sets of checkpoints are told apart by the hashes of log and facts."""

from dataclasses import replace

from ledger.checkpoint import Checkpoint, Partition, Position
from tenure.cli.replay import differing

LOG = Partition("tenure.events", 0)
ONE = Checkpoint("c", 5, Position(*LOG, 9, 0), 0, 0, 0, 10, b"", facts_hash=1, log_hash=2)


def told(made: Checkpoint | None) -> list[str]:
    return list(differing({LOG: {"c": ONE}}, {LOG: {} if made is None else {made.cluster: made}}))


def test_equal_hashes_are_equal_wherever_the_checkpoint_was_taken():
    assert told(replace(ONE, position=Position("tenure.events", 3, 7, 1))) == []


def test_what_differs_is_named():
    assert told(None) == ["c: only one of the two has it"]
    assert told(replace(ONE, cluster="d")) == ["c: only one of the two has it", "d: only one of the two has it"]
    (log,) = told(replace(ONE, log_hash=3, facts_hash=3, events=11))
    assert log == "c: the log is not the one the book was made from: 10 and 11 events"
    (facts,) = told(replace(ONE, facts_hash=255))
    assert "the facts differ" in facts
    assert f"{255:032x}" in facts
    assert len(told(replace(ONE, seq=6))) == 1
