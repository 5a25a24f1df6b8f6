"""Quix Streams: the same fold per event, each job's record in its state, with the changelog that makes it durable."""

from __future__ import annotations

import sys
from tempfile import TemporaryDirectory

from quixstreams import Application
from quixstreams.state import State

from bench.kafka.fold import Fold
from bench.kafka.watch import Watch
from streams.topics import EVENTS


def run(address: str, records: int, group: str, store: str, folder: str) -> None:
    """Until so many records are folded, the last of them in a committed checkpoint."""
    app = Application(address, consumer_group=group, auto_offset_reset="earliest", state_dir=folder, loglevel="WARNING")
    topic = app.topic(EVENTS.name, key_deserializer="bytes", value_deserializer="bytes")
    fold, watch = Fold(store), Watch()

    def folding(value: bytes, state: State) -> None:
        watch.begin()
        for about, said in fold.record(value):
            state.set(about, said)

    frame = app.dataframe(topic).update(folding, stateful=True)
    context = app._processing_context  # noqa: SLF001 -- its last commit is the moment we want
    commit = context.commit_checkpoint

    def committing(*how: bool, **named: bool) -> None:
        ends = bool(how or named.get("force")) and watch.runs
        if ends:
            fold.take()
        commit(*how, **named)
        if ends:
            watch.tell(fold.events, rows=fold.rows)

    context.commit_checkpoint = committing  # type: ignore[method-assign]
    app.run(frame, count=records, collect=False)


with TemporaryDirectory() as made:
    run(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4], made)
