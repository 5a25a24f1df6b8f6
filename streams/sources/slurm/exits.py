"""Exit codes as a shell reports them: the code, or 128 and the signal."""

from __future__ import annotations

from typing import Final

from streams.sources.slurm.json_values import Fields, Json, number

SIGNAL_BASE: Final = 128


def from_text(text: str) -> int | None:
    """Of `code:signal`."""
    code, _, signal = text.partition(":")
    if not code.isdigit():
        return None
    return SIGNAL_BASE + int(signal) if signal.isdigit() and int(signal) else int(code)


def from_json(value: Json) -> int | None:
    """Of a wait status (old controller answers), or of `return_code` and `signal`."""
    status = number(value)
    if status is not None:
        return SIGNAL_BASE + (status & 0x7F) if status & 0x7F else status >> 8
    fields = Fields.of(value)
    signal = fields.sub("signal")
    by_signal = signal.number("id") or signal.number("signal_id")
    return SIGNAL_BASE + by_signal if by_signal else fields.number("return_code")
