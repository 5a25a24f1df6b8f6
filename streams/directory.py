"""The directory as the log states it: titles and requests, of each name the latest word. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ledger.store.columns import columns_of
from ledger.store.protocol import AccountEntry, ShareRequest, Value
from streams.processor import Folded

Row = tuple[Value, ...]


@dataclass(slots=True)
class Directory:
    """Accounts and requests by name."""

    accounts: dict[str, AccountEntry] = field(default_factory=dict)
    requests: dict[str, ShareRequest] = field(default_factory=dict)

    def take(self, folded: Folded) -> None:
        """Take in what a batch states; of one instant the later in the log holds, as in the store."""
        for entry in folded.accounts:
            known = self.accounts.get(entry.account)
            if known is None or known.occurred_us <= entry.occurred_us:
                self.accounts[entry.account] = entry
        for request in folded.requests:
            asked = self.requests.get(request.request)
            if asked is None or asked.occurred_us <= request.occurred_us:
                self.requests[request.request] = request


class Differing(NamedTuple):
    """What a table says otherwise than the log: names it has too many or changed, and names it misses."""

    table: str
    too_many: list[str]
    missing: list[str]


def differing(made: Directory, accounts: Iterable[Row], requests: Iterable[Row]) -> Iterator[Differing]:
    """The stored rows, as `directory_accounts` and `directory_requests` give them, against what the log states."""
    for table, rows, stated in (
        ("accounts", accounts, _rows(AccountEntry, list(made.accounts.values()))),
        ("share_requests", requests, _rows(ShareRequest, list(made.requests.values()))),
    ):
        kept = {str(row[0]): _comparable(row) for row in rows}
        right = {str(row[0]): _comparable(row) for row in stated}
        too_many = sorted(name for name, row in kept.items() if right.get(name) != row)
        missing = sorted(name for name, row in right.items() if kept.get(name) != row)
        if too_many or missing:
            yield Differing(table, too_many, missing)


def _rows(kind: type[NamedTuple], entries: Sequence[NamedTuple]) -> Iterator[Row]:
    """The entries as their table holds them."""
    return zip(*columns_of(kind, entries).values(), strict=True)


def _comparable(row: Row) -> Row:
    return tuple(tuple(value) if isinstance(value, list) else value for value in row)
