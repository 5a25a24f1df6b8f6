"""What Kafka's client raises becomes a sentence that says what to do."""

import pytest
from kafka import errors

from streams.kafka import StreamError
from streams.kafka.errors import translated


@pytest.mark.parametrize(
    ("raised", "words"),
    [
        (errors.UnknownTopicOrPartitionError(), "does not have the topics: `tenure topics create`"),
        (errors.MessageSizeTooLargeError(), "takes no record as large as one of these events"),
        (errors.InvalidReplicationFactorError(), "too few brokers for so many copies: --replication N"),
        (errors.NotEnoughReplicasError(), "cannot do it now"),
        (errors.TopicAuthorizationFailedError(), "refuses: [Error 29] TopicAuthorizationFailedError"),
        (errors.KafkaTimeoutError("nothing came"), "does not answer (KafkaTimeoutError: nothing came): is it running"),
        (ConnectionRefusedError(111, "Connection refused"), "does not answer ([Errno 111] Connection refused)"),
    ],
)
def test_every_kind_of_error_has_its_sentence(raised: Exception, words: str):
    with pytest.raises(StreamError) as told, translated("k1:9092"):
        raise raised
    assert str(told.value).startswith("Kafka at k1:9092 ")
    assert words in str(told.value)


def test_what_is_not_kafkas_passes():
    with pytest.raises(KeyError), translated("k1:9092"):
        raise KeyError
