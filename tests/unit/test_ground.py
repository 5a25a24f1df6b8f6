"""The ground the project stands on: lock, packages, guards. Each guard is shown to refuse something."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
PACKAGES: list[str] = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
LOCK = (ROOT / "requirements.lock").read_text()
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")


def locked() -> list[tuple[Requirement, list[str]]]:
    """Every entry of the lock with the options that follow it."""
    lines = [line for line in LOCK.splitlines() if not line.lstrip().startswith("#")]
    entries = "\n".join(lines).replace("\\\n", " ").splitlines()
    split = [entry.partition(" --") for entry in entries if entry.strip()]
    return [(Requirement(head), f"{dash}{tail}".split()) for head, dash, tail in split]


def run(tool: str, *arguments: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a tool of this environment, as if outside of any test run and CI, and keep what it says."""
    told = {name: value for name, value in os.environ.items() if not name.startswith(("CI", "COV", "PYTEST"))}
    return subprocess.run(
        [BIN / tool, *arguments],
        cwd=cwd,
        env={**told, **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )


# ---------------------------------------------------------------- the lock


def test_the_lock_names_no_index():
    assert "://" not in LOCK
    options = [line for line in LOCK.splitlines() if re.match(r"\s*-", line) and "--hash=" not in line]
    assert options == []


def test_every_locked_entry_is_pinned_and_hashed():
    entries = locked()
    assert len(entries) > 20
    for requirement, options in entries:
        assert [s.operator for s in requirement.specifier] == ["=="], requirement
        assert requirement.url is None
        assert options, f"{requirement} has no hash"
        assert all(HASH.fullmatch(option) for option in options), requirement


def test_the_lock_satisfies_what_pyproject_asks_for():
    pins: dict[str, list[str]] = {}
    for requirement, _ in locked():
        version = next(iter(requirement.specifier)).version
        pins.setdefault(canonicalize_name(requirement.name), []).append(version)
    asked = [
        *PROJECT["project"]["dependencies"],
        *PROJECT["dependency-groups"]["dev"],
        *PROJECT["build-system"]["requires"],
    ]
    for requirement in map(Requirement, asked):
        versions = pins.get(canonicalize_name(requirement.name), [])
        assert versions, f"{requirement} is not in requirements.lock: run `make lock`"
        for version in versions:
            assert requirement.specifier.contains(version), f"{requirement}, not {version}: run `make lock`"


# ---------------------------------------------------------------- the packages


def test_the_packages_are_the_directories():
    directories = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests", "bench"}
    assert set(PACKAGES) == directories
    tools = PROJECT["tool"]
    assert tools["importlinter"]["root_packages"] == PACKAGES
    assert tools["deptry"]["known_first_party"] == PACKAGES
    assert set(PACKAGES) < set(tools["mypy"]["files"])


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_is_typed_and_its_readme_is_titled(package: str):
    assert (ROOT / package / "py.typed").exists()
    readme = ROOT / package / "README.md"
    if readme.exists():
        assert readme.read_text().casefold().startswith(f"# {package}"), "begin with the package's name"


def test_everything_in_the_packages_is_in_the_wheel(tmp_path: Path):
    present = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.suffix in {".css", ".html", ".js", ".json", ".py", ".sql", ".typed"}
    }
    built = run("hatchling", "build", "-t", "wheel", "-d", str(tmp_path), cwd=ROOT)
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        shipped = set(archive.namelist())
    assert present <= shipped
    assert not [name for name in shipped if name.startswith(("tests/", "bench/"))]


# ---------------------------------------------------------------- the guards


@pytest.mark.parametrize(
    ("path", "source", "refused"),
    [
        ("ledger/late.py", "import os\n", "ledger.late -> os"),
        ("ledger/deep/late.py", "from pathlib import Path\n", "ledger.deep.late -> pathlib"),
        ("ledger/late.py", "import clickhouse_connect\n", "ledger.late -> clickhouse_connect"),
        ("ledger/late.py", "import ledger.store\n", "ledger.late -> ledger.store"),
        ("ledger/late.py", "import streams\n", "ledger.late -> streams"),
        ("streams/late.py", "import tenure\n", "streams.late -> tenure"),
        ("ledger/store/late.py", "import os\nimport clickhouse_connect\n", None),
        ("tenure/late.py", "import os\nimport ledger.store\nimport streams\n", None),
    ],
)
def test_imports_go_one_way_and_the_ledger_stays_pure(tmp_path: Path, path: str, source: str, refused: str | None):
    for package in [*PACKAGES, "ledger/store", "ledger/deep"]:
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / path).write_text(source)
    checked = run(
        "lint-imports",
        "--no-cache",
        cwd=tmp_path,
        PYTHONPATH=str(tmp_path),
        COLUMNS="200",
    )
    assert (checked.returncode == 0) is (refused is None), checked.stdout + checked.stderr
    assert refused is None or refused in checked.stdout


@pytest.mark.parametrize(
    "expression",
    [
        "datetime.datetime.now(datetime.UTC)",
        "datetime.datetime.utcnow()",
        "os.environ['HOME']",
        "random.random()",
        "time.monotonic()",
        "time.time()",
        "uuid.uuid4()",
    ],
)
def test_clock_chance_and_environment_live_in_the_wiring(tmp_path: Path, expression: str):
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    module = expression.partition(".")[0]
    for path in ("ledger/late.py", "tenure/late.py", "tenure/wiring.py", "bench/late.py"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(f"import {module}\n\nX = {expression}\n")
    checked = run("ruff", "check", "--no-cache", "--select=TID251", "--output-format=concise", cwd=tmp_path)
    accused = {line.split(":")[0] for line in checked.stdout.splitlines() if "TID251" in line}
    assert accused == {"ledger/late.py", "tenure/late.py"}, checked.stdout + checked.stderr


SKIPS = """
import pytest

def test_runs():
    pass

@pytest.mark.skip(reason="not today")
def test_marked():
    pass

def test_calls():
    pytest.skip("not here")

@pytest.mark.xfail(reason="known", strict=True)
def test_expected():
    raise AssertionError
"""

MARKED = """
import pytest

def test_plain():
    pass

@pytest.mark.docker
def test_docker():
    pass

@pytest.mark.shared
def test_shared():
    pass

@pytest.mark.chaos
def test_chaos():
    pass
"""


def run_tests(where: Path, source: str, *options: str, **env: str) -> tuple[int, str]:
    """Run one test file under a copy of our configuration; give the exit status and what was said."""
    (where / "tests").mkdir()
    shutil.copy(ROOT / "pyproject.toml", where)
    shutil.copy(ROOT / "tests" / "conftest.py", where / "tests")
    (where / "tests" / "test_sample.py").write_text(source)
    ran = run("pytest", "-p", "no:cacheprovider", "-v", *options, cwd=where, **env)
    return ran.returncode, ran.stdout + ran.stderr


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_skip_fails_in_ci_by_name(tmp_path: Path, workers: str):
    status, said = run_tests(tmp_path, SKIPS, "-n", workers, CI="true")
    assert status == pytest.ExitCode.TESTS_FAILED, said
    assert "test_sample.py::test_marked was skipped, and CI allows no skips: Skipped: not today" in said
    assert "test_sample.py::test_calls was skipped, and CI allows no skips: Skipped: not here" in said
    assert "1 passed" in said
    assert "1 xfailed" in said


def test_a_skipped_module_fails_in_ci(tmp_path: Path):
    source = "import pytest\npytest.skip('no such thing', allow_module_level=True)\n"
    status, said = run_tests(tmp_path, source, CI="true")
    assert status == pytest.ExitCode.INTERRUPTED, said
    assert "test_sample.py was skipped, and CI allows no skips: Skipped: no such thing" in said


def test_a_skip_is_a_skip_at_home(tmp_path: Path):
    status, said = run_tests(tmp_path, SKIPS)
    assert status == pytest.ExitCode.OK, said
    assert "1 passed, 2 skipped, 1 xfailed" in said


@pytest.mark.parametrize(
    ("beside", "options", "env", "closing"),
    [
        ("shared", [], {}, "2 passed, 2 deselected"),
        ("nothing", [], {}, "1 passed, 1 skipped, 2 deselected"),
        ("shared", ["-m", "chaos"], {}, "1 passed, 3 deselected"),
        ("shared", ["-m", "docker or chaos"], {}, "2 passed, 2 deselected"),
        ("shared", [], {"CI": "true"}, "1 passed, 3 deselected"),
        ("nothing", [], {"CI": "true"}, "1 passed, 3 deselected"),
    ],
)
def test_marks_run_where_they_can(tmp_path: Path, beside: str, options: list[str], env: dict[str, str], closing: str):
    (tmp_path / beside).mkdir()
    (tmp_path / "tenure").mkdir()
    status, said = run_tests(tmp_path / "tenure", MARKED, *options, **env)
    assert status == pytest.ExitCode.OK, said
    assert closing in said
    assert "SKIPPED" not in said or "there is no ../shared beside this repository" in said
