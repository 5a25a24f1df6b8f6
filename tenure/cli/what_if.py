"""`tenure what-if`: what enforcement would have changed in a past span."""

from __future__ import annotations

from typing import Annotated, Any, Final
from zoneinfo import ZoneInfo

import typer

from enforcer.whatif.compare import Unplayable, WhatIf, policy_words, what_if
from ledger.store.clickhouse import ClickHouse
from ledger.units import DAY_S, instant
from tenure import wiring
from tenure.cli import exits, options, output
from tenure.cli.desk import Desk, reading
from tenure.cli.report import Last, Month, Since, Until, Zone
from tenure.cli.text import below_root, gpu_hours, gpus, plural, when
from tenure.played import figure_rows, plan_rows
from tenure.report import text
from tenure.report.enforced import Kept, enforcement_sections
from tenure.report.gather import rows
from tenure.report.period import Asked, PeriodRefused
from tenure.report.review import Wanted, question_of
from tenure.report.values import Question

PLANS: Final = """
SELECT plan, pool, toInt64(toUnixTimestamp(committed_at)) AS at_s, job, account, gpus_milli, rule, lost_gpu_ms, state,
    victims, victim_accounts, victim_classes
FROM report_what_if_plans
WHERE cluster = {cluster:String} AND policy = {policy:String}
    AND since = toDateTime({from_s:Int64}, 'UTC') AND until = toDateTime({until_s:Int64}, 'UTC')
ORDER BY at_s, plan
"""
PAGE: Final = 30
"""Plans that people are shown; programs get all."""


def what_if_command(
    cluster: options.Cluster = None,
    since: Since = None,
    until: Until = None,
    last: Last = None,
    month: Month = None,
    zone: Zone = "UTC",
    again: Annotated[bool, typer.Option("--again", help="Play it again, though it is kept.")] = False,
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Play a past span without and with enforcement, and say what that would have changed. Nothing is done.

    The last seven days unless told otherwise. The result is kept, and `tenure report` of a period shows it.
    docs/what-if.md says how far it can be believed.
    """
    with reading(data, config) as desk:
        name = desk.cluster(cluster)
        try:
            question = question_of(desk.store, Wanted(name, period=Asked(since, until, last, month), zone=zone))
        except PeriodRefused as refused:
            raise exits.Stop(str(refused)) from refused
        kept = _kept(desk, question, again=again)
        plans = _plans(desk.store, question, kept[0].policy)
        watermarks, caption = desk.watermarks(), desk.as_of(name)
    if as_json:
        output.emit({"watermarks": watermarks, **_json(question, kept, plans)})
        return
    sections = enforcement_sections(question, kept)
    output.console().print(text.rendered(question, sorted({k.pool for k in kept if k.pool}), sections))
    if plans:
        output.say()
        output.show(_table(plans, question.zone))
    more = f", the first {PAGE} are shown" if len(plans) > PAGE else ""
    output.tell(f"{plural(len(plans), 'plan')} would have been made{more}. {caption}")


def _kept(desk: Desk, question: Question, *, again: bool) -> list[Kept]:
    """The figures of the span, played now unless they are kept and made of the facts there are."""
    state = desk.state(question.cluster)
    policy = policy_words(state, question.until_s)
    found = [] if again else _stored(desk.store, question, policy)
    if found and found[0].seq == state.seq:
        return found
    days = -(-(question.until_s - question.from_s) // DAY_S)
    output.note(f"Playing {plural(days, 'day')} twice: a few seconds for each.")
    with output.bars() as bars:
        bar = bars.bar("Days played", 2 * days)
        try:
            played = what_if(state, question.from_s, question.until_s, told=bar.advance)
        except Unplayable as unplayable:
            raise exits.Stop(str(unplayable)) from unplayable
        bar.done()
    _keep(desk.store, played)
    return _stored(desk.store, question, policy)


def _keep(store: ClickHouse, played: WhatIf) -> None:
    now_us = int(wiring.now_s() * 1_000_000)
    store.write_what_if(figure_rows(played, now_us), plan_rows(played, now_us))


def _stored(store: ClickHouse, question: Question, policy: str) -> list[Kept]:
    span = {"cluster": question.cluster, "from_s": question.from_s, "until_s": question.until_s}
    found = rows(Kept, store.query("what_if_kept", {**span, "policy": policy}))
    exact = (question.from_s, question.until_s)
    return found if found and (found[0].from_s, found[0].until_s) == exact else []


def _plans(store: ClickHouse, question: Question, policy: str) -> list[dict[str, Any]]:
    span = {"cluster": question.cluster, "from_s": question.from_s, "until_s": question.until_s}
    return store.query(PLANS, {**span, "policy": policy}).dicts()


def _table(plans: list[dict[str, Any]], zone: ZoneInfo) -> Any:  # noqa: ANN401
    at = "*When" if zone.key == "UTC" else f"*When ({zone.key})"
    columns = (at, "*Job", "~Account", ">GPUs", "*Rule", "~Takes from", ">Lost GPU-h", "*Ended")
    table = output.table("Who would have yielded to whom", *columns)
    cells = [
        [
            when(instant(plan["at_s"]).astimezone(zone)),
            plan["job"] or "drain",
            below_root(plan["account"]) if plan["account"] else "",
            gpus(plan["gpus_milli"]),
            plan["rule"],
            _victims(plan),
            gpu_hours(plan["lost_gpu_ms"]),
            plan["state"],
        ]
        for plan in plans[:PAGE]
    ]
    return output.fill(table, cells)


def _victims(plan: dict[str, Any]) -> str:
    """`2 unfunded, 1 of vision/video`."""
    whose = [below_root(account) if account else "unfunded" for account in plan["victim_accounts"]]
    counted = {who: whose.count(who) for who in dict.fromkeys(whose)}
    return ", ".join(f"{n} {'' if who == 'unfunded' else 'of '}{who}" for who, n in counted.items())


def _json(question: Question, kept: list[Kept], plans: list[dict[str, Any]]) -> dict[str, Any]:
    first = kept[0]
    figures = [
        {
            "side": k.side,
            "pool": k.pool or None,
            "account": k.account or None,
            "figure": k.figure,
            "subject": k.subject or None,
            "amount": k.amount,
        }
        for k in kept
    ]
    told = [{**plan, "at": output.iso_s(plan["at_s"])} for plan in plans]
    for plan in told:
        del plan["at_s"]
    return {
        "cluster": question.cluster,
        "from": output.iso_s(first.from_s),
        "until": output.iso_s(first.until_s),
        "policy": first.policy,
        "seq": first.seq,
        "figures": figures,
        "plans": told,
    }
