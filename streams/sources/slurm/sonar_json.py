"""Job snapshots as sonar sends them to a broker: messages one after another, each with all jobs and their steps."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC
from typing import Final

from ledger.events.faults import told_of
from streams.sources.config import SourceConfig
from streams.sources.reading import Place, Reading, Refused, Unreadable
from streams.sources.slurm.asked import held, or_unsaid, times
from streams.sources.slurm.gres import Gpus, gpus
from streams.sources.slurm.json_rows import is_cut
from streams.sources.slurm.json_values import Fields
from streams.sources.slurm.nodelist import NO_NODES
from streams.sources.slurm.reader import understood
from streams.sources.slurm.record import JobId, JobRecord
from streams.sources.slurm.statements import Reader
from streams.sources.slurm.states import resolve
from streams.sources.text import decoded, encoded
from streams.sources.times import instant_s

_SPACE: Final = re.compile(r"\s*")
_DECODER: Final = json.JSONDecoder()


def read(data: bytes, config: SourceConfig) -> Iterator[Reading]:
    """A reading for every job and step of every message; one message's time is the instant of its statements."""
    text = decoded(data)
    reader = Reader(config)
    at = 0
    while (at := _skip(text, at)) < len(text):
        try:
            message, end = _DECODER.raw_decode(text, at)
        except json.JSONDecodeError as wrong:
            yield Unreadable(
                "truncated" if is_cut(text, wrong.pos, wrong.msg) else "not_json",
                f"the message breaks off or is not JSON ({wrong.msg}): send it again, repeats are recognised",
                encoded(text[at:]),
                Place(offset=len(encoded(text[:at]))),
            )
            return
        yield from _message(message, encoded(text[at:end]), Place(offset=len(encoded(text[:at]))), reader)
        at = end


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return at if match is None else match.end()


def _message(message: object, raw: bytes, place: Place, reader: Reader) -> Iterator[Reading]:
    attributes = Fields.of(message).sub("data").sub("attributes")
    taken_s = _instant(attributes, "time")
    if taken_s is None:
        yield Unreadable("no_instant", "the message has no data.attributes.time: send it again with one", raw, place)
        return
    reader.as_of_s = taken_s
    for index, value in enumerate(attributes.array("slurm_jobs")):
        here = Place(place.line, place.offset, index)
        found = understood(_record, value)
        try:
            if isinstance(found, Refused):
                raise found
            yield reader.reading(replace(found, cluster=attributes.text("cluster") or None), here)
        except Refused as refused:
            yield Unreadable(refused.reason, refused.sentence, json.dumps(value).encode(), here)
        except ValueError as wrong:
            sentence = f"a value does not fit an event: {told_of(wrong)}"
            yield Unreadable("values_not_accepted", sentence, json.dumps(value).encode(), here)


def _record(value: object) -> JobRecord:
    job = Fields.of(value)
    sacct = job.sub("sacct")
    nodes = tuple(name for name in job.words("nodes") if name not in NO_NODES)
    asked = times(job.text("requested_gres"), job.number("requested_node_count") or 1)
    details = _details(job, nodes)
    return JobRecord(
        id=_job_id(job),
        state=resolve(job.words("job_state")),
        user=job.text("user_name"),
        account=job.text("account"),
        partition=job.text("partition"),
        reservation=job.text("reservation"),
        submit_s=_instant(job, "submit_time"),
        start_s=_instant(job, "start_time"),
        end_s=_instant(job, "end_time"),
        elapsed_s=sacct.number("ElapsedRaw"),
        nodes=nodes,
        node_count=job.number("requested_node_count") or 0,
        allocated=held(or_unsaid(sacct.text("AllocTRES")), asked),
        requested=asked,
        per_node=details,
        time_limit_s=job.number("time_limit"),
        exit_code=job.number("exit_code"),
    )


def _details(job: Fields, nodes: tuple[str, ...]) -> tuple[tuple[str, Gpus], ...]:
    listed = [gpus(text) or Gpus(0) for text in job.words("gres_detail")]
    return tuple(zip(nodes, listed, strict=True)) if listed and len(listed) == len(nodes) else ()


def _job_id(job: Fields) -> JobId:
    number = job.number("job_id")
    if number is None:
        raise Refused("no_job_id", "the element has no job_id: it is no job")
    step = job.text("job_step") or None
    if base := job.number("het_job_id"):
        return JobId(str(base), offset=str(job.number("het_job_offset") or 0), step=step)
    if base := job.number("array_job_id"):
        task = job.number("array_task_id")
        return JobId(str(base), (str(task),) if task is not None else (), step=step)
    return JobId(str(number), step=step)


def _instant(fields: Fields, name: str) -> int | None:
    return instant_s(fields.text(name), UTC)
