"""What the drawn logs leave out: nodes that change their GPU type, books that open by themselves, ids used twice,
attempts that start again, statements of one instant, and days enough for the horizon to move."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from ledger.events import EVENT
from tests.oracle.logs import T0, Dice, is_observation, recorded

Log = list[Any]
Twist = Callable[[Sequence[Any], Dice], Log]

QUARTER = timedelta(minutes=15)
NEVER = datetime.max.replace(tzinfo=UTC)


def retyped(log: Sequence[Any], dice: Dice) -> Log:
    """Now and then a node is said to have GPUs of another type."""
    types = ("h100", "a100", "b200")
    return [
        changed(one, data={"gpu_type": dice.pick(types)})
        if one.type == "tenure.node.observed.v1" and dice.chance(40)
        else one
        for one in log
    ]


def opened_by_nodes(log: Sequence[Any], dice: Dice) -> Log:
    """No policy says where the book begins, and some nodes are told of late."""
    return [one for one in log if getattr(one.data, "opens_at", None) is None]


def opened_late(log: Sequence[Any], dice: Dice) -> Log:
    """Some of what is told ended before the book opens."""
    late = {"opens_at": T0 + timedelta(hours=dice.between(2, 5))}
    return [changed(one, data=late) if getattr(one.data, "opens_at", None) else one for one in log]


def under_one_attempt(log: Sequence[Any], dice: Dice) -> Log:
    """Some jobs name all of their attempts alike, as if a requeue were none."""
    jobs = {job: dice.chance(60) for job in sorted({getattr(one.data, "job", "") for one in log})}
    return [
        changed(one, data={"attempt": f"{one.data.job}.1"})
        if getattr(one.data, "attempt", None) is not None and jobs[one.data.job]
        else one
        for one in log
    ]


def with_ids_twice(log: Sequence[Any], dice: Dice) -> Log:
    """Some observations carry the id of another of their type: two contents under one id."""
    return _reusing_ids(log, dice, at_its_time=False)


def with_stamps_twice(log: Sequence[Any], dice: Dice) -> Log:
    """Two contents under one id and at one time: the hash of the content decides, and is nobody's to predict."""
    return _reusing_ids(log, dice, at_its_time=True)


def _reusing_ids(log: Sequence[Any], dice: Dice, *, at_its_time: bool) -> Log:
    earlier: dict[str, Any] = {}
    stamps = {(one.time, one.id) for one in log}
    found = []
    for one in log:
        event, other = one, earlier.get(one.type)
        if other is not None and is_observation(one) and other.time <= recorded(one) and dice.chance(25):
            time = other.time if at_its_time else one.time
            if _told_until(one) <= time if at_its_time else (time, other.id) not in stamps:
                event = changed(one, id=other.id, source=other.source, time=time)
                stamps.add((time, other.id))
        earlier[one.type] = event
        found.append(event)
    return found


def _told_until(one: Any) -> datetime:
    """The latest instant of a full statement of a run: it cannot have been told before."""
    known = (getattr(one.data, "started_at", None), getattr(one.data, "ended_at", None))
    return max((at for at in known if at is not None), default=T0.replace(year=1970))


SPANS = {"tenure.grant.made.v1", "tenure.maintenance.planned.v1"}
"""Events of a stretch, which must have a length."""


def on_the_quarter(log: Sequence[Any], dice: Dice) -> Log:
    """Every instant falls on a quarter of an hour, so that many coincide."""
    lasting = [one for one in log if one.type not in SPANS or one.data.until - one.data.since >= QUARTER]
    return [_moved(one, lambda at: at - timedelta(seconds=at.timestamp() % QUARTER.seconds)) for one in lasting]


def over_days(log: Sequence[Any], dice: Dice) -> Log:
    """Six times as slow, and the book keeps a day.

    Nobody says of a run that ended that it still runs, nor gives it to another account: of a run it has let go of the
    book knows no better.
    """
    slow = [_moved(one, lambda at: T0 + 6 * (at - T0)) for one in log]
    day = {"horizon_h": 24}
    slow = [changed(one, data=day) if one.type == "tenure.policy.set.v1" else one for one in slow]
    return [one for one in slow if _told_until(one) <= recorded(one) and not _revives(one, slow)]


def _revives(one: Any, log: Log) -> bool:
    if one.type == "tenure.run.reassigned.v1":
        return True
    if one.type != "tenure.run.observed.v1" or one.data.ended_at is not None:
        return False
    return any(_end_told(other, one) < one.time for other in log)


def _end_told(other: Any, run: Any) -> datetime:
    """The end that another event tells of this run."""
    match other.type:
        case "tenure.job.ended.v1" if other.data.job == run.data.job:
            return other.time if other.data.attempt in {None, run.data.attempt} else NEVER
        case "tenure.run.observed.v1" if (other.data.job, other.data.attempt) == (run.data.job, run.data.attempt):
            return other.data.ended_at or NEVER
        case _:
            return NEVER


TWISTS: tuple[Twist, ...] = (
    *(retyped, opened_by_nodes, opened_late, with_ids_twice, on_the_quarter, over_days),
    under_one_attempt,
)
"""Each of these the oracle can judge; `with_stamps_twice` it cannot."""


def changed(event: Any, *, data: dict[str, Any] | None = None, **envelope: Any) -> Any:
    """The event with other fields, validated as if it had come in so."""
    body = event.model_dump(exclude_unset=True) | {"type": event.type}
    return EVENT.validate_python(body | envelope | {"data": body["data"] | (data or {})})


def _moved(event: Any, move: Callable[[datetime], datetime]) -> Any:
    """The event with every instant in it moved."""

    def walk(value: Any) -> Any:
        if isinstance(value, datetime):
            return move(value)
        if isinstance(value, dict):
            return {name: walk(inner) for name, inner in value.items()}
        if isinstance(value, (list, tuple)):
            return [walk(inner) for inner in value]
        return value

    return EVENT.validate_python(walk(event.model_dump(exclude_unset=True) | {"type": event.type}))
