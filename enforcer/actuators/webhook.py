"""Tells a receiver of the site by HTTP, signed by the Standard Webhooks scheme, and takes its word for what happened.

Every call is a POST of `{"type": "tenure.preempt", "timestamp": …, "data": {…}}`; types are `tenure.preempt`,
`tenure.left`, `tenure.kill`, `tenure.hold` and `tenure.release`. The receiver answers 2xx with
`{"outcome": "accepted", "sentence": "…", "handle": "…"}`, every field of which may be missing; 4xx refuses, in words.
A repeat has the same `webhook-id`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Final
from urllib.parse import urlsplit

from standardwebhooks import Webhook as Signer

from enforcer.actuators.http import Http, NoReply, Reply
from enforcer.orders import ACCEPTED, GONE, LEFT, REFUSED, RUNNING, UNREACHABLE, Hold, Order, Outcome

PREEMPT: Final = "tenure.preempt"
LEAVES: Final = "tenure.left"
KILL: Final = "tenure.kill"
HOLD: Final = "tenure.hold"
RELEASE: Final = "tenure.release"

_ACTED: Final = frozenset({ACCEPTED, GONE, REFUSED, UNREACHABLE})
_SEEN: Final = frozenset({LEFT, RUNNING, UNREACHABLE})


class Webhook:
    """An actuator that tells a receiver at `url`. `secret` as `whsec_…`; `now_s` is the clock, in epoch seconds."""

    def __init__(self, url: str, secret: str, now_s: Callable[[], float], *, timeout_s: float = 30.0) -> None:
        parts = urlsplit(url)
        self._http = Http(f"{parts.scheme}://{parts.netloc}", timeout_s=timeout_s)
        self._path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._signer = Signer(secret)
        self._now_s = now_s

    def preempt(self, order: Order) -> Outcome:
        """The receiver makes the run leave."""
        return self._ask(PREEMPT, _of(order), _ACTED, ACCEPTED)[0]

    def left(self, order: Order) -> Outcome:
        """A receiver that does not know says nothing: then only the facts tell, and the run counts as running."""
        return self._ask(LEAVES, _of(order), _SEEN, RUNNING)[0]

    def kill(self, order: Order) -> Outcome:
        """The receiver uses force."""
        return self._ask(KILL, _of(order), _ACTED, ACCEPTED)[0]

    def hold(self, hold: Hold) -> tuple[Outcome, str]:
        """The receiver keeps nodes; its handle is asked for at `release`."""
        outcome, handle = self._ask(HOLD, asdict(hold), _ACTED, ACCEPTED)
        return outcome, handle if outcome.name == ACCEPTED else ""

    def release(self, handle: str) -> Outcome:
        """The receiver lets the nodes go."""
        if not handle:
            return Outcome(ACCEPTED, "Nothing is held.")
        return self._ask(RELEASE, {"handle": handle}, _ACTED, ACCEPTED)[0]

    def _ask(self, kind: str, data: dict[str, object], names: frozenset[str], silent: str) -> tuple[Outcome, str]:
        at = datetime.fromtimestamp(int(self._now_s()), UTC)
        body = json.dumps({"type": kind, "timestamp": at.isoformat(), "data": data}, ensure_ascii=False)
        name = f"{kind}/{hashlib.blake2b(json.dumps(data, sort_keys=True).encode(), digest_size=16).hexdigest()}"
        headers = {
            "Content-Type": "application/json",
            "webhook-id": name,
            "webhook-timestamp": str(int(at.timestamp())),
            "webhook-signature": self._signer.sign(msg_id=name, timestamp=at, data=body),
        }
        reply = self._http.ask("POST", self._path, body.encode(), headers)
        return _read(reply, names, silent)


def _of(order: Order) -> dict[str, object]:
    return asdict(order)


def _read(reply: Reply | NoReply, names: frozenset[str], silent: str) -> tuple[Outcome, str]:
    if isinstance(reply, NoReply):
        return Outcome(UNREACHABLE, reply.sentence), ""
    if not reply.ok:
        sentence = f"The receiver answered {reply.status}: {reply.text or 'nothing more'}"
        return Outcome(REFUSED if reply.final and REFUSED in names else UNREACHABLE, sentence), ""
    said, handle = reply.json, str(reply.json.get("handle", ""))
    name = str(said.get("outcome", silent))
    if name not in names:
        return Outcome(
            UNREACHABLE, f"The receiver answered the outcome {name!r}, which is none of {sorted(names)}."
        ), ""
    return Outcome(name, str(said.get("sentence", f"The receiver says: {name}."))), handle
