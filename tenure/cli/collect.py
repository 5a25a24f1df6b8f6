"""`tenure collect`: what a live cluster does, into the book as it happens."""

from __future__ import annotations

import json
import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer

from ledger.units import epoch_s
from streams.sources.config import SourceConfig, validated
from streams.sources.slurm.live.kept import cursor_file
from tenure import wiring
from tenure.cli import exits, instants, options, output
from tenure.cli.brokers import broker
from tenure.cli.collecting import QUESTIONS, Collector, Polled, Sink, TickedBook, topics
from tenure.cli.desk import folding, open_place
from tenure.cli.ingest import KAFKA
from tenure.cli.text import count, plural
from tenure.config import CollectConfig, Settings

LOG: Final = logging.getLogger(__name__)
FOLDER: Final = "collect"
app = typer.Typer(no_args_is_help=True, help="What a live cluster does, into the book as it happens.")


@app.callback()
def _root() -> None:
    pass


@app.command()
def slurm(
    cluster: Annotated[
        str | None, typer.Option("--cluster", metavar="NAME", help="Its name under `slurm`; needed if there are more.")
    ] = None,
    every: Annotated[
        str | None, typer.Option("--every", metavar="10s", help="From poll to poll. Else as configured, else 10s.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Poll once and end.")] = False,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="INSTANT", help="The first time: tell what ended from then on. Else from now."),
    ] = None,
    to: Annotated[
        str, typer.Option("--to", metavar="kafka", help="Send it to Kafka, where workers fold it; else fold it here.")
    ] = "",
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Poll a Slurm, until SIGTERM or Ctrl-C. Each fact is told once, also over restarts of either."""
    if to not in {"", KAFKA}:
        raise exits.Stop(f"there is no place {to!r} to send it to: say --to {KAFKA}, or leave it out")
    settings = wiring.load_settings(config)
    source = _source(settings, cluster)
    how = settings.collect.get(source.cluster, CollectConfig())
    if every is not None:
        how = validated(CollectConfig, {**how.model_dump(), "every": every}, "--every")
    since_s = None if since is None else epoch_s(instants.parsed(since, "--since"))
    wiring.log_to_stderr()
    kept = wiring.place(data, settings).folder / FOLDER / f"slurm-{source.cluster}.json"
    with cursor_file(kept) as file, _sink(to, data, config, settings) as sink:
        collector = Collector(source, partial(wiring.open_slurm, how), file, sink, since_s)
        if once:
            _once(collector, as_json=as_json)
        else:
            LOG.info("polls %s every %s s, tells %s; the cursor is %s", source.cluster, how.every, sink.place, kept)
            _go_on(collector, how.every, as_json=as_json)


def _source(settings: Settings, cluster: str | None) -> SourceConfig:
    wanted = cluster or settings.cluster
    if wanted is not None:
        return settings.slurm.get(wanted) or SourceConfig(cluster=wanted)
    if len(settings.slurm) == 1:
        return next(iter(settings.slurm.values()))
    known = ", ".join(sorted(settings.slurm)) or "none"
    raise exits.Stop(f"say which cluster with --cluster NAME (the configuration has {known})")


@contextmanager
def _sink(to: str, data: Path | None, config: Path | None, settings: Settings) -> Iterator[Sink]:
    if to == KAFKA:
        with topics(broker(settings)) as sink:
            yield sink
        return
    with open_place(data, config, create=True) as (store, place, _), folding(store, place) as runtime:
        yield TickedBook(runtime, f"the book at {place}")


# ---------------------------------------------------------------- once


def _once(collector: Collector, *, as_json: bool) -> None:
    polled = collector.poll(wiring.clock())
    if as_json:
        output.emit(_report(collector, polled))
    else:
        _show(collector, polled)
    if len(polled.silent) >= QUESTIONS or polled.trouble:
        raise typer.Exit(exits.STORE)
    if not polled.well:
        raise typer.Exit(exits.FINDINGS)


def _show(collector: Collector, polled: Polled) -> None:
    made = output.table(f"{collector.config.cluster} at {output.iso_s(polled.at_s)}", "What", ">Number")
    rows = [[f"jobs {name}", count(polled.phases[name])] for name in ("running", "suspended", "waiting")]
    rows += [[f"nodes {name}", count(n)] for name, n in sorted(polled.nodes.items())]
    rows += [[f"told: {_short(name)}", count(n)] for name, n in sorted(polled.told.items())]
    output.show(output.fill(made, rows))
    for sentence in _complaints(polled):
        output.tell(sentence)


# ---------------------------------------------------------------- on and on


def _go_on(collector: Collector, every_s: int, *, as_json: bool) -> None:
    """Poll until a signal; what is begun is carried through."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    telling = Telling(as_json)
    while not stop.is_set():
        begun_s = wiring.monotonic_s()
        telling.tell(collector, collector.poll(wiring.clock()))
        stop.wait(max(0.0, every_s - (wiring.monotonic_s() - begun_s)))
    LOG.info("stopped")


@dataclass(slots=True)
class Telling:
    """Logs what the polls of a cluster come to; `as_json`: a line for each poll, with all of it."""

    as_json: bool
    wrong: list[str] = field(default_factory=list)

    def tell(self, collector: Collector, polled: Polled) -> None:
        """What was told; and what is wrong, once while it lasts, and when it is over."""
        if self.as_json:
            typer.echo(json.dumps(_report(collector, polled)))
        elif polled.told:
            LOG.info("%s: %s", collector.config.cluster, _line(polled))
        before, self.wrong = self.wrong, _complaints(polled)
        for sentence in self.wrong:
            if sentence not in before:
                LOG.warning("%s", sentence)
        if before and not self.wrong:
            LOG.info("all answered again")


def _line(polled: Polled) -> str:
    told = ", ".join(f"{n} {_short(name)}" for name, n in sorted(polled.told.items()))
    running, waiting = polled.phases["running"], polled.phases["waiting"]
    return f"told {told}; {running} running, {waiting} waiting"


def _complaints(polled: Polled) -> list[str]:
    found = [*polled.silent]
    if polled.trouble:
        found.append(f"{polled.trouble} ({plural(polled.unsent, 'event')} kept, and sent at the next poll)")
    found += [f"a row was kept as a dead letter ({row.reason}): {row.sentence}" for row in polled.letters]
    if polled.lost:
        found.append(
            f"neither controller nor accounting tells the end of {', '.join(polled.lost[:5])}"
            f"{' and others' if len(polled.lost) > 5 else ''}, so they run on in the book: "  # noqa: PLR2004 -- as shown
            "`sacctmgr show runawayjobs` ends them"
        )
    found += [
        f"the book refused {plural(n, 'event')} ({name}): see `tenure dead-letters list`"
        for name, n in polled.refused.items()
    ]
    return found


def _short(name: str) -> str:
    """`job.started` of `tenure.job.started.v1`."""
    return name.removeprefix("tenure.").removesuffix(".v1")


def _report(collector: Collector, polled: Polled) -> output.Report:
    return {
        "cluster": collector.config.cluster,
        "at": output.iso_s(polled.at_s),
        "jobs": dict(polled.phases),
        "nodes": dict(polled.nodes),
        "events": {_short(name): n for name, n in polled.told.items()},
        "unsent": polled.unsent,
        "silent": list(polled.silent),
        "dead_letters": [row.reason for row in polled.letters],
        "lost": polled.lost,
        "refused": dict(polled.refused),
        "trouble": polled.trouble,
        "well": polled.well,
    }
