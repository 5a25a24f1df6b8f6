"""The book takes a demo: it refuses the stale shares and nothing else."""

from ledger.book import Book
from ledger.events import EVENT, AccountChanged, AccountClosed, AccountOpened, GpuSampled, ShareRequested
from ledger.outcomes import Refused, Repeated
from ledger.units import epoch_s
from tenure.demo import CLUSTER, Demo

ELSEWHERE = (AccountOpened, AccountChanged, AccountClosed, ShareRequested, GpuSampled)


def test_the_book_refuses_nothing_but_the_stale_shares(short: Demo):
    book = Book(CLUSTER)
    refused: dict[str, str] = {}
    repeated = 0
    for line in short.events:
        event = EVENT.validate_json(line)
        if isinstance(event, ELSEWHERE):
            continue
        assert event.recordedtime is not None
        outcome = book.apply(event, epoch_s(event.recordedtime))
        repeated += isinstance(outcome, Repeated)
        if isinstance(outcome, Refused):
            refused[event.id] = outcome.name
    assert refused == {short.highlights.stale_shares_id: "stale_revision"}
    assert repeated > 20
