"""Topics are held against the table; what loses records is told from what does not."""

from dataclasses import replace

from streams.topics import DIRECTORY, EVENTS, SAMPLES, TOPICS, Found, Topic, check, copies, missing

ADDRESS = "k1:9092"


def right(topic: Topic, copies: int = 3) -> Found:
    return Found(topic.partitions, copies, topic.config(copies))


def all_right() -> dict[str, Found]:
    return {topic.name: right(topic) for topic in TOPICS}


def changed(**settings: str) -> dict[str, Found]:
    """All right but for the events, of which these settings are otherwise; `_` stands for a dot."""
    told = {name.replace("_", "."): value for name, value in settings.items()}
    found = right(EVENTS)
    return all_right() | {EVENTS.name: replace(found, settings={**found.settings, **told})}


def test_what_is_as_in_the_table_is_right_and_so_is_more():
    assert list(check(all_right(), 3, ADDRESS)) == []
    assert (
        list(check(changed(retention_ms="-1", max_message_bytes="9000000", min_insync_replicas="3"), 3, ADDRESS)) == []
    )
    assert list(check(all_right(), 2, ADDRESS)) == []


def test_a_missing_topic_is_named_with_the_command_that_makes_it():
    found = all_right()
    del found[SAMPLES.name]
    (wrong,) = check(found, 3, ADDRESS)
    assert (wrong.topic, wrong.command, wrong.loses) == ("tenure.samples", "tenure topics create", True)


def test_settings_that_lose_records_are_told_from_others():
    for lost in (
        {"cleanup_policy": "compact"},
        {"retention_ms": "3600000"},
        {"retention_bytes": "1000"},
        {"unclean_leader_election_enable": "true"},
        {"message_timestamp_type": "CreateTime"},
    ):
        (wrong,) = check(changed(**lost), 3, ADDRESS)
        assert wrong.loses, lost
    (wrong,) = check(changed(max_message_bytes="1000"), 3, ADDRESS)
    assert not wrong.loses
    assert wrong.what == "max.message.bytes is 1000 instead of 4194304"
    assert wrong.command == (
        "kafka-configs.sh --bootstrap-server k1:9092 --alter --entity-type topics --entity-name tenure.events "
        "--add-config max.message.bytes=4194304"
    )


def test_too_few_copies_are_named():
    (wrong,) = check(all_right() | {EVENTS.name: replace(right(EVENTS), replication=1)}, 3, ADDRESS)
    assert (wrong.topic, wrong.what, wrong.loses) == ("tenure.events", "has 1 copies instead of 3", False)


def test_copies_are_as_asked_else_three_or_as_many_as_there_are_brokers():
    assert [copies(None, brokers) for brokers in (0, 1, 2, 3, 9)] == [1, 1, 2, 3, 3]
    assert copies(5, 3) == 5


def test_only_what_is_missing_is_made_and_only_what_spreads_takes_a_number():
    assert missing(all_right()) == []
    made = {topic.name: topic.partitions for topic in missing({SAMPLES.name: right(SAMPLES)}, 24)}
    assert made == {"tenure.events": 24, "tenure.directory": DIRECTORY.partitions, "tenure.dead-letter": 3}
    assert missing({}) == list(TOPICS)
