"""Node statements: states, GPUs, reasons, from every command that lists nodes."""

# The attribute itself is the check that the reading or event is of the right kind.
# mypy: disable-error-code="union-attr"

import json
from datetime import UTC, datetime

import pytest

from ledger.units import epoch_s
from streams.sources.config import SourceConfig
from streams.sources.reading import Refused, Unreadable, events_of, name_of
from streams.sources.registry import read
from streams.sources.slurm.nodes import node_state

T0 = 1_796_000_000
CONFIG = SourceConfig(cluster="c", snapshot_at=datetime.fromtimestamp(T0, tz=UTC))


@pytest.mark.parametrize(
    ("words", "state"),
    [
        ("IDLE", "available"),
        ("MIXED", "available"),
        ("ALLOCATED", "available"),
        ("allocated", "available"),
        ("IDLE COMPLETING", "available"),
        ("IDLE PLANNED", "available"),
        ("MIXED DYNAMIC_NORM RESERVED", "available"),
        ("IDLE CLOUD POWERED_DOWN", "available"),
        ("idle~", "available"),
        ("mix-", "available"),
        ("MIXED DRAIN", "draining"),
        ("ALLOCATED DRAIN", "draining"),
        ("IDLE DRAIN COMPLETING", "draining"),
        ("draining", "draining"),
        ("IDLE DRAIN", "planned_down"),
        ("RESERVED DRAIN IDLE", "planned_down"),
        ("drained", "planned_down"),
        ("MIXED DYNAMIC_NORM MAINTENANCE RESERVED PLANNED", "planned_down"),
        ("maint", "planned_down"),
        ("IDLE REBOOT_ISSUED", "planned_down"),
        ("DOWN", "down"),
        ("DOWN NOT_RESPONDING", "down"),
        ("down*", "down"),
        ("idle*", "down"),
        ("IDLE NOT_RESPONDING", "down"),
        ("DOWN DRAIN", "down"),
        ("DOWN MAINTENANCE", "down"),
        ("IDLE FAIL", "down"),
        ("IDLE INVALID_REG", "down"),
        ("UNKNOWN", "down"),
        ("IDLE MAINTENANCE NOT_RESPONDING", "planned_down"),
    ],
)
def test_one_state_out_of_base_and_flags(words, state):
    assert node_state(words.split()) == state
    assert node_state(words.split()[::-1]) == state


@pytest.mark.parametrize("words", ["", "WOBBLING", "IDLE WOBBLING"])
def test_an_unknown_state_is_refused(words):
    with pytest.raises(Refused, match="state of a Slurm node"):
        node_state(words.split())


def single(**given):
    return {"name": "gn1", "state": ["IDLE"], "gres": "gpu:h100:8", "tres": "cpu=64", "reason": ""} | given


def of(*nodes, config=CONFIG, **top):
    return list(read("slurm-nodes-json", json.dumps({"nodes": nodes} | top).encode(), config))


@pytest.mark.parametrize(
    ("given", "gpu_type", "milli"),
    [
        ({}, "h100", 8_000),
        ({"gres": "gpu:8"}, "gpu", 8_000),
        ({"gres": "gpu:h100:2,gpu:h200:4"}, "h100+h200", 6_000),
        ({"gres": "gpu:1g.10gb:7(S:0)"}, "1g.10gb", 1_000),
        ({"gres": "", "tres": "cpu=64,gres/gpu=8,gres/gpu:h100=8"}, "h100", 8_000),
    ],
)
def test_a_node_has_a_type_and_a_size(given, gpu_type, milli):
    (event,) = events_of(of(single(**given)))
    assert (event.data.gpu_type, event.data.gpus_milli) == (gpu_type, milli)
    assert (event.data.cluster, event.data.node, event.data.state) == ("c", "gn1", "available")
    assert epoch_s(event.time) == T0


def test_states_of_old_answers_stand_in_two_fields():
    (event,) = events_of(of(single(state="mixed", state_flags=["DRAIN"], reason="gpu 3 XID 79")))
    assert (event.data.state, event.data.reason) == ("draining", "gpu 3 XID 79")


def test_nodes_are_stated_as_of_the_configured_instant_then_the_answers_own():
    update = {"set": True, "infinite": False, "number": T0 + 77}
    undated = SourceConfig(cluster="c")
    (configured,) = events_of(of(single(), last_update=update))
    (own,) = events_of(of(single(), config=undated, last_update=update))
    (latest,) = events_of(of(single(last_busy=T0 + 5, boot_time=T0), config=undated))
    (bad,) = of(single(), config=undated)
    assert [epoch_s(e.time) for e in (configured, own, latest)] == [T0, T0 + 77, T0 + 5]
    assert isinstance(bad, Unreadable)
    assert (bad.reason, "snapshot_at" in bad.sentence) == ("no_instant", True)


def test_sinfo_groups_nodes_and_repeats_them_by_partition():
    def group(names):
        return {
            "node": {"state": ["MIXED"]},
            "nodes": {"nodes": names},
            "gres": {"total": "gpu:h100:8"},
            "reason": {"description": ""},
        }

    data = json.dumps({"sinfo": [group(["gn1", "gn2"]), group(["gn1"]), group(["gn2", "gn3"])]}).encode()
    found = list(read("slurm-nodes-json", data, CONFIG))
    assert [name_of(r) for r in found] == ["node", "node_again", "node"]
    assert [e.data.node for e in events_of(found)] == ["gn1", "gn2", "gn1", "gn2", "gn3"]
    assert len({e.id for e in events_of(found)}) == 3


def test_nodes_without_gpus_and_wrong_ones_are_named():
    found = of(
        single(gres=""), single(state=["WOBBLING"]), {"state": ["IDLE"], "gres": "gpu:1"}, single(name="n" * 300)
    )
    assert [name_of(r) for r in found] == [
        "node_without_gpus",
        "unreadable:unknown_state",
        "unreadable:no_node_name",
        "unreadable:values_not_accepted",
    ]


def test_scontrol_show_node(root):
    data = (root / "tests" / "golden" / "slurm" / "scontrol_nodes.txt").read_bytes()
    found = list(read("scontrol-node", data, SourceConfig(cluster="c")))
    assert len(found) == data.count(b"\n")
    assert [name_of(r) for r in found if name_of(r) not in {"continuation", "blank"}] == [
        "node",
        "node",
        "node_without_gpus",
    ]
    first, second = events_of(found)
    assert (first.data.node, first.data.gpu_type, first.data.gpus_milli, first.data.state) == (
        "gn1",
        "h100",
        8_000,
        "draining",
    )
    assert first.data.reason == "gpu 3 XID=79 seen [root@2026-11-30T00:53:20]"
    assert epoch_s(first.time) == T0, "the latest instant the list knows, the stamp of the reason"
    assert (second.data.node, second.data.gpus_milli, second.data.state) == ("gn2", 1_000, "available")
