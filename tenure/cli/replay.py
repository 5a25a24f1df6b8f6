"""`tenure replay`: the book made again from its log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import typer
from rich.table import Table

from ledger.checkpoint import Partition, Position, by_cluster
from ledger.facts import OtherFormat
from ledger.store.protocol import Store, TableDifference
from streams.replay import Archive, Checkpoints, Log, Replay, folded_to, saved, sum_samples
from streams.runtime.samples import Sums
from streams.topics import LOGS
from tenure import wiring
from tenure.cli import exits, options, output
from tenure.cli.brokers import fed, feeding
from tenure.cli.desk import open_place, unfolded
from tenure.cli.text import NONE, count, gpu_hours, plural
from tenure.config import Settings

if TYPE_CHECKING:
    from streams.kafka.admin import Admin
    from streams.kafka.fit import Span


ARCHIVE: Final = "archive"
KAFKA: Final = "kafka"
LOOKS: Final = 3
CATCHES: Final = 10
LITTLE: Final = 1_000
"""Records that workers fold in no time."""
WHOLE_RECORD: Final = 1 << 31
"""More than any event's place in its record."""
ACCOUNTS_SHOWN: Final = 30


def replay(
    generation: Annotated[
        str | None, typer.Argument(metavar="[GENERATION]", help="Name of the new generation; else the next number.")
    ] = None,
    source: Annotated[
        str, typer.Option("--from", metavar="archive|kafka", help="The log in the store, or the one in Kafka.")
    ] = ARCHIVE,
    switch: Annotated[bool, typer.Option("--switch", help="Let the views show it when it is done.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep it beside the live one without switching.")] = False,
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Fold the whole log into another generation and compare it with the live one. 0: equal; 1: they differ."""
    if source not in {ARCHIVE, KAFKA}:
        raise exits.Stop(f"there is no log in {source!r}: say --from {ARCHIVE} or --from {KAFKA}")
    with open_place(data, config) as (store, place, settings), _log(store, settings, source) as log:
        if not fed(store) and unfolded(store):
            with suppress(OtherFormat), wiring.open_runtime(store, place):
                pass
        live = store.live_generation()
        if not any(of_partition for of_partition in store.checkpoints(live).values()):
            raise exits.Stop(f"the book at {place} is empty: there is nothing to replay", exits.NOTHING)
        made = generation or _next(live)
        if made == live:
            raise exits.Stop(f"{made} is the generation the views show: name another")
        store.drop_generation(made)
        again = Replay(store, made, log)
        found = _rebuild(store, live, again)
        if switch and log is not None and found.hashes:
            switch = False
            output.note("The log in Kafka is not the one the book was made from: not switched.", style="red")
        if switch or keep:
            _sum_samples(store, made)
        if switch:
            _catch_up(store, again)
            store.set_live_generation(made)
        elif not keep:
            store.drop_generation(made)
    if as_json:
        output.emit(_json(live, made, found, source, switched=switch))
    else:
        _tell(live, made, found)
        output.say(_fate(live, made, switch=switch, keep=keep))
    if not found.equal:
        raise typer.Exit(exits.FINDINGS)


@contextmanager
def _log(store: Store, settings: Settings, source: str) -> Iterator[Log | None]:
    """The log to fold; None for the store's own."""
    if source == ARCHIVE:
        yield None
        return
    if not fed(store):
        raise exits.Stop(f"the log of this book is not in Kafka: leave --from out, or say --from {ARCHIVE}")
    with (
        feeding(store, settings) as address,
        wiring.open_admin(address) as admin,
        wiring.open_log(address, lambda: _spans(admin)) as log,
    ):
        yield log


def _spans(admin: Admin) -> dict[Partition, Span]:
    """What the topics of the log hold now."""
    logs = {topic.name for topic in LOGS}
    return admin.spans({name: topic for name, topic in admin.found().items() if name in logs})


def _next(live: str) -> str:
    """`g2` after `g1`."""
    number = live.removeprefix("g")
    return f"g{int(number) + 1}" if number.isdigit() else f"{live}-again"


class Found(NamedTuple):
    """What the new generation is beside the live one. `hashes` are sentences on clusters whose log or facts differ."""

    records: int
    clusters: int
    differences: list[TableDifference]
    hashes: list[str]
    accounts: list[dict[str, Any]]

    @property
    def equal(self) -> bool:
        return not self.differences and not self.hashes


def _rebuild(store: Store, live: str, again: Replay) -> Found:
    """Fold the log and compare. Workers may go on meanwhile: then it is folded up to their checkpoints, and what they
    have written since is left out; a difference counts when it is still there after another look.
    """
    going_on = fed(store)
    with output.bars() as bars:
        (kept, half), differences = _look(store, live, again, bars, going_on=going_on)
        for _ in range(LOOKS - 1 if going_on else 0):
            if differences or half:
                (kept, half), differences = _look(store, live, again, bars, going_on=going_on)
    again.checkpoint()
    hashes = list(differing(kept, again.replayed.checkpoints, without=half))
    asked = {"a": live, "b": again.generation}
    accounts = store.query("difference_by_account", asked).dicts() if differences else []
    return Found(again.replayed.records, len(by_cluster(kept)), differences, hashes, accounts)


def _look(
    store: Store, live: str, again: Replay, bars: output.Bars, *, going_on: bool
) -> tuple[tuple[Checkpoints, frozenset[str]], list[TableDifference]]:
    """Fold on to where the live generation is checkpointed now.

    Its checkpoints, the clusters half saved, which are left out, and the rows that differ there.
    """
    kept, half = saved(store, live) if going_on else (store.checkpoints(live), frozenset[str]())
    bar = bars.bar(f"Folding the log into {again.generation}", _events(kept) - again.replayed.records)
    again.go_on(until=folded_to(kept) if going_on else None, progress=bar.advance)
    bar.done()
    settled = {name: checkpoint.seq for name, checkpoint in by_cluster(kept).items()} if going_on else None
    return (kept, half), store.compare_generations(live, again.generation, settled=settled)


def _events(checkpoints: Checkpoints) -> int:
    return sum(checkpoint.events for of_partition in checkpoints.values() for checkpoint in of_partition.values())


def differing(kept: Checkpoints, made: Checkpoints, *, without: frozenset[str] = frozenset()) -> Iterator[str]:
    """The clusters whose log or facts are not the same in two sets of checkpoints."""
    stored, replayed = by_cluster(kept), by_cluster(made)
    for cluster in sorted((stored.keys() | replayed.keys()) - without):
        a, b = stored.get(cluster), replayed.get(cluster)
        if a is None or b is None:
            yield f"{cluster}: only one of the two has it"
        elif a.log_hash != b.log_hash:
            yield f"{cluster}: the log is not the one the book was made from: {a.events} and {b.events} events"
        elif (a.facts_hash, a.seq) != (b.facts_hash, b.seq):
            yield f"{cluster}: the facts differ: their hashes are {a.facts_hash:032x} and {b.facts_hash:032x}"


def _sum_samples(store: Store, made: str) -> None:
    """The sums of GPU samples are no part of the log: made again from the samples there are."""
    checkpoints = store.checkpoints(made)
    with output.bars() as bars:
        bar = bars.bar("Summing samples by run and hour", len(by_cluster(checkpoints)))
        sum_samples(store, made, checkpoints, bar.advance)
        bar.done()


def _catch_up(store: Store, again: Replay) -> None:
    """Fold what came meanwhile, until that is little, so that the views lose next to nothing when they switch.

    Workers begin behind it, and so it must not be more than the store has.
    """
    folded = 0
    for _ in range(CATCHES):
        until = {at: Position(*at, store.last_offset(*at), WHOLE_RECORD) for at in Archive(store).partitions()}
        latest = again.go_on(until=until)
        folded += latest
        if latest < LITTLE:
            break
    if folded:
        again.checkpoint()
        sums = Sums()
        for cluster, at in by_cluster(again.replayed.checkpoints).items():
            sums.resumed(cluster, at.closed_until_s)
            sums.make(store, again.generation, cluster, at.closed_until_s, at.ticked_s)


def _tell(live: str, made: str, found: Found) -> None:
    output.say(f"Folded {plural(found.records, 'record')} into {made}.")
    if found.equal:
        clusters = plural(found.clusters, "cluster")
        output.say(f"{made} equals {live} in every row, and in the hashes of {clusters}.", style="green")
        return
    for sentence in found.hashes:
        output.tell(sentence)
    if found.differences:
        output.show(_table(live, made, found.differences))
    if found.accounts:
        output.say()
        output.show(_by_account(live, made, found.accounts[:ACCOUNTS_SHOWN]))


def _table(live: str, made: str, differences: list[TableDifference]) -> Table:
    found = output.table("Rows that differ", "*Table", f">Only in {live}", f">Only in {made}")
    rows = ([d.table, count(d.only_in_a), count(d.only_in_b)] for d in differences)
    return output.fill(found, rows)


def _by_account(live: str, made: str, accounts: list[dict[str, Any]]) -> Table:
    found = output.table(
        "Postings that differ, GPU-hours", "~Account", "*Pool", "*Class", "*Kind", f">{live}", f">{made}", ">Difference"
    )
    for row in accounts:
        amounts = (row["a_gpu_ms"], row["b_gpu_ms"], row["difference_gpu_ms"])
        output.fill(found, [[row["account"] or NONE, row["pool"], row["class"], row["kind"], *map(gpu_hours, amounts)]])
    return found


def _fate(live: str, made: str, *, switch: bool, keep: bool) -> str:
    if switch:
        return f"The views show {made} now; {live} is kept: `tenure replay {live} --switch` goes back."
    return f"The views still show {live}; {made} is {'kept' if keep else 'gone again'}."


def _json(live: str, made: str, found: Found, source: str, *, switched: bool) -> output.Report:
    return {
        "live": made if switched else live,
        "compared": [live, made],
        "from": source,
        "records": found.records,
        "equal": found.equal,
        "hashes": found.hashes,
        "tables": [
            {"table": d.table, f"only_in_{live}": d.only_in_a, f"only_in_{made}": d.only_in_b}
            for d in found.differences
        ],
        "accounts": found.accounts,
        "switched": switched,
    }
