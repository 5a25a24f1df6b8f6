"""The options that several commands share, each said once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", help="Folder of the book. Else $TENURE_DATA, else ~/.local/share/tenure."),
]
Config = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Configuration. Else $TENURE_CONFIG, else ./tenure.toml."),
]
Json = Annotated[bool, typer.Option("--json", help="For programs: one JSON object, exact integers.")]
Cluster = Annotated[
    str | None, typer.Option("--cluster", metavar="NAME", help="One cluster; needed if there are more.")
]
Pool = Annotated[str | None, typer.Option("--pool", metavar="GPU_TYPE", help="One budget pool: a GPU type.")]
Author = Annotated[str | None, typer.Option("--author", metavar="NAME", help="Who decides. Else `author`, else you.")]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; kept with the decision.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
