"""Bring the tables up to this code: migrations in order, once each, then the views as this code has them.

Forward only. What was applied is kept in `schema_migrations` with a hash, so an applied file that was edited
since is noticed, and tables that a newer Tenure made are refused by the name of what is unknown here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from time import sleep

from ledger.store.errors import SchemaTooNew, StoreError, StoreUnreachable
from ledger.store.sql import read, statements

Command = Callable[[str], object]
Rows = Callable[[str], list[tuple[str, str]]]
AsRun = Callable[[str], str]

VIEWS = "views"
"""Name under which the views' common hash is kept."""

MIGRATED = "SELECT name, '' FROM system.tables WHERE database = currentDatabase() AND name = 'schema_migrations'"
"""Whether there was a migration before: a book in use is opened without a statement that changes tables."""

APPLIED = "SELECT name, hash FROM schema_migrations FINAL"

MIGRATIONS_TABLE = """
CREATE TABLE IF NOT EXISTS schema_migrations
(
    `name` String COMMENT 'file, or `views` for all views together',
    `hash` String COMMENT 'blake2b-128 of its text, hex',
    `step` UInt64 COMMENT 'of two entries of one name the later holds'
)
-- A handful of rows, read whole.
ENGINE = ReplacingMergeTree(step)
ORDER BY name
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'What was applied to this database'
"""


def migrate(command: Command, rows: Rows, as_run: AsRun = str) -> None:
    """Apply what is missing; raise SchemaTooNew or StoreError, tables untouched, where that is unsafe.

    `as_run` gives each statement the form this database wants. Views in another form are replaced.
    """
    if not rows(MIGRATED):
        command(as_run(MIGRATIONS_TABLE))
    applied = dict(rows(APPLIED))
    migrations = read("migrations")
    _check(applied, migrations)
    for name, text in migrations.items():
        if name not in applied:
            _apply(command, name, [as_run(statement) for statement in statements(text)])
            applied[name] = digest(text)
            _record(command, name, applied[name], len(applied))
    views = {name: [as_run(statement) for statement in statements(text)] for name, text in read("views").items()}
    wanted = digest("\n".join(statement for view in views.values() for statement in view))
    if applied.get(VIEWS) != wanted:
        for name, view in views.items():
            _apply(command, name, view)
        _record(command, VIEWS, wanted, 0)


def digest(text: str) -> str:
    """The hash a file is recognised by."""
    return blake2b(text.encode(), digest_size=16).hexdigest()


def _check(applied: Mapping[str, str], migrations: Mapping[str, str]) -> None:
    unknown = sorted(applied.keys() - migrations.keys() - {VIEWS})
    if unknown:
        raise SchemaTooNew(
            f"the tables were made by a newer Tenure: it applied {', '.join(unknown)}, unknown here; "
            "run that version, or a later one"
        )
    edited = [name for name, text in migrations.items() if name in applied and applied[name] != digest(text)]
    if edited:
        raise StoreError(
            f"{edited[0]} was applied here with another text: a migration is never edited, add a new one; "
            "a data folder of a development version has to be made again"
        )


def _apply(command: Command, name: str, made: Sequence[str]) -> None:
    """Run a file's statements, which may all be run again.

    Processes that start together on a new database do the same work at the same time, and one may drop what another is
    about to read. So a file that fails is begun anew, twice, before it has failed.
    """
    for wait_s in (0.2, 1.0, None):
        try:
            for statement in made:
                command(statement)
        except StoreUnreachable:
            raise
        except StoreError as error:
            if wait_s is None:
                raise StoreError(f"{name}: {error}") from error
            sleep(wait_s)
        else:
            return


def _record(command: Command, name: str, text_hash: str, step: int) -> None:
    """Names and hashes hold no quotes; an entry for the views outranks the one before it."""
    later = f"(SELECT max(step) + 1 FROM schema_migrations) + {step}"  # noqa: S608
    command(f"INSERT INTO schema_migrations SELECT '{name}', '{text_hash}', {later}")
