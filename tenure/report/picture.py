"""The pack as one picture: per pool the waterfall, what teams were owed and got, and who held the GPUs over time.

Colours are Okabe and Ito's, told apart by people who see colours differently and in grey, on a light ground. The only
module that imports matplotlib, which takes a second: import it when a picture is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Literal
from zoneinfo import ZoneInfo

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from ledger.tree import OWN_PART
from ledger.units import GPU_HOUR_MS, HOUR_S, instant
from tenure.report.charts import Chart, Slot, Team
from tenure.report.pack import Header, Pack
from tenure.report.period import shown
from tenure.report.tables import Part
from tenure.report.words import percent

Format = Literal["svg", "png"]

INK: Final = "#222222"
FAINT: Final = "#6b6b6b"
CLAIM: Final = "#d9d9d9"
PROTECTED: Final = "#0072b2"
INTERRUPTIBLE: Final = "#56b4e9"
SUSPENDED: Final = "#999999"
UNFUNDED: Final = "#e69f00"
DARK: Final = "#003a5c"
AVAILABLE: Final = "#009e73"
LOST: Final = "#f0c9a8"
"""Vermilion, made lighter: beside a full bar it must not shout."""

CLASSES: Final = (
    ("protected", PROTECTED),
    ("interruptible", INTERRUPTIBLE),
    ("suspended", SUSPENDED),
    ("unfunded", UNFUNDED),
)
STEPS: Final = {
    "capacity": SUSPENDED,
    "claim": SUSPENDED,
    "available": AVAILABLE,
    "occupied": INTERRUPTIBLE,
    "funded": PROTECTED,
    "utilized": DARK,
}

STYLE: Final[dict[Any, Any]] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Arial", "Helvetica", "sans-serif"],
    "font.size": 9,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "figure.facecolor": "white",
    "figure.constrained_layout.h_pad": 0.12,
    "figure.constrained_layout.w_pad": 0.12,
    "svg.fonttype": "none",  # text stays text: it can be searched, read aloud and translated
    "svg.hashsalt": "tenure",
}
WIDTH_IN: Final = 7.2
"""Of each pool's column."""
MOST_TEAMS: Final = 24
DPI: Final = 130


def draw(pack: Pack, path: Path, format: Format) -> None:
    """Write the picture; the same pack gives the same bytes."""
    with rc_context(STYLE):
        figure = _figure(pack)
        metadata = {"Date": None} if format == "svg" else {"Software": None}
        figure.savefig(path, format=format, dpi=DPI, metadata=metadata)


def _figure(pack: Pack) -> Figure:
    charts = pack.charts
    rows = max((len(list(_bars(chart))) for chart in charts), default=4)
    teams = max((min(len(chart.teams), MOST_TEAMS) for chart in charts), default=1)
    heights = [0.26 * rows + 0.9, 0.26 * max(teams, 2) + 1.1, 2.7]
    figure = Figure(figsize=(max(1, len(charts)) * WIDTH_IN, sum(heights) + 1.1), layout="constrained")
    figure.suptitle(_title(pack.header), x=0.01, ha="left", fontsize=13, fontweight="bold")
    figure.supxlabel(_foot(pack.header), x=0.01, ha="left", fontsize=8, color=FAINT)
    if not charts:
        figure.text(0.5, 0.5, "No hour of the period is closed.", ha="center")
        return figure
    axes = figure.subplots(3, len(charts), squeeze=False, gridspec_kw={"height_ratios": heights})
    for column, chart in enumerate(charts):
        _waterfall(axes[0][column], chart)
        _teams(axes[1][column], chart)
        _occupancy(axes[2][column], chart, pack.header)
    return figure


def _title(header: Header) -> str:
    question = header.question
    return f"Budget review: {header.subject} on {question.cluster}"


def _foot(header: Header) -> str:
    question, zone = header.question, header.question.zone
    return (
        f"{shown(question.from_s, zone)} to {shown(question.asked_until_s, zone)}, "
        f"{header.closed_hours:,} of {header.asked_hours:,} hours closed. Known at {shown(header.known_at_s, zone)}."
    )


# ---------------------------------------------------------------- waterfall


def _bars(chart: Chart) -> Iterator[tuple[str, float, float, str, str | None]]:
    """(label, from, length in GPU-hours, colour, hatch) from the top down: what was lost on the way, then the step."""
    level = 0.0
    for step in chart.steps:
        for name, amount_gpu_ms in step.lost:
            if amount_gpu_ms:
                amount = amount_gpu_ms / GPU_HOUR_MS
                yield f"− {name}", level - amount, amount, LOST, None
                level -= amount
        if step.unsampled_gpu_ms:
            amount = step.unsampled_gpu_ms / GPU_HOUR_MS
            yield "− not sampled", level - amount, amount, "white", "////"
        level = step.amount_gpu_ms / GPU_HOUR_MS
        yield step.name, 0.0, level, STEPS[step.name], None


def _waterfall(ax: Axes, chart: Chart) -> None:
    bars, first = list(_bars(chart)), chart.steps[0]
    longest = max(left + length for _, left, length, _, _ in bars) or 1.0
    for place, (name, left, length, colour, hatch) in enumerate(bars):
        lost = name.startswith("−")
        edge = FAINT if hatch else colour
        ax.barh(place, length, left=left, height=0.55 if lost else 0.8, color=colour, hatch=hatch, edgecolor=edge)
        part = percent(Part(round(length * GPU_HOUR_MS), first.amount_gpu_ms))
        text = f"{_hours(length)}  ({part})"
        ax.text(left + length + longest * 0.012, place, text, va="center", fontsize=8, color=FAINT if lost else INK)
    ax.set_yticks(range(len(bars)), [bar[0] for bar in bars])
    for label, bar in zip(ax.get_yticklabels(), bars, strict=True):
        label.set_color(FAINT if bar[0].startswith("−") else INK)
    ax.invert_yaxis()
    ax.set_xlim(0, longest * 1.24)
    ax.set_title(f"{chart.pool}: from {first.name} to use")
    ax.set_xlabel(f"GPU-hours; percent of {first.name}")
    _whole_numbers(ax)


# ---------------------------------------------------------------- teams


def _teams(ax: Axes, chart: Chart) -> None:
    """A bullet each: the claim behind, what of it was owed, what was delivered as a thin bar in front."""
    teams = chart.teams[:MOST_TEAMS]
    places = np.arange(len(teams))
    if not teams:
        ax.text(0.5, 0.5, "no account had a claim", ha="center", transform=ax.transAxes, color=FAINT)
    for name, height, colour, amounts in (
        ("claim", 0.84, CLAIM, [team.claim_gpu_ms for team in teams]),
        ("owed", 0.56, INTERRUPTIBLE, [team.owed_gpu_ms for team in teams]),
        ("delivered", 0.22, DARK, [team.delivered_gpu_ms for team in teams]),
    ):
        ax.barh(places, [amount / GPU_HOUR_MS for amount in amounts], height=height, color=colour, label=name)
    most = max((max(t.claim_gpu_ms, t.delivered_gpu_ms) for t in teams), default=GPU_HOUR_MS) / GPU_HOUR_MS
    for place, team in enumerate(teams):
        end = max(team.claim_gpu_ms, team.owed_gpu_ms, team.delivered_gpu_ms) / GPU_HOUR_MS
        ax.text(end + most * 0.012, place, _met(team), va="center", fontsize=8)
    more = len(chart.teams) - len(teams)
    ax.set_yticks(places, _names(teams))
    ax.invert_yaxis()
    ax.set_xlim(0, most * 1.16)
    ax.set_title(f"{chart.pool}: owed and delivered" + (f" (the largest {len(teams)}, {more} more)" if more else ""))
    ax.set_xlabel("GPU-hours; percent: owed hours that were met, hour by hour")
    if teams:
        ax.legend(loc="lower right", frameon=False, fontsize=8)
    _whole_numbers(ax)


def _met(team: Team) -> str:
    return f"{100 * team.met_gpu_ms / team.owed_gpu_ms:.0f} %" if team.owed_gpu_ms else "none owed"


def _names(teams: Sequence[Team]) -> list[str]:
    """The last segment of each path, and as many above it as tell it from the others."""
    paths = [team.account.split("/") for team in teams]
    return [next(_apart(path, paths), "/".join(path)) for path in paths]


def _apart(path: list[str], paths: list[list[str]]) -> Iterator[str]:
    """Names of a path that no other has, the shortest first."""
    for depth in range(1, len(path) + 1):
        name = _named(path, depth)
        if sum(_named(other, depth) == name for other in paths) == 1:
            yield name


def _named(path: list[str], depth: int) -> str:
    return f"{'/'.join(path[-depth - 1 : -1])} (own part)" if path[-1] == OWN_PART else "/".join(path[-depth:])


# ---------------------------------------------------------------- occupancy


def _occupancy(ax: Axes, chart: Chart, header: Header) -> None:
    question = header.question
    starts = range(question.from_s, question.until_s, chart.step_h * HOUR_S)
    edges = date2num([instant(at_s) for at_s in (*starts, question.until_s)])  # type: ignore[no-untyped-call]
    slots = {slot.at_s: slot for slot in chart.slots}
    base = np.zeros(len(starts))
    for name, colour in CLASSES:
        top = base + _line(starts, slots, name)
        ax.stairs(top, edges, baseline=base, fill=True, color=colour, label=name, linewidth=0)
        base = np.nan_to_num(top)
    for name, colour, line in (("available", AVAILABLE, "-"), ("capacity", INK, "--")):
        values = _line(starts, slots, name)
        ax.stairs(values, edges, baseline=None, color=colour, linestyle=line, linewidth=1.2, label=name)
    ax.set_xlim(edges[0], edges[-1])
    ax.set_ylim(bottom=0)
    _time_axis(ax, question.zone)
    whose = f" by {chart.subject}" if chart.subject else ""
    mean = "each hour" if chart.step_h == 1 else f"mean over {chart.step_h} h"
    ax.set_title(f"{chart.pool}: GPUs held{whose} over time")
    ax.set_ylabel(f"GPUs, {mean}")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.28), ncols=6, frameon=False, fontsize=8, handlelength=1.4)


def _time_axis(ax: Axes, zone: ZoneInfo) -> None:
    locator = AutoDateLocator(tz=zone, maxticks=9)  # type: ignore[no-untyped-call]
    ax.xaxis_date(tz=zone)
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(ConciseDateFormatter(locator, tz=zone))  # type: ignore[no-untyped-call]
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel(f"time, {zone.key}")


def _line(starts: range, slots: dict[int, Slot], name: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """A class of every slot, NaN where no hour is."""
    return np.array([getattr(slots[at_s], name) if at_s in slots else np.nan for at_s in starts], dtype=np.float64)


# ---------------------------------------------------------------- numbers


def _hours(amount: float) -> str:
    return f"{amount:,.0f}" if amount >= 100 or not amount else f"{amount:,.1f}"  # noqa: PLR2004 -- figures that tell


def _whole_numbers(ax: Axes) -> None:
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    ax.xaxis.set_major_locator(MaxNLocator(6))
    ax.grid(visible=True, axis="x", color="#eeeeee", zorder=0)
    ax.set_axisbelow(True)
