"""The columns of sacct and squeue text: their names, layouts without a header, and which hold free text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

XDMOD: Final = (
    "JobID", "JobIDRaw", "Cluster", "Partition", "QOS", "Account", "Group", "GID", "User", "UID", "Submit",
    "Eligible", "Start", "End", "Elapsed", "ExitCode", "State", "NNodes", "NCPUS", "ReqCPUS", "ReqMem", "ReqTRES",
    "AllocTRES", "Timelimit", "NodeList", "JobName",
)  # fmt: skip
"""The 26 fields XDMoD's shredder asks for."""

SONAR: Final = (
    "JobID", "JobIDRaw", "User", "Account", "State", "Start", "End", "AveCPU", "AveDiskRead", "AveDiskWrite",
    "AveRSS", "AveVMSize", "ElapsedRaw", "ExitCode", "Layout", "MaxRSS", "MaxVMSize", "MinCPU", "ReqCPUS", "ReqMem",
    "ReqNodes", "Reservation", "Submit", "Suspended", "SystemCPU", "TimelimitRaw", "UserCPU", "NodeList",
    "Partition", "AllocTRES", "Priority", "JobName",
)  # fmt: skip
"""The 32 fields sonar asks for."""

PRESETS: Final[Mapping[str, tuple[str, ...]]] = {"xdmod": XDMOD, "sonar": SONAR}

_SACCT: Final = (
    "Account", "AdminComment", "AllocCPUS", "AllocGRES", "AllocNodes", "AllocTRES", "AssocID", "AveCPU",
    "AveCPUFreq", "AveDiskRead", "AveDiskWrite", "AvePages", "AveRSS", "AveVMSize", "BlockID", "Cluster", "Comment",
    "Constraints", "ConsumedEnergy", "ConsumedEnergyRaw", "Container", "CPUTime", "CPUTimeRAW", "DBIndex",
    "DerivedExitCode", "Elapsed", "ElapsedRaw", "Eligible", "End", "ExitCode", "Extra", "FailedNode", "Flags",
    "GID", "Group", "JobID", "JobIDRaw", "JobName", "Layout", "Licenses", "MaxDiskRead", "MaxDiskReadNode",
    "MaxDiskReadTask", "MaxDiskWrite", "MaxDiskWriteNode", "MaxDiskWriteTask", "MaxPages", "MaxPagesNode",
    "MaxPagesTask", "MaxRSS", "MaxRSSNode", "MaxRSSTask", "MaxVMSize", "MaxVMSizeNode", "MaxVMSizeTask", "McsLabel",
    "MinCPU", "MinCPUNode", "MinCPUTask", "NCPUS", "NNodes", "NodeList", "NTasks", "Partition", "Planned",
    "PlannedCPU", "PlannedCPURAW", "Priority", "QOS", "QOSRAW", "QOSREQ", "Reason", "ReqCPUFreq", "ReqCPUFreqGov",
    "ReqCPUFreqMax", "ReqCPUFreqMin", "ReqCPUS", "ReqGRES", "ReqMem", "ReqNodes", "ReqTRES", "Reservation",
    "ReservationId", "Reserved", "Restarts", "ResvCPU", "ResvCPURAW", "SegmentSize", "SLUID", "Start", "State",
    "StdErr", "StdIn", "StdOut", "Submit", "SubmitLine", "Suspended", "SystemComment", "SystemCPU", "Timelimit",
    "TimelimitRaw", "TotalCPU", "TRESUsageInAve", "TRESUsageInMax", "TRESUsageInMaxNode", "TRESUsageInMaxTask",
    "TRESUsageInMin", "TRESUsageInMinNode", "TRESUsageInMinTask", "TRESUsageInTot", "TRESUsageOutAve",
    "TRESUsageOutMax", "TRESUsageOutMaxNode", "TRESUsageOutMaxTask", "TRESUsageOutMin", "TRESUsageOutMinNode",
    "TRESUsageOutMinTask", "TRESUsageOutTot", "UID", "User", "UserCPU", "WCKey", "WCKeyID", "WorkDir",
)  # fmt: skip
_SQUEUE: Final[Mapping[str, str]] = {
    "submit_time": "submit",
    "eligible_time": "eligible",
    "start_time": "start",
    "end_time": "end",
    "time_limit": "timelimit",
    "tres_alloc": "alloctres",
    "tres": "reqtres",
    "tres_per_node": "tres_per_node",
    "nodes": "nnodes",
    "exec_host": "exec_host",
}
_SQUEUE_ONLY: Final = (
    "min_cpus", "cpus", "min_tmp_disk", "dependency", "features", "array_job_id", "array_task_id", "over_subscribe",
    "sockets_per_node", "cores_per_socket", "threads_per_core", "name", "time_left", "min_memory", "time",
    "req_nodes", "command", "contiguous", "st", "wckey", "licenses", "exc_nodes", "core_spec", "nice", "schednodes",
    "s:c:t", "work_dir",
)  # fmt: skip

KNOWN: Final = frozenset({*(name.casefold() for name in _SACCT), *_SQUEUE, *_SQUEUE_ONLY})
FREE_TEXT: Final = frozenset(
    {"jobname", "name", "comment", "admincomment", "systemcomment", "submitline", "workdir", "extra", "command"}
)
"""Columns whose text may hold the delimiter or a line break."""

_NEEDED: Final[Mapping[str, frozenset[str]]] = {
    "State": frozenset({"state", "st"}),
    "Submit or Start": frozenset({"submit", "start"}),
}
"""Without these a row is no statement of a run."""

_FIRST_TWO = re.compile(r"([A-Za-z][A-Za-z0-9_]*)([^A-Za-z0-9_]+)([A-Za-z])")


class Cells(dict[str, str]):
    """Fields of one row by the name of their column; a column the file does not have is empty."""

    def __missing__(self, name: str) -> str:
        return ""


@dataclass(frozen=True, slots=True)
class Layout:
    """Which column stands where. A name that comes twice is read at its last place.

    `free_text` is the one column that can hold the delimiter; None where several can and none is the last.
    """

    delimiter: str
    width: int
    names: tuple[str, ...]
    free_text: int | None
    trailing: bool
    missing: tuple[str, ...]

    def cells(self, values: list[str]) -> Cells:
        """The fields by name."""
        return Cells(zip(self.names, values, strict=True))

    def split(self, text: str) -> list[str]:
        """The fields of a row; a delimiter behind the last one (`sacct -p`) makes none."""
        values = text.split(self.delimiter)
        if self.trailing and len(values) == self.width + 1 and not values[-1]:
            values.pop()
        excess = len(values) - self.width
        if excess > 0 and self.free_text is not None:
            at = self.free_text
            values[at : at + excess + 1] = [self.delimiter.join(values[at : at + excess + 1])]
        return values


def layout(names: tuple[str, ...] | list[str], delimiter: str) -> Layout:
    """The layout of columns in this order; an empty last name stands for `sacct -p`'s trailing delimiter."""
    trailing = names[-1] == ""
    named = [_canonical(name) for name in (names[:-1] if trailing else names)]
    return Layout(
        delimiter=delimiter,
        width=len(named),
        names=tuple(named),
        free_text=_free_text(named),
        trailing=trailing,
        missing=tuple(asked for asked, any_of in _NEEDED.items() if not any_of & set(named)),
    )


def header(text: str, delimiter: str) -> Layout | None:
    """The layout a header line declares, None for any other line. Finds another delimiter than the one expected."""
    if text[:1].isdigit():
        return None
    for candidate in dict.fromkeys((delimiter, _delimiter_in(text))):
        names = text.split(candidate) if candidate else []
        real = names[:-1] if names and names[-1] == "" else names
        if len(real) > 1 and all(name.strip().casefold() in KNOWN for name in real):
            return layout(names, candidate)
    return None


def _free_text(named: list[str]) -> int | None:
    """The column that takes what is too much in a row: the only one of free text, or the last if it is one."""
    free = [at for at, name in enumerate(named) if name in FREE_TEXT]
    if named[-1] in FREE_TEXT or len(free) == 1:
        return free[-1]
    return None


def _canonical(name: str) -> str:
    folded = name.strip().casefold()
    return _SQUEUE.get(folded, folded)


def _delimiter_in(text: str) -> str:
    match = _FIRST_TWO.match(text)
    return match[2] if match else ""
