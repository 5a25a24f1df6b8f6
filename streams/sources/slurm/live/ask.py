"""One poll of a live Slurm: the questions in their order, and the sentences of those that got no answer."""

from __future__ import annotations

from typing import NamedTuple

from streams.sources.config import SourceConfig
from streams.sources.slurm.live.cursor import Cursor
from streams.sources.slurm.live.poll import Poll, job_pieces, node_pieces, windows
from streams.sources.slurm.live.port import Answer, Silent, Slurm
from streams.sources.slurm.live.step import to_ask, window_s
from streams.sources.slurm.reader import Piece


class Asked(NamedTuple):
    """A poll, and what to tell of the questions that got no answer."""

    poll: Poll
    silent: tuple[str, ...]


def ask(slurm: Slurm, cursor: Cursor, config: SourceConfig, at_s: int) -> Asked:
    """Poll at this instant. Jobs first: what ended after that is in accounting then, or comes with the next poll."""
    silent: list[str] = []

    def jobs_of(told: Answer) -> list[Piece] | None:
        found = job_pieces(told, config)
        if isinstance(found, Silent):
            silent.append(found.sentence)
            return None
        return found

    jobs = jobs_of(slurm.jobs())
    ended = jobs_of(slurm.ended(window_s(cursor), at_s))
    poll = Poll(at_s, jobs=jobs, ended=ended)
    wanted = to_ask(cursor, poll, config)
    # Accounting that has just given no answer is not asked again at once: each question may take its whole timeout.
    asked = None if ended is None else [] if not wanted else jobs_of(slurm.accounting(wanted))
    listed = node_pieces(slurm.nodes())
    if isinstance(listed, Silent):
        silent.append(listed.sentence)
    nodes = None if isinstance(listed, Silent) else listed
    reserved = windows(slurm.reservations())
    if isinstance(reserved, Silent):
        silent.append(reserved.sentence)
    planned = None if isinstance(reserved, Silent) else reserved
    return Asked(Poll(at_s, jobs, ended, asked if jobs is not None else None, nodes, planned), tuple(silent))
