"""Rows to write: every field of the right kind, and different from row to row where it is asked for."""

from typing import Any, TypeVar, get_type_hints

from ledger.archive import ArchivedEvent, DeadLetter
from ledger.checkpoint import Checkpoint, Position
from ledger.rows import AccountHour, ClusterHour, Posting, Row, Run

T = TypeVar("T", bound=tuple[Any, ...])

HOUR_S = 1_700_002_800
"""2023-11-14 23:00 UTC."""

TEXTS: dict[str, Any] = {"share_percent": "33.333333", "cause": b"0123456789abcdef"}
SHAPES: dict[Any, Any] = {
    str: "x",
    int: 7,
    bool: True,
    bytes: b"\x00\xff",
    int | None: None,
    tuple[str, ...]: ("a", "b"),
    tuple[int, ...]: (4000, 4000),
    tuple[tuple[int, ...], ...]: ((0, 1, 2, 3), ()),
}


def make(row_type: type[T], **given: Any) -> T:
    """A row with something plausible in each field that is not given."""
    fields = get_type_hints(row_type)
    filled = {name: TEXTS.get(name, HOUR_S if name.endswith("_s") else SHAPES[kind]) for name, kind in fields.items()}
    filled |= {name: None for name, kind in fields.items() if kind == int | None}
    return row_type(**(filled | given))


def event(offset: int, index: int = 0, **given: Any) -> ArchivedEvent:
    return make(
        ArchivedEvent,
        **{
            "topic": "tenure.events",
            "partition": 0,
            "offset": offset,
            "index": index,
            "raw": b'{"n":%d}' % offset,
            "occurred_us": 1_700_000_000_123_456,
            "recorded_us": 1_700_000_001_654_321,
        }
        | given,
    )


def letter(offset: int, **given: Any) -> DeadLetter:
    return make(DeadLetter, **{"offset": offset, "recorded_us": 1_700_000_000_000_000 + offset} | given)


def checkpoint(cluster: str = "c", seq: int = 10, events: int = 20, **given: Any) -> Checkpoint:
    filled: dict[str, Any] = {
        "position": Position("tenure.events", 0, events, 0),
        "recorded_s": HOUR_S,
        "ticked_s": HOUR_S,
        "closed_until_s": HOUR_S,
        "facts": b"\x00\xfffacts",
        "facts_hash": 2**128 - 1,
        "log_hash": 3,
    }
    return Checkpoint(cluster=cluster, seq=seq, events=events, **filled | given)


def cause(number: int) -> bytes:
    return number.to_bytes(16, "big")


def posting(seq: int, amount_gpu_ms: int = 100, **given: Any) -> Posting:
    filled = {"cluster": "c", "amount_gpu_ms": amount_gpu_ms, "seq": seq, "cause": cause(seq), "hour_s": HOUR_S}
    return make(Posting, **filled | given)


def account_hour(account: str, seq: int, **given: Any) -> AccountHour:
    amounts = {name: 0 for name in AccountHour._fields if name.endswith("_gpu_ms")}
    filled = {"cluster": "c", "pool": "h100", "account": account, "seq": seq, "cause": cause(seq), "hour_s": HOUR_S}
    return make(AccountHour, **amounts | filled | given)


def cluster_hour(seq: int, **given: Any) -> ClusterHour:
    amounts = {name: 0 for name in ClusterHour._fields if name.endswith("_gpu_ms")}
    filled = {"cluster": "c", "pool": "h100", "seq": seq, "cause": cause(seq), "hour_s": HOUR_S}
    return make(ClusterHour, **amounts | filled | given)


def run(job: str, **given: Any) -> Run:
    """A funded run of 8 GPUs on one node, ended after half an hour."""
    filled: dict[str, Any] = {
        "cluster": "c",
        "job": job,
        "attempt": "1",
        "placed_nodes": ("n1",),
        "placed_gpus_milli": (8000,),
        "placed_gpu_indices": (tuple(range(8)),),
        "gpus_milli": 8000,
        "submitted_s": HOUR_S - 600,
        "eligible_s": HOUR_S - 300,
        "started_s": HOUR_S,
        "ended_s": HOUR_S + 1800,
        "contract_end_s": HOUR_S + 1200,
        "min_runtime_s": 1200,
        "suspended_s": 0,
        "running_s": 1800,
        "released": (),
        "refunded_gpu_ms": 0,
    }
    return make(Run, **filled | given)


def tables_of(*rows: Row) -> dict[type[Row], list[Row]]:
    """Rows by type, as the store takes them."""
    found: dict[type[Row], list[Row]] = {}
    for row in rows:
        found.setdefault(type(row), []).append(row)
    return found
