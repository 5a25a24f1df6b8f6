"""Every test here runs on every broker: the node that needs no Docker, and the image that docker-compose.yml runs."""

from collections.abc import Iterator

import pytest

from tests.support.kafka import Kafka, kafka

__all__ = ["broker", "kafka"]


@pytest.fixture(scope="module", params=["node", pytest.param("image", marks=pytest.mark.docker)])
def broker(request: pytest.FixtureRequest) -> Iterator[Kafka]:
    """A running broker."""
    if request.param == "node":
        yield request.getfixturevalue("kafka")
    else:
        from tests.support.containers import KafkaImage

        with KafkaImage() as image:
            yield image
