"""From what was asked to a pack: which hours, as of when, as known when; then gather and put together."""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from zoneinfo import ZoneInfo

from ledger.store.protocol import Store
from ledger.units import hour_floor_s
from tenure.report.gather import gather, pool_spans, recorded_s
from tenure.report.measure import measure
from tenure.report.pack import Pack, pack
from tenure.report.period import LATEST_S, Asked, PeriodRefused, instant_of, period, shown, zone_named
from tenure.report.values import PoolSpan, Question


class NotThere(LookupError):
    """The book has no such pool or account; the message names what it has."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A review as asked for; `as_of` and `known_at` are instants as text, in the zone unless they carry an offset."""

    cluster: str
    pool: str = ""
    account: str = ""
    period: Asked = field(default_factory=Asked)
    zone: str = "UTC"
    as_of: str | None = None
    known_at: str | None = None


def review(store: Store, wanted: Wanted) -> Pack:
    """The pack. Raises PeriodRefused and NotThere with a sentence for whoever asked."""
    question = question_of(store, wanted)
    check_account(store, question.cluster, question.account)
    return pack(gather(store, question), measure(store, question))


def question_of(store: Store, wanted: Wanted) -> Question:
    """The question in instants: a period is cut off where hours are not closed yet, as was known then."""
    zone = zone_named(wanted.zone)
    known_at_s = None if wanted.known_at is None else max(0, min(instant_of(wanted.known_at, zone), LATEST_S))
    spans = pool_spans(store, wanted.cluster, known_at_s)
    _check_pool(wanted, spans, known_at_s, zone)
    closed_s = max(span.closed_until_s for span in spans)
    as_of_s = closed_s if wanted.as_of is None else min(closed_s, hour_floor_s(instant_of(wanted.as_of, zone)))
    asked = period(wanted.period, zone, as_of_s)
    until_s = min(asked.until_s, as_of_s)
    opens_s = min(span.opens_s for span in spans)
    if until_s <= max(asked.from_s, opens_s):
        raise PeriodRefused(
            "nothing_closed",
            f"no hour of the period is closed: the book has those of {shown(opens_s, zone)} to {shown(as_of_s, zone)}",
        )
    return Question(
        wanted.cluster,
        wanted.pool,
        wanted.account.strip("/"),
        asked.from_s,
        until_s,
        asked.until_s if wanted.as_of is None else min(asked.until_s, as_of_s),
        as_of_s,
        LATEST_S if wanted.as_of is None else as_of_s + 1,
        known_at_s,
        recorded_s(store, wanted.cluster),
        zone,
    )


def _check_pool(wanted: Wanted, spans: list[PoolSpan], known_at_s: int | None, zone: ZoneInfo) -> None:
    if not spans:
        when = "yet" if known_at_s is None else f"as known at {shown(known_at_s, zone)}"
        raise PeriodRefused("nothing_closed", f"no hour of {wanted.cluster} is closed {when}")
    names = [span.pool for span in spans]
    if wanted.pool and wanted.pool not in names:
        raise NotThere(f"{wanted.cluster} has no pool {wanted.pool!r}, only {', '.join(names)}")


def check_account(store: Store, cluster: str, account: str) -> None:
    """Raise NotThere for an account that never had a share, a grant or an hour; `cluster` '' is every cluster."""
    known = [str(name) for (name,) in store.query("report_pack_accounts", {"cluster": cluster}).rows]
    if not account or any(name == account or name.startswith(f"{account}/") for name in known):
        return
    near = get_close_matches(account, known, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else "`tenure accounts` lists what there is"
    raise NotThere(f"the book knows no account {account!r}: {hint}")
