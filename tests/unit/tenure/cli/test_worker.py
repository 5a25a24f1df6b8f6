"""A worker that ends, and asking its page how it is."""

import asyncio
import json
import os
import signal
from typing import Any, cast

import pytest
import typer

from streams.kafka import StreamError
from streams.runtime.health import Health, LaneHealth
from streams.runtime.worker import Worker
from tenure import wiring
from tenure.cli.worker import ask_page as look
from tenure.cli.worker import live

LANES = (
    LaneHealth("tenure.events/10", 5, 3, 3, last_take_age_s=400, last_commit_age_s=400, unsaved=True),
    LaneHealth("tenure.events/9", 4, 0, 0, last_take_age_s=4, last_commit_age_s=40, unsaved=False),
)


def page(monkeypatch: pytest.MonkeyPatch, status: int, body: Any) -> list[str]:
    """What is asked for, of a page that answers so."""
    asked: list[str] = []

    def fetch(url: str, within_s: float) -> tuple[int, bytes]:
        asked.append(url)
        return status, body if isinstance(body, bytes) else json.dumps(body).encode()

    monkeypatch.setattr(wiring, "fetch", fetch)
    return asked


def test_a_green_page_is_shown_in_the_order_of_its_partitions(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    asked = page(monkeypatch, 200, Health(LANES[1:], "", 120).report())
    look("http://w:8080/", as_json=False)
    assert asked == ["http://w:8080/healthz"]
    assert "It is well." in capsys.readouterr().out


def test_a_red_page_says_what_stands_still_and_why(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    page(monkeypatch, 503, Health(LANES, "the server does not answer", 120).report())
    with pytest.raises(typer.Exit) as ended:
        look("http://w:8080/healthz", as_json=False)
    assert ended.value.exit_code == 1
    told = capsys.readouterr().out
    assert told.index("tenure.events/9 ") < told.index("tenure.events/10 ")
    assert "stands still" in told.splitlines()[-3]
    assert "Trouble: the server does not answer" in told
    with pytest.raises(typer.Exit):
        look("http://w:8080", as_json=True)
    assert json.loads(capsys.readouterr().out)["stalled"] == ["tenure.events/10"]


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"{}"])
def test_another_page_is_none_of_a_worker(monkeypatch: pytest.MonkeyPatch, body: bytes):
    page(monkeypatch, 404, body)
    with pytest.raises(StreamError, match="is no worker's health page: it answers 404"):
        look("http://w:8080", as_json=False)


class Ending:
    """Ends when it is told to, or at once."""

    def __init__(self, *, at_once: bool) -> None:
        self.told = asyncio.Event()
        self._at_once = at_once

    async def run(self) -> None:
        if not self._at_once:
            os.kill(os.getpid(), signal.SIGTERM)
            await self.told.wait()

    async def stop(self) -> None:
        self.told.set()


def test_a_signal_stops_it_and_an_end_that_nobody_asked_for_is_an_error():
    asyncio.run(live(cast("Worker", Ending(at_once=False))))
    with pytest.raises(StreamError, match="nobody told it to"):
        asyncio.run(live(cast("Worker", Ending(at_once=True))))
