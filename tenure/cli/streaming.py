"""What `tenure doctor` looks at in Kafka: the topics, how far workers are, and whether log and book fit each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from ledger.checkpoint import Partition, by_cluster
from ledger.store.protocol import Store
from ledger.units import epoch_s
from streams.kafka import StreamError
from streams.topics import LOGS, SAMPLES
from tenure import wiring
from tenure.cli.brokers import HOW_TO_SAY, home_of
from tenure.cli.checks import Check
from tenure.cli.figures import number
from tenure.cli.queries import read
from tenure.cli.text import count, duration, plural
from tenure.cli.topics import looked_at
from tenure.config import Settings

if TYPE_CHECKING:
    from streams.kafka.admin import Admin
    from streams.kafka.fit import Span

READ = {topic.name for topic in (*LOGS, SAMPLES)}
LOGGED = {topic.name for topic in LOGS}


def checks(store: Store, settings: Settings) -> Iterator[Check]:
    """Everything there is to say of Kafka; nothing where neither the book nor the configuration speaks of one."""
    address, home = wiring.brokers(settings), home_of(store)
    if address is None:
        if home not in {"", "here"}:
            yield Check("act", "kafka", f"the log of this book is in {home}: {HOW_TO_SAY}", {"home": home})
        return
    try:
        with wiring.open_admin(address) as admin:
            yield from _checks(store, admin, settings, address, home)
    except StreamError as away:
        yield Check("act", "kafka", str(away), {"address": address})


def _checks(store: Store, admin: Admin, settings: Settings, address: str, home: str) -> Iterator[Check]:
    cluster, there = admin.cluster(), admin.home()
    value = {"address": address, "cluster_id": cluster.id, "brokers": cluster.brokers, "home": home}
    if home not in {"", there}:
        yield Check("act", "kafka", f"{there} at {address}, and the log of this book is in {home}", value)
        return
    told = f"{address}: {plural(cluster.brokers, 'broker')}"
    yield Check("ok", "kafka", f"{told}; no worker has fed this book yet" if not home else told, value)
    found, wrong = looked_at(admin, settings, address)
    told = "; ".join(f"{it.topic}: {it.what}" for it in wrong)
    shown = f"{told}: `tenure topics` says how to mend it" if wrong else "as they must be"
    yield Check("act" if wrong else "ok", "topics", shown, [asdict(it) for it in wrong])
    spans = admin.spans({name: topic for name, topic in found.items() if name in READ})
    yield from _fit(store, spans, address)
    yield from _lags(store, admin, spans, settings.kafka.group)


def _fit(store: Store, spans: Mapping[Partition, Span], address: str) -> Iterator[Check]:
    from streams.kafka.fit import held, misfits  # noqa: PLC0415 -- see wiring

    logged = {partition: span for partition, span in spans.items() if partition.topic in LOGGED}
    booked = by_cluster(store.checkpoints(store.live_generation()))
    clusters = {name: checkpoint.position.of for name, checkpoint in booked.items()}
    found = list(misfits(logged, held(store, logged), clusters, address))
    for misfit in found:
        yield Check("act", "log and book", misfit, misfit)
    if not found:
        yield Check("ok", "log and book", "fit each other", None)


def _lags(store: Store, admin: Admin, spans: Mapping[Partition, Span], group: str) -> Iterator[Check]:
    members, committed = admin.members(group), admin.committed(group)
    lags = {at: max(0, span.end - committed.get(at, span.first)) for at, span in spans.items()}
    idle = not members and any(lags.values())
    told = f"{plural(members, 'worker')} in the group {group}"
    told += ": start one, `tenure worker`" if idle else ""
    yield Check("act" if idle else "ok", "workers", told, {"group": group, "workers": members})
    now_s = epoch_s(wiring.clock())
    rows = store.query(read("folded_at")).rows
    ages_s = {Partition(str(topic), number(at)): now_s - number(at_s) for topic, at, at_s in rows}
    for at, span in sorted(spans.items()):
        if span.end:
            yield _lag(at, span, lags[at], ages_s.get(at))


def _lag(at: Partition, span: Span, lag: int, age_s: int | None) -> Check:
    """How far the group has committed, and how long ago the last record was recorded that is checkpointed."""
    told = f"{plural(span.end - span.first, 'record')}, {count(lag) if lag else 'none'} behind"
    if age_s is not None:
        told += f"; the last that is checkpointed is from {duration(age_s)} ago"
    value = {"first": span.first, "end": span.end, "lag": lag, "checkpointed_age_s": age_s}
    return Check("note" if lag else "ok", str(at), told, value)
