"""Job ids as Slurm writes them: `12`, `12_3`, `12_[1-3,7%2]`, `12+1`, each with a step behind a dot."""

from __future__ import annotations

import re

from streams.sources.slurm.nodelist import ListWrong, numbers
from streams.sources.slurm.record import JobId

_ID = re.compile(r"(\d+)(?:_(\d+|\[[^\]]*\])|\+(\d+))?(?:\.(.+))?", re.DOTALL)
_THROTTLE = re.compile(r"%\d+$")
_STRIDE = re.compile(r"(\d+)-(\d+):(\d+)")


def job_id(text: str) -> JobId | None:
    """The id, None where it is not one. Tasks in brackets are written out; a list too long for that is kept whole."""
    match = _ID.fullmatch(text)
    if match is None:
        return None
    base, task, offset, step = match.groups()
    return JobId(base, tasks_of(task) if task else (), offset, step)


def tasks_of(text: str) -> tuple[str, ...]:
    """The tasks of `3`, `[1-3,7%2]`, `0-8:4`; Slurm's `...` and lists that are cut short stay one task of that name."""
    listed = _THROTTLE.sub("", text.strip("[]"))
    try:
        return tuple(n for part in listed.split(",") for n in _steps(part))
    except ListWrong:
        return (text,)


def _steps(part: str) -> list[str]:
    stride = _STRIDE.fullmatch(part)
    if stride is None:
        return [str(int(n)) for n in numbers(part)]
    first, last, step = (int(n) for n in stride.groups())
    return [str(n) for n in range(first, last + 1, max(1, step))]
