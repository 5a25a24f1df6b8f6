"""docs/cli.md shows every command, and no command or option that is not there."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from tenure.cli import app


def commands(found: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that does something, by its words."""
    below = getattr(found, "commands", None)
    if below is None or found.invoke_without_command:
        yield path, found
    for name, command in (below or {}).items():
        yield from commands(command, (*path, name))


COMMANDS = dict(commands(get_command(app)))


def page(root: Path) -> str:
    return (root / "docs" / "cli.md").read_text("utf-8")


def test_every_command_has_its_heading_and_an_example(root: Path):
    text = page(root)
    headings = re.findall(r"^## tenure (.*)$", text, re.MULTILINE)
    assert sorted(headings) == sorted(" ".join(path) for path in COMMANDS)
    missing = [path for path in COMMANDS if f"$ tenure {' '.join(path)}" not in text]
    assert not missing


def test_every_example_has_options_that_there_are(root: Path):
    examples = re.findall(r"^\$ tenure (.*)$", page(root), re.MULTILINE)
    assert len(examples) >= len(COMMANDS)
    for example in examples:
        words = shlex.split(example)
        path = next(p for p in sorted(COMMANDS, key=len, reverse=True) if tuple(words[: len(p)]) == p)
        known = {option for parameter in COMMANDS[path].params for option in parameter.opts}
        used = {word for word in words[len(path) :] if re.fullmatch(r"--?[a-z-]+", word)}
        assert used <= known, example


def test_every_option_says_what_it_is_for():
    silent = [
        f"{' '.join(path)} {parameter.opts[0]}"
        for path, command in COMMANDS.items()
        for parameter in command.params
        if parameter.param_type_name == "option" and not parameter.help
    ]
    assert not silent


def test_every_listing_can_be_read_by_programs():
    without = [
        " ".join(path)
        for path, command in COMMANDS.items()
        if "--json" not in {o for p in command.params for o in p.opts}
    ]
    assert not without


def test_the_exit_codes_of_the_page_are_those_of_the_program(root: Path):
    from tenure.cli import exits

    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", page(root), re.MULTILINE)}
    named = {value for name, value in vars(exits).items() if name.isupper() and isinstance(value, int)}
    assert listed == named
