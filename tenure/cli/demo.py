"""`tenure demo`: a cluster that never was, in a book that is real."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Final

import numpy as np
import typer

from ledger.store.protocol import Samples
from streams.runtime.embedded import Embedded
from tenure import wiring
from tenure.cli import exits, options, output
from tenure.cli.desk import folding, unfolded
from tenure.cli.text import plural
from tenure.cli.tour import tour
from tenure.demo import CLUSTER, Demo, SampleBlock, generate

DAYS: Final = 30
SEED: Final = 7
MARKER: Final = "demo.json"
"""Says that the folder's book is a demo, which one, and whether it was loaded to the end."""


@dataclass(frozen=True, slots=True)
class Marker:
    """What the demo's folder says of it. `preempted` is the job the tour explains."""

    seed: int
    days: int
    preempted: str
    complete: bool


def demo(
    days: Annotated[int, typer.Option("--days", min=1, max=60, help="Days of the cluster's life.")] = DAYS,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Another seed is another cluster life.")] = SEED,
    fresh: Annotated[bool, typer.Option("--fresh", help="Throw an earlier demo away and begin anew.")] = False,
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="DIR", help="Its folder. Else $TENURE_DATA, else ~/.local/share/tenure/demo."),
    ] = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Fill an empty book with a simulated cluster, and show what there is to see."""
    place = wiring.demo_place(data, wiring.load_settings(config))
    begun = wiring.monotonic_s()
    if fresh:
        _remove(place)
    marker = _marker(place)
    with wiring.open_store(place) as store:
        if marker is None and (unfolded(store) or store.checkpoints(store.live_generation())):
            raise exits.Stop(
                f"{place} holds a book that is no demo, and the demo does not mix with it: "
                "name an empty folder, `tenure demo --data DIR`"
            )
        with folding(store, place) as runtime:
            if marker is None or not marker.complete:
                marker = _load(runtime, place, marker or Marker(seed, days, "", complete=False))
                output.note(f"Loaded in {wiring.monotonic_s() - begun:.0f} s, into {place}.")
            else:
                output.note(f"The demo is there already: {plural(marker.days, 'day')}, seed {marker.seed}, in {place}.")
            tour(store, runtime.processor.ledgers[CLUSTER].book.state, marker.preempted, place, as_json=as_json)


def _load(runtime: Embedded, place: wiring.Place, marker: Marker) -> Marker:
    """Generate the demo and take it in; an interrupted one is taken in again, and its repeats change nothing."""
    _write(place, marker)
    with output.bars() as bars:
        bar = bars.bar(f"Simulating {plural(marker.days, 'day')} of a cluster", None)
        made = generate(marker.seed, marker.days)
        bar.advance(len(made.events))
        bar.done()
        bar = bars.bar("Keeping the book", len(made.events))
        runtime.ingest(made.events, bar.advance)
        bar.done()
        bar = bars.bar("GPU samples", marker.days)
        for block in _samples(made):
            runtime.add_samples(block)
            bar.advance(1)
        bar = bars.bar("Summing samples by run and hour", None)
        runtime.save()
        bar.done()
    done = Marker(marker.seed, marker.days, made.highlights.preempted.job, complete=True)
    _write(place, done)
    return done


def _samples(made: Demo) -> Iterator[Samples]:
    return map(columns, made.samples)


def columns(block: SampleBlock) -> Samples:
    """A day's samples as the store takes them."""
    size = len(block)
    return Samples(
        clusters=(CLUSTER,),
        cluster=np.zeros(size, dtype=np.uint16),
        nodes=block.nodes,
        node=block.node.astype(np.uint16),
        gpu=block.gpu.astype(np.uint16),
        at_s=block.minute_s.astype(np.int64),
        interval_s=np.full(size, block.interval_s, dtype=np.uint32),
        utilization_pct=block.utilization_pct,
        sm_active_pct=block.sm_active_pct,
        memory_used_mib=block.memory_used_mib,
        power_w=block.power_w,
        xid=np.where(block.xid == 0, -1, block.xid).astype(np.int32),
    )


# ---------------------------------------------------------------- the folder


def _marker(place: wiring.Place) -> Marker | None:
    path = place.folder / MARKER
    try:
        return Marker(**json.loads(path.read_text("utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as wrong:
        raise exits.Stop(f"{path} cannot be read ({wrong}): name another folder, or remove this one") from wrong


def _write(place: wiring.Place, marker: Marker) -> None:
    (place.folder / MARKER).write_text(json.dumps(asdict(marker)) + "\n", "utf-8")


def _remove(place: wiring.Place) -> None:
    """Remove a demo, and nothing that is none."""
    if place.server is not None:
        raise exits.Stop("--fresh removes folders only: drop the demo's database on the server yourself")
    if not place.folder.exists():
        return
    if _marker(place) is None and any(place.folder.iterdir()):
        raise exits.Stop(f"{place} holds no demo, and --fresh removes nothing else: name another folder with --data")
    _nobody_has_it(place)
    shutil.rmtree(place.book, ignore_errors=True)
    (place.folder / MARKER).unlink(missing_ok=True)


def _nobody_has_it(place: wiring.Place) -> None:
    """Raise StoreBusy where another process has the book open."""
    with wiring.open_store(place):
        pass
