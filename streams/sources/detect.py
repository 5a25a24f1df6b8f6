"""Which format some bytes are in, or an honest refusal."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal, get_args

from streams.sources.slurm.columns import PRESETS, header
from streams.sources.text import decoded
from streams.sources.unpack import unpacked

Format = Literal[
    "sacct",
    "slurmdb-jobs-json",
    "slurm-jobs-json",
    "slurm-nodes-json",
    "scontrol-job",
    "scontrol-node",
    "sonar-json",
    "csv",
    "events",
]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)

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
    if "," in first and "=" not in first.split(",", 1)[0]:
        return "csv"
    raise _unknown(f"it begins with {first[:60]!r}")


def _is_preset(first: str) -> bool:
    return first.count("|") + 1 in {len(names) for names in PRESETS.values()}


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
    keys = ", ".join(dict.fromkeys(_FIRST_KEYS.findall(text)[:6]))
    raise _unknown(f"it is JSON about {keys or 'nothing'}, not about jobs, nodes or events")


def _unknown(looks: str) -> UnknownFormat:
    return UnknownFormat(f"the format is not recognised: {looks}. Name it; one of {', '.join(sorted(ALIASES))}")
