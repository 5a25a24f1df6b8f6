"""What a site might write behind the webhook: checks the signature with the scheme's own package, and keeps runs."""

from __future__ import annotations

import threading
import time
from typing import Any, NamedTuple

from standardwebhooks import Webhook, WebhookVerificationError

from tests.support.served import Asked, Served

SECRET = "whsec_" + "c2VjcmV0LW9mLXRoZS1sYWItMDEyMzQ1Njc4OQ=="


class Call(NamedTuple):
    """A call as it came in."""

    kind: str
    name: str
    data: dict[str, Any]
    at_s: float


class Receiver:
    """Runs by (job, attempt): `cooperative`, `stubborn` or `guarded`; and what is held by whom."""

    def __init__(self) -> None:
        self.runs: dict[tuple[str, str], str] = {}
        self.told: dict[tuple[str, str], int] = {}
        self.held: dict[str, set[str]] = {}
        self.why: dict[tuple[str, str], str] = {}
        self.calls: list[Call] = []
        """Every call that was signed as it must be, repeats too."""
        self._met: dict[str, dict[str, str]] = {}
        self._lock = threading.Lock()
        self.served = Served(self._answer)

    def _answer(self, asked: Asked) -> tuple[int, object]:
        try:
            said: dict[str, Any] = Webhook(SECRET).verify(asked.body, dict(asked.headers))
        except WebhookVerificationError as wrong:
            return 401, {"sentence": str(wrong)}
        with self._lock:
            name = asked.headers["webhook-id"]
            data = said["data"]
            kind = said["type"].removeprefix("tenure.")
            self.calls.append(Call(kind, name, data, time.time()))
            if kind == "preempt" and name in self._met and (data["job"], data["attempt"]) in self.runs:
                return 200, self._met[name]
            answer = getattr(self, f"_{kind}")(data)
            if answer is None:
                return 422, {"sentence": "the owner of this run said no"}
            self._met[name] = answer
            return 200, answer

    def _preempt(self, data: dict[str, Any]) -> dict[str, str] | None:
        key = (data["job"], data["attempt"])
        if key not in self.runs:
            return {"outcome": "gone", "sentence": f"{data['job']} is not running"}
        if self.runs[key] == "guarded":
            return None
        self.told[key] = self.told.get(key, 0) + 1
        self.why[key] = data["why"]
        if self.runs[key] == "cooperative" or not data["grace_s"]:
            del self.runs[key]
        return {"outcome": "accepted", "sentence": "told"}

    def _left(self, data: dict[str, Any]) -> dict[str, str]:
        return {"outcome": "running" if (data["job"], data["attempt"]) in self.runs else "left"}

    def _kill(self, data: dict[str, Any]) -> dict[str, str]:
        return {"outcome": "accepted" if self.runs.pop((data["job"], data["attempt"]), None) else "gone"}

    def _hold(self, data: dict[str, Any]) -> dict[str, str]:
        self.held[data["plan"]] = {node for node, _ in data["nodes"]}
        return {"outcome": "accepted", "handle": data["plan"]}

    def _release(self, data: dict[str, Any]) -> dict[str, str]:
        self.held.pop(data["handle"], None)
        return {}
