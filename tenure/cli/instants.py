"""Instants as people type them. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from streams.sources.times import short_duration_s
from tenure.cli.exits import Stop


def parsed(text: str, what: str) -> datetime:
    """`2026-09-01`, `2026-09-01T10:00` or either with an offset; without one it is UTC."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError as wrong:
        raise Stop(f"{what} {text!r} is no instant: write it like 2026-09-01 or 2026-09-01T10:00Z") from wrong
    return at.astimezone(UTC) if at.tzinfo is not None else at.replace(tzinfo=UTC)


def later(text: str, now: datetime, what: str) -> datetime:
    """An instant, or a length from now on: `7d`, `12h`."""
    try:
        return now + timedelta(seconds=short_duration_s(text))
    except ValueError:
        return parsed(text, what)
