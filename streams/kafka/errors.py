"""What goes wrong between us and a broker, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kafka.errors import (
    BrokerResponseError,
    InvalidReplicationFactorError,
    KafkaError,
    MessageSizeTooLargeError,
    UnknownTopicOrPartitionError,
)

from streams.kafka import StreamError

__all__ = ["FIRST_ANSWER_MS", "StreamError", "translated"]

FIRST_ANSWER_MS: Final = 10_000
"""How long a client looks for a broker that answers before it says that there is none."""


@contextmanager
def translated(address: str) -> Iterator[None]:
    """Raise what the block raises of Kafka's as a StreamError about the broker at `address`."""
    try:
        yield
    except UnknownTopicOrPartitionError as wrong:
        raise StreamError(f"Kafka at {address} does not have the topics: `tenure topics create`") from wrong
    except MessageSizeTooLargeError as wrong:
        raise StreamError(f"Kafka at {address} takes no record as large as one of these events ({wrong})") from wrong
    except InvalidReplicationFactorError as wrong:
        raise StreamError(f"Kafka at {address} has too few brokers for so many copies: --replication N") from wrong
    except BrokerResponseError as wrong:
        if wrong.retriable:
            raise StreamError(f"Kafka at {address} cannot do it now ({wrong})") from wrong
        raise StreamError(f"Kafka at {address} refuses: {wrong}") from wrong
    except (KafkaError, OSError) as wrong:
        said = str(wrong) or type(wrong).__name__
        raise StreamError(
            f"Kafka at {address} does not answer ({said}): is it running, and the address right?"
        ) from wrong
