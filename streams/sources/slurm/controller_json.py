"""`squeue --json`, `scontrol show job --json` and slurmrestd's `/slurm/…/jobs`: the controller's view of its jobs."""

from __future__ import annotations

from collections.abc import Iterator

from streams.sources.config import SourceConfig
from streams.sources.reading import Reading, Refused
from streams.sources.slurm.asked import held, or_unsaid, per_socket_only, request
from streams.sources.slurm.exits import from_json
from streams.sources.slurm.gres import Gpus, gpus
from streams.sources.slurm.jobids import tasks_of
from streams.sources.slurm.json_rows import Answer, answer
from streams.sources.slurm.json_values import Fields
from streams.sources.slurm.nodelist import expand
from streams.sources.slurm.reader import Piece, records_to_readings, understood
from streams.sources.slurm.record import JobId, JobRecord, suspensions
from streams.sources.slurm.states import State, resolve


def read(data: bytes, config: SourceConfig) -> Iterator[Reading]:
    """A reading for every element, and a dead letter for an error answer or a part that is broken."""
    found = answer(data)
    yield from records_to_readings(pieces(found), config, Fields(found.rest).instant("last_update"))
    yield from found.dead_letters()


def pieces(found: Answer) -> list[Piece]:
    """The record of every element, or why there is none."""
    return [(understood(_record, element.value), element.place, element.raw) for element in found.rows]


def _record(value: object) -> JobRecord:
    job = Fields.of(value)
    state = resolve(job.words("job_state"))
    nodes = expand(job.text("nodes"))
    start_s, end_s = job.instant("start_time"), job.instant("end_time")
    asked = _requested(job, len(nodes))
    allocated = held(or_unsaid(job.text("tres_alloc_str")), asked)
    details = _details(job, nodes)
    per_socket_only(job.text("tres_per_socket"), allocated or asked, started=bool(nodes) and not details)
    total_s, since_s = suspensions(state.phase, start_s, job.instant("suspend_time"), job.number("pre_sus_time") or 0)
    return JobRecord(
        id=job_id(job),
        state=state,
        number=str(job.number("job_id") or ""),
        cluster=job.text("cluster") or None,
        user=job.text("user_name") or str(job.number("user_id") or ""),
        account=job.text("account"),
        partition=job.text("partition"),
        qos=job.text("qos"),
        reservation=job.text("resv_name"),
        comment=job.text("comment"),
        submit_s=job.instant("submit_time"),
        eligible_s=job.instant("eligible_time"),
        start_s=start_s,
        end_s=end_s,
        suspended_s=total_s,
        suspended_since_s=since_s,
        changed_s=job.instant("suspend_time"),
        ran_s=job.number("pre_sus_time") or 0,
        nodes=nodes,
        node_count=job.number("node_count") or 0,
        allocated=allocated,
        requested=asked,
        per_node=details,
        time_limit_s=None if (minutes := job.number("time_limit")) is None else minutes * 60,
        exit_code=from_json(job.members.get("exit_code")),
        held=_held(job, state),
    )


def job_id(job: Fields) -> JobId:
    """The id, with array and heterogeneous parts. Raises Refused."""
    number = job.number("job_id")
    if number is None:
        raise Refused("no_job_id", "the element has no job_id: it is no job")
    if base := job.number("het_job_id"):
        return JobId(str(base), offset=str(job.number("het_job_offset") or 0))
    if base := job.number("array_job_id"):
        listed = job.text("array_task_string")
        task = job.number("array_task_id")
        return JobId(str(base), tasks_of(listed) if listed else (str(task),) if task is not None else ())
    return JobId(str(number))


def _requested(job: Fields, nodes: int) -> Gpus | None:
    return request(
        job.text("tres_req_str"),
        job.text("tres_per_job"),
        job.text("tres_per_node"),
        nodes or job.number("node_count") or 1,
        job.text("tres_per_task"),
        job.number("tasks") or 1,
    )


def _details(job: Fields, nodes: tuple[str, ...]) -> tuple[tuple[str, Gpus], ...]:
    """GPUs by node, where there is a detail for every node."""
    listed = [gpus(text) or Gpus(0) for text in job.words("gres_detail")]
    if len(listed) != len(nodes) or not any(part.milli for part in listed):
        return ()
    return tuple(zip(nodes, listed, strict=True))


def _held(job: Fields, state: State) -> bool:
    return state.phase == "pending" and (job.flag("hold") or job.text("state_reason").startswith("JobHeld"))
