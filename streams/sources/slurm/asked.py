"""GPUs of a job by what it holds and what it asked for, also where the cluster keeps no account of GPUs.

With AccountingStorageTRES set without gres/gpu, no TRES string ever names a GPU; requests and details still do.
"""

from __future__ import annotations

from dataclasses import replace

from streams.sources.reading import Refused
from streams.sources.slurm.gres import Gpus, gpus


def or_unsaid(tres: str) -> Gpus | None:
    """The GPUs of a TRES string; `Gpus(0)` for one that lists other things only; None for an empty one."""
    return gpus(tres) or (Gpus(0) if tres not in {"", "(null)"} else None)


def times(text: str, count: int) -> Gpus | None:
    """The GPUs of one part of a request, times how many parts there are; None where it names none."""
    each = gpus(text.removeprefix("PER_NODE:"))
    if each is None or not each.milli:
        return None
    return replace(each, milli=each.milli * max(1, count), indices=None)


def request(tres: str, per_job: str, per_node: str, nodes: int, per_task: str, tasks: int) -> Gpus | None:
    """What was asked for: in all if that is known, else per job, per node or per task."""
    total = or_unsaid(tres)
    if total is not None and total.milli:
        return total
    return times(per_job, 1) or times(per_node, nodes) or times(per_task, tasks) or total


def held(allocated: Gpus | None, requested: Gpus | None) -> Gpus | None:
    """What is allocated; unsaid where the account names no GPU and the request does."""
    untracked = allocated is not None and not allocated.milli and requested is not None and requested.milli
    return None if untracked else allocated


def per_socket_only(text: str, known: Gpus | None, started: bool) -> None:
    """Refuse a count that would need the sockets it was spread over. Raises Refused."""
    each = gpus(text)
    if each is not None and each.milli and started and not (known and known.milli):
        raise Refused(
            "gpu_count_unknown",
            f"the job asked for {text} per socket and its record no longer says on how many: take it from accounting, "
            "with AccountingStorageTRES=gres/gpu in slurm.conf",
        )
