"""Asking for another share, and answering: the review that DESIGN's managers do."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, Literal

import typer

from ledger.events import ShareDecided, ShareRequested, SharesSet
from ledger.events.decisions import ShareDecidedData, SharesSetData
from ledger.events.directory import ShareRequestedData
from ledger.state import State
from ledger.units import epoch_s
from tenure import wiring
from tenure.cli import desk as desks
from tenure.cli import exits, options, output, previews
from tenure.cli.desk import SOURCE, reading, writing
from tenure.cli.queries import read
from tenure.cli.sharing import Preview, latest, preview, wanted
from tenure.cli.text import below_root, when

Decision = Literal["approved", "amended", "refused"]
ANSWERS: dict[str, Decision] = {"approve": "approved", "amend": "amended", "refuse": "refused"}


def request(
    account: Annotated[str, typer.Argument(metavar="ACCOUNT", help="Whose share it is.")],
    percent: Annotated[str, typer.Argument(metavar="PERCENT", help="Of its parent's claim.")],
    reason: options.Reason = "",
    author: options.Author = None,
    cluster: options.Cluster = None,
    pool: options.Pool = None,
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Ask for another share; `tenure shares decide` answers."""
    with writing(data, config) as (desk, pen):
        name = f"R-{wiring.new_id()[:8]}"
        asked = ShareRequestedData(
            request=name,
            cluster=desk.cluster(cluster),
            gpu_type=pool,
            account=account,
            share_percent=_percent(percent),
            author=desk.author(author),
            reason=reason,
        )
        event = ShareRequested(id=f"request/{name}", source=SOURCE, time=wiring.clock(), data=asked)
        desks.send(pen, event)
    if as_json:
        output.emit({"request": name, "account": account, "share_percent": percent})
        return
    output.say(f"Asked as {name}: {account} at {percent} % of {account.rpartition('/')[0] or 'nothing'}.")


def requests(
    open_: Annotated[bool, typer.Option("--open", help="Only those that nobody has answered.")] = False,
    cluster: options.Cluster = None,
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """List what was asked for, and the answers."""
    with reading(data, config) as desk:
        rows: list[dict[str, Any]] = desk.store.query(read("share_requests"), {"cluster": cluster or ""}).dicts()
        watermarks = desk.watermarks()
    shown = [row for row in rows if not open_ or row["decision"] is None]
    if as_json:
        output.emit({"watermarks": watermarks, "requests": shown})
        return
    made = output.table("Requests for shares", "*Request", "~Account", ">Percent", "~By", "*Asked", "Answer")
    for row in shown:
        decision = str(row["decision"]).removesuffix(f" ({row['request']})")
        answer = f"{decision}, {row['decided_by']}" if row["decision"] is not None else "open"
        cells = (
            row["request"],
            below_root(row["account"]),
            row["share_percent"],
            row["author"],
            when(row["requested_at"]),
            answer,
        )
        output.fill(made, [[str(cell) for cell in cells]])
    output.show(made)


def decide(
    name: Annotated[str, typer.Argument(metavar="REQUEST", help="As `tenure shares requests` lists it.")],
    answer: Annotated[str, typer.Argument(metavar="approve|amend|refuse")],
    percent: Annotated[str, typer.Option("--percent", help="With amend: the share instead of the one asked for.")] = "",
    others: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="CHILD=PERCENT", help="A sibling's share in the same revision."),
    ] = None,
    expect: Annotated[int | None, typer.Option("--expect", help="Only if the shares are at this revision.")] = None,
    reason: options.Reason = "",
    author: options.Author = None,
    yes: options.Yes = False,
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Answer a request; a yes also writes the shares that carry it out."""
    if answer not in ANSWERS:
        raise exits.Stop(f"{answer!r} is no answer: approve, amend or refuse")
    if (answer == "amend") != bool(percent):
        raise exits.Stop("amend needs --percent, and nothing else takes it")
    now = wiring.clock()
    with writing(data, config) as (desk, pen):
        asked = _asked(desk, name)
        state = pen.state(asked["cluster"])
        given = _percent(percent or asked["share_percent"]) if answer != "refuse" else None
        who = desk.author(author)
        carried = [] if given is None else [_carry_out(state, asked, given, others or [], who, expect, now)]
        for event in carried:
            desks.check(pen, event)
            if not as_json:
                previews.tell(_preview(state, asked, event), epoch_s(now))
        desks.confirm(f"{ANSWERS[answer]} {asked['account']}{f' at {given} %' if given is not None else ''}?", yes=yes)
        told = (
            f"{reason} Carried out by revision {carried[0].data.expected_revision + 1}.".strip() if carried else reason
        )
        decided = ShareDecidedData(
            cluster=asked["cluster"],
            request=name,
            account=asked["account"],
            gpu_type=asked["pool"] or None,
            decision=ANSWERS[answer],
            share_percent=given,
            author=who,
            reason=told,
        )
        desks.decide(
            pen,
            *carried,
            ShareDecided(id=f"decided/{wiring.new_id()}", source=SOURCE, time=now, data=decided),
        )
    revision = carried[0].data.expected_revision + 1 if carried else None
    if as_json:
        output.emit({"request": name, "decision": ANSWERS[answer], "share_percent": given, "revision": revision})
        return
    done = f"; revision {revision} of {asked['account'].rpartition('/')[0]} carries it out" if carried else ""
    output.say(f"{name} is {ANSWERS[answer]}{done}.")


def _asked(desk: desks.Desk, name: str) -> dict[str, Any]:
    rows: list[dict[str, Any]] = desk.store.query(read("share_requests"), {"cluster": ""}).dicts()
    found = next((row for row in rows if row["request"] == name), None)
    if found is None:
        raise exits.Stop(f"there is no request {name!r}: `tenure shares requests` lists them", exits.NOTHING)
    if found["decision"] is not None:
        raise exits.Stop(f"{name} is answered already: {found['decision']}, by {found['decided_by']}", exits.FINDINGS)
    return found


def _carry_out(
    state: State,
    asked: dict[str, Any],
    given: Decimal,
    others: list[str],
    who: str,
    expect: int | None,
    now: datetime,
) -> SharesSet:
    """The set of the parent's shares in which the account has what it is given."""
    parent, _, child = asked["account"].rpartition("/")
    before = latest(state, asked["pool"], parent)
    children = wanted(before, [f"{child}={given}", *others], [])
    known = before.revision if before is not None else 0
    facts = SharesSetData(
        cluster=asked["cluster"],
        parent=parent,
        gpu_type=asked["pool"] or None,
        children=children,
        author=who,
        reason=f"request {asked['request']}",
        expected_revision=known if expect is None else expect,
    )
    return SharesSet(id=f"shares/{wiring.new_id()}", source=SOURCE, time=now, data=facts)


def _preview(state: State, asked: dict[str, Any], event: SharesSet) -> Preview:
    return preview(state, asked["pool"], event.data.parent, event.data.children, epoch_s(event.time))


def _percent(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation as wrong:
        raise exits.Stop(f"{text!r} is no percentage: write a number like 12.5") from wrong
