"""`sacct --json` and slurmrestd's `/slurmdb/…/jobs`: one element per attempt; steps are inside it and no rows."""

from __future__ import annotations

from collections.abc import Iterator

from streams.sources.config import SourceConfig
from streams.sources.reading import Reading, Refused
from streams.sources.slurm.exits import from_json
from streams.sources.slurm.gres import Gpus, gpus_of
from streams.sources.slurm.jobids import tasks_of
from streams.sources.slurm.json_rows import Answer, answer
from streams.sources.slurm.json_values import Fields
from streams.sources.slurm.nodelist import expand
from streams.sources.slurm.reader import Piece, records_to_readings, understood
from streams.sources.slurm.record import JobId, JobRecord, since_elapsed
from streams.sources.slurm.states import resolve


def read(data: bytes, config: SourceConfig) -> Iterator[Reading]:
    """A reading for every element, and a dead letter for an error answer or a part that is broken."""
    found = answer(data)
    yield from records_to_readings(pieces(found), config, None)
    yield from found.dead_letters()


def pieces(found: Answer) -> list[Piece]:
    """The record of every element, or why there is none."""
    return [(understood(_record, element.value), element.place, element.raw) for element in found.rows]


def _record(value: object) -> JobRecord:
    job = Fields.of(value)
    time, tres = job.sub("time"), job.sub("tres")
    state = resolve(job.sub("state").words("current") or job.words("state"))
    start_s, elapsed_s = time.instant("start"), time.number("elapsed")
    return JobRecord(
        id=job_id(job),
        state=state,
        number=str(job.number("job_id") or ""),
        cluster=job.text("cluster") or None,
        sluid=job.text("sluid") or None,
        user=job.text("user") or job.sub("association").text("user"),
        account=job.text("account"),
        partition=job.text("partition"),
        qos=job.text("qos"),
        reservation=job.sub("reservation").text("name"),
        comment=job.sub("comment").text("job"),
        submit_s=time.instant("submission"),
        eligible_s=time.instant("eligible"),
        start_s=start_s,
        end_s=time.instant("end"),
        elapsed_s=elapsed_s,
        suspended_s=time.number("suspended") or 0,
        suspended_since_s=since_elapsed(state.phase, start_s, elapsed_s),
        nodes=expand(job.text("nodes")),
        node_count=_node_count(tres) or job.number("allocation_nodes") or 0,
        allocated=_tres(tres, "allocated"),
        requested=_tres(tres, "requested"),
        time_limit_s=None if (minutes := time.number("limit")) is None else minutes * 60,
        exit_code=from_json(job.members.get("exit_code")),
    )


def job_id(job: Fields) -> JobId:
    """The id, with array and heterogeneous parts: `6_0` for job 17 of array 6. Raises Refused."""
    number = job.number("job_id")
    if number is None:
        raise Refused("no_job_id", "the element has no job_id: it is no job")
    array, het = job.sub("array"), job.sub("het")
    if base := het.number("job_id"):
        return JobId(str(base), offset=str(het.number("job_offset") or 0))
    if base := array.number("job_id"):
        task = array.number("task_id")
        listed = array.text("task")
        return JobId(str(base), (str(task),) if task is not None else tasks_of(listed) if listed else ())
    return JobId(str(number))


def _tres(tres: Fields, name: str) -> Gpus | None:
    """The GPUs of a list of TRES; `Gpus(0)` if it lists other things only; None for an empty list."""
    entries = [Fields.of(entry) for entry in tres.array(name)]
    if not entries:
        return None
    counts = [(e.text("name"), e.number("count") or 0) for e in entries if e.text("type") == "gres"]
    return gpus_of(counts) or Gpus(0)


def _node_count(tres: Fields) -> int:
    requested = (Fields.of(entry) for entry in tres.array("requested"))
    return next((e.number("count") or 0 for e in requested if e.text("type") == "node"), 0)
