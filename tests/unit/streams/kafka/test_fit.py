"""A log that is not the one a store was made from is found before anything is written."""

from ledger.checkpoint import Partition
from streams.kafka.fit import Span, home, misfits, partition_of

EVENTS = Partition("tenure.events", 0)


def found(span: Span, last: int) -> list[str]:
    return list(misfits({EVENTS: span}, {EVENTS: last}, {}, "k1:9092"))


def test_a_store_that_is_behind_or_level_fits():
    for first, end, last in ((0, 0, -1), (0, 9, -1), (0, 9, 8), (5, 9, 4), (9, 9, 8)):
        assert found(Span(first, end), last) == []


def test_a_log_that_is_shorter_than_the_store_is_another_one():
    (told,) = found(Span(0, 5), 7)
    assert "the store holds tenure.events/0 up to place 7, and Kafka at k1:9092 only up to 4" in told


def test_records_that_neither_has_are_named():
    (told,) = found(Span(6, 9), 2)
    assert "no longer has the places 3 to 5 of tenure.events/0" in told
    (told,) = found(Span(6, 9), -1)
    assert "the places 0 to 5" in told


def test_more_partitions_move_clusters():
    """The numbers are those of Kafka's own tests of murmur2, so that other producers send keys to the same place."""
    spans = {Partition("tenure.events", number): Span(0, 9) for number in range(4)}
    booked = {name: Partition("tenure.events", partition_of(name, 4)) for name in ("hal", "deep", "c")}
    assert list(misfits(spans, {}, booked, "k1:9092")) == []
    more = spans | {Partition("tenure.events", number): Span(0, 0) for number in range(4, 7)}
    moved = [name for name in booked if partition_of(name, 7) != partition_of(name, 4)]
    told = list(misfits(more, {}, booked, "k1:9092"))
    assert [line.split(" ", 1)[0] for line in told] == moved != []
    assert "was given more partitions" in told[0]
    assert partition_of("foobar", 1 << 31) == -790332482 & 0x7FFF_FFFF


def test_the_home_of_a_log_is_its_kafka_by_name():
    assert home("MkU3OEVBNTcwNTJENDM2Qk") == "kafka MkU3OEVBNTcwNTJENDM2Qk"
