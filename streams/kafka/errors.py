"""What goes wrong between us and a broker, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kafka.errors import KafkaError, MessageSizeTooLargeError, UnknownTopicOrPartitionError


class StreamError(Exception):
    """The broker does not do what is asked; the sentence says what to do."""


@contextmanager
def translated(address: str) -> Iterator[None]:
    """Raise what the block raises of Kafka's as a StreamError about the broker at `address`."""
    try:
        yield
    except UnknownTopicOrPartitionError as wrong:
        raise StreamError(f"Kafka at {address} does not have the topics: `tenure topics create`") from wrong
    except MessageSizeTooLargeError as wrong:
        raise StreamError(f"Kafka at {address} takes no record as large as one of these events ({wrong})") from wrong
    except (KafkaError, OSError) as wrong:
        said = str(wrong) or type(wrong).__name__
        raise StreamError(
            f"Kafka at {address} does not answer ({said}): is it running, and the address right?"
        ) from wrong
