"""Puts the store's answers together: a header, sections, and the figures of the picture. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ledger.ranking import Decay, Weighting
from ledger.units import HOUR_S
from tenure.report import charts
from tenure.report.accounts import AccountLine, account_lines, accounts_section
from tenure.report.charts import Chart
from tenure.report.corrected import corrections_section, effect_section, refusals_section, warnings_section
from tenure.report.decided import changes_section, requests_section
from tenure.report.efficiency import efficiency_sections, usage
from tenure.report.enforced import enforcement_sections
from tenure.report.gather import Gathered
from tenure.report.lost import losses_section
from tenure.report.measure import Measured
from tenure.report.tables import Section
from tenure.report.values import Question
from tenure.report.waterfall import Pool, pools, waterfall_section

MEANINGS: Final = (
    ("claim", "share of healthy GPU time, hour by hour, and what grants accrued"),
    ("demand", "what funded runs used and funded pending jobs could have used"),
    ("owed", "min(claim, demand) of each leaf account and hour"),
    ("delivered", "GPU time of funded runs, less what node failures gave back"),
    ("unfunded", "GPU time nobody is charged for, and anybody's claim may end"),
    ("bound", "what running contracts still hold: GPUs × contract time left"),
    ("utilized", "GPU time × utilization, where samples were taken; the rest is not guessed"),
)
"""What the numbers mean, one line each."""

MONEY: Final = frozenset({"waterfall", "accounts", "effect"})
"""Sections in GPU-hours of the book: the same known-at gives them again exactly, whatever was corrected since."""


@dataclass(frozen=True, slots=True)
class Header:
    """What the pack is about and how far it is true: instants in epoch seconds, closed hours of the period."""

    question: Question
    pools: tuple[str, ...]
    ranking: str
    known_at_s: int
    closed_hours: int

    @property
    def subject(self) -> str:
        """The subtree's name."""
        return self.question.account or "all accounts"

    @property
    def asked_hours(self) -> int:
        """Hours the period has."""
        return max(0, self.question.asked_until_s - self.question.from_s) // HOUR_S

    @property
    def missing_hours(self) -> int:
        """Hours of the period that are not in the pack."""
        return self.asked_hours - self.closed_hours


@dataclass(frozen=True, slots=True)
class Pack:
    """The budget review pack. `charts` are per pool."""

    header: Header
    sections: tuple[Section, ...]
    charts: tuple[Chart, ...]

    def section(self, name: str) -> Section:
        """The section of that name."""
        return next(found for found in self.sections if found.name == name)


def pack(gathered: Gathered, measured: Measured) -> Pack:
    """The pack of one question."""
    question = gathered.question
    lines = account_lines(question, gathered.weighting, gathered.leaves, gathered.leaf_hours)
    found = pools(gathered.capacity, gathered.occupied)
    used = usage(measured) if question.known_at_s is None else None
    header = _header(gathered, found)
    sections = (
        waterfall_section(question, found, _claims(lines, question), used),
        accounts_section(question, lines),
        *efficiency_sections(question, measured),
        losses_section(question, measured.lost),
        *enforcement_sections(question, measured.played),
        requests_section(question, gathered.requests, gathered.decisions),
        changes_section(question, gathered.shares, gathered.grants, gathered.decisions),
        corrections_section(question, gathered.corrections),
        effect_section(gathered.leaves),
        refusals_section(gathered.refusals),
        warnings_section(header.missing_hours, question, lines, gathered.overbooked, gathered.remarks),
    )
    return Pack(header, sections, charts.charts(gathered, found, lines, used))


def _claims(lines: list[AccountLine], question: Question) -> dict[str, int]:
    """The claim of the subtree's top, by pool."""
    return {line.pool: line.sums.claim + line.sums.grant for line in lines if line.account == question.account}


def _header(gathered: Gathered, found: dict[str, Pool]) -> Header:
    question = gathered.question
    known_at_s = question.recorded_s if question.known_at_s is None else question.known_at_s
    closed_hours = max((pool.hours for pool in found.values()), default=0)
    return Header(question, tuple(found), _ranking(gathered.weighting), known_at_s, closed_hours)


def _ranking(weighting: Weighting) -> str:
    if isinstance(weighting, Decay):
        return f"by a half-life of {weighting.half_life_h} h"
    return f"over the last {weighting.window_h} h"
