"""What the webhook sends, and what it makes of answers that a receiver should not give."""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
from base64 import b64decode, b64encode
from collections.abc import Iterator
from dataclasses import asdict, replace

import pytest

from enforcer.actuators.webhook import Webhook
from enforcer.orders import ACCEPTED, LEFT, REFUSED, RUNNING, UNREACHABLE, Hold, Order
from tests.support.receiver import SECRET
from tests.support.served import Asked, Served

NOW_S = 1_796_000_000
ORDER = Order("lab", "gpu/1/77", "12_3", "1796103172", "requeue", 60, ("gn1",), "Job 77 needs gn1’s GPUs.")


class Desk:
    """Answers what it is told to answer, and keeps what it was asked."""

    def __init__(self) -> None:
        self.answer: tuple[int, object] = (200, {})
        self.asked: list[Asked] = []
        self.served = Served(self._answer)
        self.webhook = Webhook(f"{self.served.url}/hook?site=1", SECRET, lambda: NOW_S + 0.9, timeout_s=1)

    def _answer(self, asked: Asked) -> tuple[int, object]:
        self.asked.append(asked)
        return self.answer


@pytest.fixture
def desk() -> Iterator[Desk]:
    made = Desk()
    yield made
    made.served.close()


def test_what_is_sent_is_signed_by_the_scheme(desk: Desk) -> None:
    desk.webhook.preempt(ORDER)
    (asked,) = desk.asked
    name, at, sign = (asked.headers[f"webhook-{part}"] for part in ("id", "timestamp", "signature"))
    assert (asked.method, asked.path, at) == ("POST", "/hook?site=1", str(NOW_S))
    # The package's `verify` looks at the machine's clock, so the scheme is followed by hand.
    key = b64decode(SECRET.removeprefix("whsec_"))
    digest = hmac.new(key, f"{name}.{at}.".encode() + asked.body, hashlib.sha256).digest()
    assert sign == f"v1,{b64encode(digest).decode()}"
    assert json.loads(asked.body) == {
        "type": "tenure.preempt",
        "timestamp": "2026-11-30T00:53:20+00:00",
        "data": asdict(ORDER) | {"nodes": ["gn1"]},
    }


def test_a_repeat_has_the_same_id_and_another_order_another(desk: Desk) -> None:
    desk.webhook.preempt(ORDER)
    desk.webhook.preempt(ORDER)
    desk.webhook.kill(ORDER)
    desk.webhook.preempt(replace(ORDER, attempt="1"))
    ids = [asked.headers["webhook-id"] for asked in desk.asked]
    assert ids[0] == ids[1]
    assert len(set(ids)) == 3


def test_silence_is_taken_as_done_but_not_as_left(desk: Desk) -> None:
    desk.answer = (204, None)
    assert desk.webhook.preempt(ORDER).name == ACCEPTED
    assert desk.webhook.left(ORDER).name == RUNNING
    outcome, handle = desk.webhook.hold(Hold("lab", "p", "77", (("gn1", 8000),), NOW_S + 60))
    assert (outcome.name, handle) == (ACCEPTED, "")


def test_a_handle_comes_back_at_release(desk: Desk) -> None:
    desk.answer = (200, {"outcome": "accepted", "handle": "h-9"})
    _, handle = desk.webhook.hold(Hold("lab", "p", "77", (("gn1", 8000),), NOW_S + 60))
    assert desk.webhook.release(handle).name == ACCEPTED
    assert json.loads(desk.asked[-1].body)["data"] == {"handle": "h-9"}
    assert desk.webhook.release("").name == ACCEPTED
    assert len(desk.asked) == 2


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        ((200, {"outcome": "left"}), UNREACHABLE),
        ((200, {"outcome": 7}), UNREACHABLE),
        ((403, {"sentence": "no"}), REFUSED),
        ((410, None), REFUSED),
        ((302, None), UNREACHABLE),
        ((408, None), UNREACHABLE),
        ((429, None), UNREACHABLE),
        ((500, None), UNREACHABLE),
        ((503, None), UNREACHABLE),
    ],
)
def test_answers_to_an_order(desk: Desk, answer: tuple[int, object], name: str) -> None:
    desk.answer = answer
    outcome = desk.webhook.preempt(ORDER)
    assert outcome.name == name
    assert str(answer[0]) in outcome.sentence or "none of" in outcome.sentence


def test_a_refused_question_is_no_answer(desk: Desk) -> None:
    """Whether a run has left cannot be refused: it is not known."""
    desk.answer = (404, None)
    assert desk.webhook.left(ORDER).name == UNREACHABLE
    desk.answer = (200, {"outcome": "left"})
    assert desk.webhook.left(ORDER).name == LEFT


def test_a_receiver_that_hangs_is_unreachable() -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        webhook = Webhook(f"http://127.0.0.1:{deaf.getsockname()[1]}/", SECRET, lambda: NOW_S, timeout_s=0.2)
        outcome = webhook.preempt(ORDER)
    assert outcome.name == UNREACHABLE
    assert "within 0.2 s" in outcome.sentence


def test_an_address_that_is_none_is_a_mistake_in_the_program() -> None:
    with pytest.raises(ValueError, match="is no address"):
        Webhook("ftp://example.org/", SECRET, lambda: NOW_S).preempt(ORDER)
