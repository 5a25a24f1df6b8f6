"""The log: what was appended is read back, in order, byte for byte."""

import random

from ledger.checkpoint import Partition
from ledger.store.protocol import Store
from tests.contract.store.rows import event, letter

TOPIC = "tenure.events"
LOG = Partition(TOPIC, 0)


def test_what_is_appended_is_read_back(store: Store):
    events = [event(offset, cluster=f"c{offset % 3}") for offset in range(50)]
    store.append(events)
    assert store.read_events(*LOG, -1, 100) == events
    assert store.last_offset(*LOG) == 49


def test_an_empty_log_has_no_last_offset(store: Store):
    store.append([])
    assert store.last_offset(*LOG) == -1
    assert store.read_events(*LOG, -1, 100) == []


def test_partitions_and_topics_keep_apart(store: Store):
    store.append([event(5), event(7, partition=1), event(9, topic="tenure.directory")])
    assert [store.last_offset(*LOG), store.last_offset(TOPIC, 1)] == [5, 7]
    assert store.last_offset("tenure.directory", 0) == 9
    assert [e.offset for e in store.read_events(TOPIC, 1, -1, 100)] == [7]


def test_reading_goes_on_after_an_offset_in_order_whatever_the_order_of_writing(store: Store):
    events = [event(offset, index) for offset in range(20) for index in range(3)]
    shuffled = random.Random(1).sample(events, len(events))
    for start in range(0, len(shuffled), 7):
        store.append(shuffled[start : start + 7])
    read: list[object] = []
    after = -1
    while more := store.read_events(*LOG, after, 4):
        read += more
        after = more[-1].offset
    assert read == events


def test_a_limit_never_cuts_a_batched_record_in_two(store: Store):
    store.append([event(0, index) for index in range(5)] + [event(1)])
    assert [(e.offset, e.index) for e in store.read_events(*LOG, -1, 2)] == [(0, i) for i in range(5)]
    assert [(e.offset, e.index) for e in store.read_events(*LOG, 0, 2)] == [(1, 0)]


def test_the_same_record_written_twice_is_one(store: Store):
    for _ in range(3):
        store.append([event(0), event(1)])
    assert len(store.read_events(*LOG, -1, 100)) == 2


def test_the_same_event_sent_twice_keeps_both_places(store: Store):
    store.append([event(0, event_id="e"), event(1, event_id="e")])
    assert [e.offset for e in store.read_events(*LOG, -1, 100)] == [0, 1]


def test_bytes_and_broken_text_survive(store: Store):
    raw = bytes(range(256)) * 3
    store.append([event(0, raw=raw), event(1, raw=b""), event(2, raw="é\udc80".encode("utf-8", "surrogatepass"))])
    assert [e.raw for e in store.read_events(*LOG, -1, 9)] == [raw, b"", b"\xc3\xa9\xed\xb2\x80"]
    unread = event(3, event_id="a\udc80é\n\t'\\\x00", source="", type="", cluster="", occurred_us=None)
    store.append([unread])
    (read,) = store.read_events(*LOG, 2, 9)
    assert read == unread._replace(event_id="a\\udc80é\n\t'\\\x00")


def test_times_keep_their_microseconds_also_before_1970_and_far_ahead(store: Store):
    store.append([event(0, occurred_us=-1), event(1, occurred_us=253_402_300_799_000_001)])
    assert [e.occurred_us for e in store.read_events(*LOG, -1, 9)] == [-1, 10_413_791_999_000_000]


def test_dead_letters_are_kept_latest_first(store: Store):
    letters = [letter(offset, cluster=("c", "")[offset % 2], raw=b"\xff" * offset) for offset in range(6)]
    store.write_dead_letters(letters)
    assert store.dead_letters() == letters[::-1]
    assert store.dead_letters("c") == letters[4::-2]
    assert store.dead_letters("", limit=2) == [letters[5], letters[3]]


def test_the_last_word_on_a_place_in_the_log_holds(store: Store):
    store.write_dead_letters([letter(0, reason="unreadable")])
    store.write_dead_letters([letter(0, reason="beyond_horizon")])
    assert [found.reason for found in store.dead_letters()] == ["beyond_horizon"]
