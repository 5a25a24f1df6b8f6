"""What holds for every test: which marks run where, and that nothing is skipped unseen in CI."""

import os
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
IN_CI = os.environ.get("CI", "").lower() in {"1", "true"}

ON_REQUEST = ("docker", "chaos")
NEVER_IN_CI = ("docker", "chaos", "shared")

# Two busy cores make any deadline a coin toss. In CI the examples are the same each time.
settings.register_profile(
    "tenure",
    deadline=None,
    derandomize=IN_CI,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("tenure")


@pytest.fixture(scope="session")
def root() -> Path:
    """The top of this repository."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The recordings beside this repository; a test that asks for them carries the mark `shared`."""
    return SHARED


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what this place does not run. Locally, a mark named in `-m` was asked for and stays."""
    asked: str = config.option.markexpr
    unwanted = NEVER_IN_CI if IN_CI else tuple(mark for mark in ON_REQUEST if mark not in asked)
    dropped = [item for item in items if any(item.get_closest_marker(mark) for mark in unwanted)]
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = [item for item in items if item not in dropped]
    if not SHARED.is_dir():
        absent = pytest.mark.skip(reason="no recordings: there is no ../shared beside this repository")
        for item in items:
            if item.get_closest_marker("shared"):
                item.add_marker(absent)


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Turn a skip into a failure: a test that quietly stops running is how a guard is lost."""
    if not report.skipped or hasattr(report, "wasxfail"):
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    report.outcome = "failed"
    report.longrepr = (
        f"{report.nodeid} was skipped, and CI allows no skips: {reason}\n"
        "Make it run here, or give it a mark that CI deselects (docker, shared, chaos)."
    )


if IN_CI:

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """A skipped test fails."""
        report = yield
        _refuse_skip(report)
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """A skipped module fails."""
        report = yield
        _refuse_skip(report)
        return report
