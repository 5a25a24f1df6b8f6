"""Which error ends with which exit code, in which words."""

import errno

import pytest
from pydantic import ValidationError

from ledger.events.decisions import ChildShare
from ledger.store.errors import QueryRefused, SchemaTooNew, StoreBusy, StoreFull, StoreUnreachable
from streams.kafka import StreamError
from streams.sources.config import ConfigError
from streams.sources.detect import UnknownFormat
from tenure.cli import exits, instants


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (exits.Stop("x"), 2),
        (exits.Stop("x", exits.NOTHING), 3),
        (ConfigError("x"), 2),
        (UnknownFormat("x"), 2),
        (StoreBusy("x"), 4),
        (StoreFull("x"), 5),
        (OSError(errno.ENOSPC, "No space left on device", "/f"), 5),
        (OSError(errno.EACCES, "Permission denied", "/f"), 6),
        (StoreUnreachable("x"), 6),
        (SchemaTooNew("x"), 6),
        (QueryRefused("x"), 6),
        (StreamError("x"), 6),
        (RuntimeError("a fault of the program"), None),
    ],
)
def test_every_error_has_its_code(error: Exception, code: int | None):
    assert exits.code_of(error) == code


def test_what_is_told_names_the_field_and_the_file():
    with pytest.raises(ValidationError) as caught:
        ChildShare.model_validate({"child": "a b", "share_percent": 5})
    assert "child: " in exits.sentence_of(caught.value)
    full = OSError(errno.ENOSPC, "No space left on device", "/data/demo.json")
    assert exits.sentence_of(full).startswith("/data/demo.json: No space left on device. What was taken before is kept")


def test_instants_are_utc_unless_they_say_otherwise():
    assert instants.parsed("2026-09-01", "--since").isoformat() == "2026-09-01T00:00:00+00:00"
    assert instants.parsed("2026-09-01T10:00+02:00", "--since").isoformat() == "2026-09-01T08:00:00+00:00"
    begin = instants.parsed("2026-09-01", "--from")
    assert instants.later("7d", begin, "--until").isoformat() == "2026-09-08T00:00:00+00:00"
    assert instants.later("2026-09-03", begin, "--until").day == 3
    with pytest.raises(exits.Stop, match="--since 'soon' is no instant"):
        instants.parsed("soon", "--since")
