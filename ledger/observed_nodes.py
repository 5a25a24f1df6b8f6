"""What is said of nodes, into their timelines; with what it changes of closed hours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ledger import statements
from ledger.change import Change
from ledger.corrections import correct_hours, correct_node, whole_hours
from ledger.events import NodeObserved, NodeRemoved
from ledger.horizon import beyond_horizon
from ledger.nodes import Node
from ledger.outcomes import APPLIED, REPEATED, Outcome, id_reused
from ledger.statements import NodeStatement
from ledger.units import FOREVER_S, GPU_MILLI

if TYPE_CHECKING:
    from ledger.book import Book


def node_stated(book: Book, event: NodeObserved | NodeRemoved, statement: NodeStatement) -> Outcome:
    """A node as seen, or gone."""
    state = book.state
    name = event.data.node
    node = state.nodes.get(name)
    if node is not None and node.goes_on(statement) and statement.at_s > state.closed_until_s:
        node.statements.append(statement)
        book.advance()
        _doubt(book, event)
        book.changed["node", name] = None
        return APPLIED
    if node is not None and statement in node.statements:
        return REPEATED
    if node is not None and node.superseded_before(statement, state.horizon_s):
        return beyond_horizon(book.state, "the node statement's time in force", node.next_after(statement))
    if node is None:
        node = Node(name)
    reused = any(statements.clash(known, statement) for known in node.statements)
    book.advance()
    if reused:
        book.remark(event, *id_reused(event.source, event.id))
    _doubt(book, event)
    book.changed["node", name] = None
    old, new = Node(name, list(node.statements)), Node(name, list(node.statements))
    new.put(statement)
    if old.statements and not new.turns_by(statement):
        _insert_node(book, node, statement)  # it says what was known: nothing reads differently
        return APPLIED
    _turned(book, event, node, statement, retyped=new.types() != old.types())
    if state.first_node_s is None or statement.at_s < state.first_node_s:
        state.first_node_s = statement.at_s
        book.changed["", ""] = None
        book.close_missing(event)
    return APPLIED


def _turned(
    book: Book, event: NodeObserved | NodeRemoved, node: Node, statement: NodeStatement, *, retyped: bool
) -> None:
    """Put a statement in by which the node turns into something else, and post what that changes of closed hours."""
    state = book.state
    old = Node(node.name, list(node.statements))
    hours = state.closed_hours(statement.at_s, node.next_after(statement))
    if hours or retyped:
        state.read_all()
    if retyped and state.ever_on_node(node.name) and _first_hour_on(book, node, statement) < state.closed_until_s:
        _retype(book, event, node, statement)
        return
    old_types = old.types()
    _insert_node(book, node, statement)
    if retyped:
        _reread(book, node.name, old_types)
    change = Change()
    correct_node(state, change, old, hours)
    change.write(book.writer, event)


def _doubt(book: Book, event: NodeObserved | NodeRemoved) -> None:
    """Remark on what nobody saw."""
    if isinstance(event, NodeObserved) and event.data.assumed:
        data = event.data
        sentence = (
            f"nobody stated {data.node} at {event.time:%Y-%m-%d %H:%M} UTC: from then on it counts as {data.state} "
            f"with {data.gpus_milli / GPU_MILLI:g} GPUs ({data.reason or 'no reason given'}); send a node list of that "
            "time to know better"
        )
        book.remark(event, "node_assumed", data.node, sentence)


def _insert_node(book: Book, node: Node, statement: NodeStatement) -> None:
    node.put(statement)
    book.state.nodes[node.name] = node
    book.state.node_changed(node.name, statement)


def _reread(book: Book, node: str, old_types: tuple[tuple[int, str], ...]) -> None:
    """Runs on a node whose GPU type changed are to be read again."""
    if old_types == book.state.node_types(node):
        return
    book.read_again(book.state.ever_on_node(node))


def _retype(book: Book, event: NodeObserved | NodeRemoved, node: Node, statement: NodeStatement) -> None:
    """A node new to closed hours, or of another GPU type in them: compare whole hours."""
    state = book.state
    before = whole_hours(state, state.closed_hours(_first_hour_on(book, node, statement), FOREVER_S))
    _insert_node(book, node, statement)
    book.read_again(state.ever_on_node(node.name))
    change = Change()
    correct_hours(state, change, before)
    change.write(book.writer, event)


def _first_hour_on(book: Book, node: Node, statement: NodeStatement) -> int:
    """The earliest instant that can read differently: the statement's, or the first run on the node or wait for it."""
    readings = [book.state.derived[name] for name in book.state.ever_on_node(node.name)]
    runs = [run.start_s for reading in readings for run in reading.runs]
    waits = [wait.a_s for reading in readings for wait in reading.waits]
    return min([statement.at_s, *runs, *waits])
