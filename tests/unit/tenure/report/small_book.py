"""A book of two hours, small enough to be reckoned by hand, and one correction two hours later.

Cluster `c`, pool `h100`, 8 GPUs. In GPU-hours, as the hours were closed:

    hour     capacity planned free | protected interruptible suspended unfunded | overbooked
    first           8       1    1 |         3             1         1        1 |
    second          8       0    0 |         2             6         0        0 |

    account  hour     claim grant charged refunded demand owed | bound unfunded
    lab/a    first        4     1       3        0      6    5 |     2        1
    lab/b    first        3     0       1        0      1    1 |     0        0
    lab/a    second       4     0       7        1      7    4 |     1        0
    lab/b    second       4     0       1        0      2    2 |     3        0

Recorded at the third hour's end, an event takes one GPU-hour of lab/a's first hour back: it ended earlier.
"""

from typing import Any

from ledger.rows import AccountHour, ClusterHour, Correction, Decision, Grant, Posting, Remark, Share
from ledger.store.protocol import ShareRequest, Store
from ledger.units import GPU_HOUR_MS, HOUR_S
from tenure.report.gather import gather
from tenure.report.measure import Measured
from tenure.report.pack import Pack, pack
from tenure.report.period import Asked, iso
from tenure.report.review import Wanted, check_account, question_of, review
from tests.contract.store.rows import HOUR_S as FIRST
from tests.contract.store.rows import (
    account_hour,
    cause,
    checkpoint,
    cluster_hour,
    letter,
    make,
    posting,
    run,
    tables_of,
)

SECOND = FIRST + HOUR_S
END = SECOND + HOUR_S
CLOSED = END + 300
CORRECTED = END + HOUR_S
CLOSING_SEQ, CORRECTING_SEQ, LAST_SEQ = 10, 20, 30
FIRST_HOUR = {"capacity": 8, "unavailable_planned": 1, "interruptible": 1, "suspended": 1, "unfunded": 1}
NOTHING_MEASURED = Measured([], [], [], [], [])


def gh(hours: float) -> int:
    """GPU-hours as GPU-milliseconds."""
    return int(hours * GPU_HOUR_MS)


def pool_hour(hour_s: int, seq: int, recorded_s: int, **hours: float) -> ClusterHour:
    amounts = {f"{name}_gpu_ms": gh(amount) for name, amount in hours.items()}
    return cluster_hour(seq, hour_s=hour_s, recorded_s=recorded_s, **amounts)


def hour(account: str, hour_s: int, seq: int, recorded_s: int, **hours: float) -> AccountHour:
    amounts = {f"{name}_gpu_ms": gh(amount) for name, amount in hours.items()}
    return account_hour(account, seq, hour_s=hour_s, recorded_s=recorded_s, **amounts)


def occupied(account: str, hour_s: int, class_: str, hours: float, seq: int = CLOSING_SEQ, **given: Any) -> Posting:
    filled = {"book": "capacity", "kind": "occupied", "pool": "h100", "node": "n1", "run": "1/1", "recorded_s": CLOSED}
    return posting(seq, gh(hours), account=account, hour_s=hour_s, class_=class_, **filled | given)


def write(store: Store, *rows: Any) -> None:
    """Rows under the live generation, settled up to the last of them."""
    store.write("g1", tables_of(*rows))
    store.save_checkpoint(
        "g1", checkpoint(seq=LAST_SEQ, recorded_s=CORRECTED + 60, ticked_s=CORRECTED, closed_until_s=END)
    )


def closed(store: Store) -> None:
    """The two hours as they were closed."""
    seq, at = CLOSING_SEQ, CLOSED
    write(
        store,
        pool_hour(
            FIRST,
            seq,
            at,
            capacity=8,
            unavailable_planned=1,
            idle=1,
            protected=3,
            interruptible=1,
            suspended=1,
            unfunded=1,
        ),
        pool_hour(SECOND, seq, at, capacity=8, protected=2, interruptible=6),
        hour("lab/a", FIRST, seq, at, claim=4, grant=1, charged=3, demand=6, owed=5, commitment=2, unfunded=1),
        hour("lab/b", FIRST, seq, at, claim=3, charged=1, demand=1, owed=1),
        hour("lab/a", SECOND, seq, at, claim=4, charged=7, refunded=1, demand=7, owed=4, commitment=1),
        hour("lab/b", SECOND, seq, at, claim=4, charged=1, demand=2, owed=2, commitment=3),
        occupied("lab/a", FIRST, "protected", 3),
        occupied("lab/b", FIRST, "interruptible", 1),
        occupied("lab/a", FIRST, "suspended", 1),
        occupied("lab/a", FIRST, "unfunded", 1),
        occupied("lab/a", SECOND, "interruptible", 6),
        occupied("lab/a", SECOND, "protected", 1),
        occupied("lab/b", SECOND, "protected", 1),
        share("lab", 1, "a", "60", FIRST - 60),
        share("lab", 1, "b", "40", FIRST - 60),
    )


def corrected(store: Store) -> None:
    """One GPU-hour of lab/a less in the first hour, recorded later."""
    seq, at = CORRECTING_SEQ, CORRECTED
    write(
        store,
        pool_hour(
            FIRST,
            seq,
            at,
            capacity=8,
            unavailable_planned=1,
            idle=2,
            protected=2,
            interruptible=1,
            suspended=1,
            unfunded=1,
        ),
        hour("lab/a", FIRST, seq, at, claim=4, grant=1, charged=2, demand=5, owed=5, commitment=2, unfunded=1),
        occupied("lab/a", FIRST, "protected", -1, seq, recorded_s=at),
        make(
            Correction,
            cluster="c",
            cause=cause(seq),
            type="tenure.job.ended.v1",
            since_s=FIRST,
            until_s=SECOND,
            moved_gpu_ms=gh(1),
            seq=seq,
            recorded_s=at,
        ),
    )


def share(parent: str, revision: int, child: str, percent: str, at_s: int, **given: Any) -> Share:
    filled: dict[str, Any] = {
        "cluster": "c",
        "pool": "",
        "parent": parent,
        "revision": revision,
        "child": child,
        "share_percent": percent,
        "slot_limit_milli": None,
        "effective_s": at_s,
        "backdated": False,
        "author": "ada",
        "reason": "opening",
        "seq": 1,
        "recorded_s": at_s,
    }
    return make(Share, **filled | given)


def decision(kind: str, subject: str, detail: str, at_s: int, seq: int = 5, **given: Any) -> Decision:
    filled: dict[str, Any] = {"cluster": "c", "author": "ada", "reason": "why not", "recorded_s": at_s}
    return make(Decision, kind=kind, subject=subject, detail=detail, occurred_s=at_s, seq=seq, **filled | given)


def reviewed(store: Store, *, measured: bool = False, **given: Any) -> Pack:
    """The pack of the two hours; without what is measured, which takes as long as all the rest, unless asked for."""
    filled: dict[str, Any] = {"period": Asked(iso(FIRST), iso(END))}
    wanted = Wanted("c", **filled | given)
    if measured:
        return review(store, wanted)
    question = question_of(store, wanted)
    check_account(store, question.cluster, question.account)
    return pack(gather(store, question), NOTHING_MEASURED)


__all__ = [
    "CLOSED",
    "CORRECTED",
    "END",
    "FIRST",
    "SECOND",
    "Grant",
    "Remark",
    "ShareRequest",
    "closed",
    "corrected",
    "decision",
    "gh",
    "letter",
    "make",
    "occupied",
    "reviewed",
    "run",
    "share",
    "write",
]
