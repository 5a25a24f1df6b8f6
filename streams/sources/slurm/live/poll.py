"""One poll: the answers of one instant as records. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC

from streams.sources.config import SourceConfig
from streams.sources.slurm import accounting_json, controller_json, nodes_json, reservations, sacct_text, scontrol
from streams.sources.slurm.json_rows import answer
from streams.sources.slurm.live.port import Answer, Silent
from streams.sources.slurm.nodes import NodePiece
from streams.sources.slurm.reader import Piece
from streams.sources.slurm.reservations import AnswerWrong, Reserved


@dataclass(frozen=True, slots=True)
class Poll:
    """What was told at `at_s`; None where there was no answer, which says nothing about anything.

    `jobs` are the controller's, `ended` accounting's of what ended since the last poll, `asked` accounting's of the
    jobs that the controller has let go of. `windows` are reservations for maintenance, by name.
    """

    at_s: int
    jobs: Sequence[Piece] | None = None
    ended: Sequence[Piece] | None = None
    asked: Sequence[Piece] | None = None
    nodes: Sequence[NodePiece] | None = None
    windows: Mapping[str, Reserved] | None = None


def job_pieces(told: Answer, config: SourceConfig) -> list[Piece] | Silent:
    """The jobs of an answer. An answer that is an error, or is cut short, is none."""
    if isinstance(told, Silent):
        return told
    if told.format == "sacct":
        return sacct_text.pieces(told.data, config)
    found = answer(told.data)
    if (wrong := next(found.dead_letters(), None)) is not None:
        return Silent(wrong.sentence)
    return accounting_json.pieces(found) if told.format == "slurmdb-jobs-json" else controller_json.pieces(found)


def node_pieces(told: Answer) -> list[NodePiece] | Silent:
    """The nodes of an answer; instants in text are in UTC, as the commands were told."""
    if isinstance(told, Silent):
        return told
    if told.format == "scontrol-node":
        return scontrol.node_pieces(told.data, UTC)
    found = answer(told.data)
    if (wrong := next(found.dead_letters(), None)) is not None:
        return Silent(wrong.sentence)
    return nodes_json.pieces(found)


def windows(told: Answer) -> dict[str, Reserved] | Silent:
    """The reservations for maintenance of an answer. One that cannot be read whole is none."""
    if isinstance(told, Silent):
        return told
    read = reservations.from_text if told.format == "scontrol-reservation" else reservations.from_json
    try:
        return read(told.data)
    except AnswerWrong as wrong:
        return Silent(f"Slurm's answer about reservations cannot be read: {wrong}. Ask it by hand as this user")
