"""Slurm told by slurmrestd. It cancels and signals; it has no way to requeue or to make a reservation, and says so.

Written to versions 0.0.38 (Slurm 22.05) and later answers of the same calls; tested on 0.0.38. A user that is not an
operator is refused with HTTP 500 there, and later with HTTP 200 and the refusal in `status`.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from enforcer.actuators.http import Http, NoReply, Reply
from enforcer.actuators.slurm import Failed, Row, failed
from enforcer.orders import REFUSED, UNREACHABLE

_NO_JOB: Final = "Invalid job id specified"
_INSTEAD: Final = "use the actuator slurm_cli, which has Slurm's own commands"


class Rest:
    """The client. `http` carries `X-SLURM-USER-NAME` and `X-SLURM-USER-TOKEN` where slurmrestd asks for a token."""

    def __init__(self, http: Http, *, version: str = "v0.0.38", signal: str = "TERM") -> None:
        self._http = http
        self._base = f"/slurm/{version}"
        self._version = version
        self._signal = signal

    def look(self, job: str) -> Row | Failed | None:
        """Of an array, the task."""
        said = self._ask("GET", f"/job/{quote(job.partition('+')[0])}")
        if isinstance(said, Failed):
            return None if _NO_JOB in said.sentence else said
        jobs = said.get("jobs")
        rows = [_row(one) for one in jobs if isinstance(one, dict)] if isinstance(jobs, list) else []
        return next((row for row in rows if row.job == job), None)

    def requeue(self, job: str) -> Failed | None:
        """`requeue: true` in an update sets whether a job may be requeued, and requeues nothing."""
        return Failed(REFUSED, f"slurmrestd {self._version} has no call that requeues job {job}: {_INSTEAD}.")

    def signal(self, job: str) -> Failed | None:
        """Reaches the batch script, too."""
        return self._done("DELETE", f"/job/{quote(job.partition('+')[0])}?signal={self._signal}")

    def cancel(self, job: str, _state: str) -> Failed | None:
        """There is no condition on the state: an attempt that began since the look would be cancelled."""
        return self._done("DELETE", f"/job/{quote(job.partition('+')[0])}")

    def note(self, job: str, text: str) -> Failed | None:
        """0.0.38 knows no `admin_comment`; `comment` is the user's own and is left alone."""
        return self._done("POST", f"/job/{quote(job)}", {"admin_comment": text})

    def _done(self, method: str, path: str, content: object = None) -> Failed | None:
        said = self._ask(method, path, content)
        return said if isinstance(said, Failed) else None

    def _ask(self, method: str, path: str, content: object = None) -> dict[str, object] | Failed:
        path = self._base + path
        reply = self._http.ask(method, path) if content is None else self._http.send(method, path, content)
        return _read(reply)


def _read(reply: Reply | NoReply) -> dict[str, object] | Failed:
    if isinstance(reply, NoReply):
        return Failed(UNREACHABLE, f"slurmrestd: {reply.sentence}")
    said = reply.json
    wrong = _errors(said)
    if wrong:
        return failed(f"{wrong} (slurmrestd, HTTP {reply.status})")
    if not reply.ok:
        return Failed(
            REFUSED if reply.status in {401, 403, 404, 511} else UNREACHABLE,
            f"slurmrestd answered {reply.status}: {reply.text or 'nothing more'}",
        )
    return said


def _errors(said: dict[str, object]) -> str:
    found: list[str] = []
    for error in (*_dicts(said.get("errors")), *(one.get("error") for one in _dicts(said.get("status")))):
        if isinstance(error, dict) and (error.get("error_number") or error.get("code") or error.get("description")):
            found += [str(error[key]) for key in ("description", "error", "message") if error.get(key)]
    return "; ".join(dict.fromkeys(found))


def _dicts(said: object) -> list[dict[str, object]]:
    return [one for one in said if isinstance(one, dict)] if isinstance(said, list) else []


def _row(job: dict[str, object]) -> Row:
    states = job.get("job_state")
    task, base = job.get("array_task_id"), _number(job.get("array_job_id"))
    offset, leader = job.get("het_job_offset"), _number(job.get("het_job_id"))
    name = str(job.get("job_id"))
    if base not in {"", "0"} and _number(task):
        name = f"{base}_{_number(task)}"
    elif leader not in {"", "0"}:
        name = f"{leader}+{_number(offset)}"
    return Row(
        name,
        frozenset(str(one) for one in states) if isinstance(states, list) else frozenset({str(states)}),
        _number(job.get("submit_time")),
        _number(job.get("start_time")),
        str(job.get("user_name", "")),
        str(job.get("resv_name") or ""),
        str(job.get("admin_comment") or ""),
    )


def _number(said: object) -> str:
    """A number, plain or as `{set, infinite, number}`; '' where it is not set."""
    if isinstance(said, dict):
        return str(said.get("number")) if said.get("set") else ""
    return "" if said is None else str(said)
