"""Which format some bytes are in, or an honest refusal."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal, get_args

from streams.sources.slurm.columns import PRESETS, header
from streams.sources.text import decoded
from streams.sources.unpack import unpacked

SlurmFormat = Literal[
    "sacct",
    "slurmdb-jobs-json",
    "slurm-jobs-json",
    "slurm-nodes-json",
    "scontrol-job",
    "scontrol-node",
    "sonar-json",
]
Format = SlurmFormat | Literal["csv", "events"]
FORMATS: Final[tuple[Format, ...]] = (*get_args(SlurmFormat), "csv", "events")

ALIASES: Final[Mapping[str, Format]] = {
    **{name: name for name in FORMATS},
    "sacct-text": "sacct",
    "squeue-text": "sacct",
    "sacct-json": "slurmdb-jobs-json",
    "slurmrestd-slurmdb-jobs": "slurmdb-jobs-json",
    "squeue-json": "slurm-jobs-json",
    "scontrol-job-json": "slurm-jobs-json",
    "slurmrestd-jobs": "slurm-jobs-json",
    "sinfo-json": "slurm-nodes-json",
    "scontrol-node-json": "slurm-nodes-json",
    "slurmrestd-nodes": "slurm-nodes-json",
    "jsonl": "events",
}
"""Every name a format goes by: the command that writes it, or the answer it comes in."""

HEAD_BYTES: Final = 1 << 20
"""How far into a file its format must show."""

_PROMPT = re.compile(r"\$ [^\n]*\n")
_ROWS = re.compile(r'"(jobs|nodes|sinfo)"\s*:\s*\[')
_ERRORS = re.compile(r'"errors"\s*:\s*\[\s*\{')
_COLUMN = re.compile(r'"?[A-Za-z_][\w .()/%:-]{0,62}"?')
_FIRST_KEYS = re.compile(r'"([a-z_]+)"\s*:')


class UnknownFormat(ValueError):
    """Bytes in no format that is read here; the message says what they look like and which formats there are."""


def detect(data: bytes) -> Format:
    """The format of a file, plain or gzipped. Raises UnknownFormat."""
    text = decoded(unpacked(data)[0][:HEAD_BYTES]).removeprefix("\ufeff")
    body = _PROMPT.sub("", text, count=1) if text.startswith("$ ") else text
    stripped = body.lstrip()
    if not stripped:
        raise _unknown("it is empty" + (" but for a command line" if text.strip() else ""))
    if stripped[0] in "{[":
        return _json(stripped)
    first = stripped.split("\n", 1)[0]
    if first.startswith("NodeName="):
        return "scontrol-node"
    if first.startswith(("JobId=", "PartitionName=")):
        return "scontrol-job"
    if header(first, "|") is not None or _is_preset(first):
        return "sacct"
    if _is_table(stripped):
        return "csv"
    raise _unknown(f"it begins with {first[:60]!r}")


def _is_preset(first: str) -> bool:
    return first.count("|") + 1 in {len(names) for names in PRESETS.values()}


def _is_table(text: str) -> bool:
    """Whether the first line could name columns, and the second has as many cells."""
    first, _, rest = text.partition("\n")
    names = first.strip().split(",")
    second = rest.lstrip().partition("\n")[0]
    named = all(_COLUMN.fullmatch(name) for name in names)
    return len(names) > 1 and named and (not second or second.count(",") >= len(names) - 1)


def _json(text: str) -> Format:
    if '"slurm_jobs"' in text and '"producer"' in text:
        return "sonar-json"
    if re.search(r'"type"\s*:\s*"tenure\.', text):
        return "events"
    rows = _ROWS.search(text)
    if rows is not None:
        if rows[1] in {"nodes", "sinfo"} and '"job_state"' not in text[: rows.start()]:
            return "slurm-nodes-json"
        return "slurm-jobs-json" if '"job_state"' in text else "slurmdb-jobs-json"
    if _ERRORS.search(text) is not None:
        return "slurm-jobs-json"
    keys = ", ".join(dict.fromkeys(_FIRST_KEYS.findall(text)[:6]))
    raise _unknown(f"it is JSON about {keys or 'nothing'}, not about jobs, nodes or events")


def _unknown(looks: str) -> UnknownFormat:
    return UnknownFormat(f"the format is not recognised: {looks}. Name it; one of {', '.join(sorted(ALIASES))}")
