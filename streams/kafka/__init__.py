"""Kafka as Tenure uses it: the topics on a broker, and producing to them.

The client is imported by the modules below, and takes its time: who only wants what is here does without.
"""

from typing import Final

HOME: Final = "kafka "
"""In front of a Kafka cluster's id: where the log of a book is first written, as its store remembers it."""


class StreamError(Exception):
    """The broker does not do what is asked; the sentence says what to do."""
