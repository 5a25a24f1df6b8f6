"""The broker that tests of the node share."""

from tests.support.kafka import kafka

__all__ = ["kafka"]
