"""Readers of a server who may see the public views and nothing else."""

from __future__ import annotations

import re
from typing import Final

_PUBLIC_VIEW: Final = re.compile(r"^CREATE OR REPLACE VIEW report_\w+(?= AS$)", re.MULTILINE)


def readable(statement: str) -> str:
    """A statement as a server gets it: a public view reads with the rights of who made it.

    A view reads with its reader's rights otherwise, who would need the tables behind it too. chDB has one user, who
    may read everything.
    """
    return _PUBLIC_VIEW.sub(r"\g<0> SQL SECURITY DEFINER", statement, count=1)
