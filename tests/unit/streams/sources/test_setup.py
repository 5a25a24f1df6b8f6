"""What goes before a history: opening, nodes declared or inferred and flagged, shares."""

# The attribute itself is the check that the reading or event is of the right kind.
# mypy: disable-error-code="union-attr"

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.units import epoch_s
from streams.sources.assuming import peak_milli
from streams.sources.config import ConfigError, source_config
from streams.sources.files.mapping import mapping
from streams.sources.history import History, seen
from streams.sources.reading import cluster_events_of
from streams.sources.registry import read
from streams.sources.setup import preamble

HEAD = "JobID|User|Account|Cluster|State|Submit|Start|End|AllocTRES|NodeList\n"
H = 1_796_000_400
"""A whole hour: 2026-11-30T01:00:00Z."""


def row(
    job, start, end, *, gpus=1, node="gn1", account="lab/a", cluster="c", submit=None, state="COMPLETED", kind="h100"
):
    submitted = start if submit is None else submit
    tres = f"gres/gpu:{kind}={gpus},gres/gpu={gpus}"
    return f"{job}|eve|{account}|{cluster}|{state}|{submitted}|{start}|{end}|{tres}|{node}\n"


def set_up(text, *rows):
    config = source_config('cluster = "c"\n' + text + '\n[[rules]]\nbudget = "lab/{account}"')
    history = History()
    events = list(seen(cluster_events_of(read("sacct", (HEAD + "".join(rows)).encode(), config)), history))
    assert events
    return preamble(config, history)


def nodes(events):
    return [(e.data.node, e.data.gpu_type, e.data.gpus_milli) for e in events if e.type == "tenure.node.observed.v1"]


def test_the_book_opens_with_the_hour_of_the_first_submission():
    policy, *_ = set_up("", row(1, H + 5_000, H + 6_000, submit=H + 10), row(2, H + 20, H + 30))
    assert policy.type == "tenure.policy.set.v1"
    assert epoch_s(policy.data.opens_at) == H
    assert policy.data.horizon_h is None


def test_a_longer_history_has_a_horizon_over_all_of_it():
    policy, *_ = set_up("", row(1, H, H + 40 * 86_400))
    assert policy.data.horizon_h == 40 * 24 + 35 * 24


def test_the_opening_may_be_given():
    policy, node = set_up("opens_at = 2026-11-01T00:00:00Z", row(1, H, H + 9))
    assert policy.data.opens_at == policy.time == node.time == datetime(2026, 11, 1, tzinfo=UTC)


def test_nodes_nobody_stated_are_inferred_and_say_so():
    events = set_up(
        "",
        row(1, H, H + 100, gpus=2),
        row(2, H + 100, H + 200, gpus=4),
        row(3, H + 150, H + 160, gpus=1),
        row(4, H, H + 10, gpus=1, node="gn2", kind="a100"),
        row(4, H, H + 10, gpus=1, node="gn2", kind="a100"),
    )
    assert nodes(events) == [("gn1", "h100", 5_000), ("gn2", "a100", 1_000)]
    assert all("inferred" in e.data.reason for e in events[1:])


def test_declared_nodes_are_not_inferred_again():
    text = "nodes = [{ names = 'gn[1-2]', gpus = 8, gpu_type = 'h100' }]"
    events = set_up(text, row(1, H, H + 100), row(2, H, H + 100, node="gn9"))
    assert nodes(events) == [("gn1", "h100", 8_000), ("gn2", "h100", 8_000), ("gn9", "h100", 1_000)]
    assert "declared" in events[1].data.reason


def test_inferring_can_be_turned_off():
    assert nodes(set_up("infer_nodes = false", row(1, H, H + 100))) == []


def test_a_wrong_node_list_is_named():
    with pytest.raises(ConfigError, match=r"nodes\.names"):
        set_up("nodes = [{ names = 'gn[1-', gpus = 8 }]", row(1, H, H + 1))


def test_equal_shares_go_to_every_child_the_data_names():
    rows = [row(n, H, H + 1, account=name) for n, name in enumerate(["a", "b", "c"])]
    *_, shares = set_up("shares = [{ parent = 'lab', equal = true }]", *rows)
    assert [(c.child, c.share_percent) for c in shares.data.children] == [
        (name, Decimal("33.333333")) for name in ("a", "b", "c")
    ]
    assert (shares.data.parent, shares.data.expected_revision, shares.data.backdated) == ("lab", 0, True)
    assert epoch_s(shares.data.effective_at) == H


def test_shares_may_be_declared():
    *_, shares = set_up("shares = [{ parent = 'lab', children = { a = 60, b = '0.5' } }]", row(1, H, H + 1))
    assert [(c.child, c.share_percent) for c in shares.data.children] == [("a", Decimal(60)), ("b", Decimal("0.5"))]


def test_accounting_of_several_clusters_sets_each_of_them_up():
    text = "nodes = [{ names = 'gn1', gpus = 8 }]"
    events = set_up(text, row(1, H, H + 1), row(2, H + 9_000, H + 9_001, cluster="d"))
    assert [(e.data.cluster, e.type.split(".")[1]) for e in events] == [
        ("c", "policy"),
        ("c", "node"),
        ("d", "policy"),
        ("d", "node"),
    ]
    assert epoch_s(events[2].data.opens_at) == H + 7_200
    assert events[3].data.gpus_milli == 1_000


def test_a_running_job_takes_its_gpus_until_the_last_instant_known():
    events = set_up("", row(1, H, "Unknown", gpus=2, state="RUNNING"), row(2, H + 500, H + 600, gpus=3))
    assert nodes(events) == [("gn1", "h100", 5_000)]


def test_a_synthetic_node_has_the_size_declared_or_needed():
    text = 'cluster = "c"\ntime = "epoch"\nvirtual_node = "pool"\n[columns]\nstart = "s"\nend = "e"\ngpus = "n"\n'
    data = b"s,e,n\n100,200,0.5\n150,250,1\n"
    for extra, milli in (("", 2_000), ("virtual_gpus = 64\n", 64_000)):
        config, history = mapping(extra + text), History()
        list(seen(cluster_events_of(read("csv", data, config)), history))
        assert nodes(preamble(config, history)) == [("pool", "gpu", milli)]


def test_nothing_seen_and_nothing_given_sets_nothing_up():
    assert preamble(source_config("cluster = 'c'"), History()) == []
    (policy,) = preamble(source_config("cluster = 'c'\nopens_at = 2026-01-01T00:00:00Z"), History())
    assert policy.data.opens_at == datetime(2026, 1, 1, tzinfo=UTC)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 20), st.integers(1, 3_000)), max_size=25))
def test_the_peak_is_the_most_at_any_second_up_to_whole_gpus(runs):
    changes = [c for start, length, milli in runs for c in ((start, milli), (start + length, -milli))]
    by_second = [sum(m for s, n, m in runs if s <= t < s + n) for t in range(61)]
    assert peak_milli(changes) == -(-max(by_second) // 1_000) * 1_000


def test_nodes_that_are_stated_are_not_inferred():
    """Node statements and runs come from two files of one cluster."""
    config, history = source_config('cluster = "c"\nsnapshot_at = 2026-11-30T01:00:00Z'), History()
    listed = b"NodeName=gn1 Gres=gpu:h100:8 State=IDLE\n"
    ran = (HEAD + row(1, H, H + 10) + row(2, H, H + 10, node="gn2")).encode()
    list(seen(cluster_events_of(read("scontrol-node", listed, config)), history))
    list(seen(cluster_events_of(read("sacct", ran, config)), history))
    assert nodes(preamble(config, history)) == [("gn2", "h100", 1_000)]


def test_jobs_that_only_waited_open_the_book_and_name_their_account():
    pending = f"1|eve|vision|c|CANCELLED|{H + 10}|None|{H + 20}||None assigned\n".replace("||", "|gres/gpu=1|")
    events = set_up("shares = [{ parent = 'lab', equal = true }]", pending)
    assert epoch_s(events[0].data.opens_at) == H
    assert [c.child for c in events[-1].data.children] == ["vision"]


def test_equal_shares_of_nobody_are_an_empty_set():
    *_, shares = set_up("shares = [{ parent = 'other', equal = true }]", row(1, H, H + 1))
    assert shares.data.children == ()
