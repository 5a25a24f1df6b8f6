"""Samples as columns: shapes, ranges, and idleness where the events say so."""

import numpy as np

from tenure.demo import Demo, SampleBlock
from tenure.demo.chance import Bools
from tenure.demo.cluster import NODES


def blocks(demo: Demo) -> list[SampleBlock]:
    return list(demo.samples)


def test_a_block_per_day_with_equally_long_columns(short: Demo):
    made = blocks(short)
    assert [block.day_s for block in made] == [short.span.opens_s + day * 86_400 for day in range(3)]
    for block in made:
        columns = {
            "node": np.uint8,
            "gpu": np.uint8,
            "minute_s": np.uint32,
            "utilization_pct": np.float32,
            "sm_active_pct": np.float32,
            "memory_used_mib": np.float32,
            "power_w": np.float32,
            "xid": np.int32,
        }
        for name, dtype in columns.items():
            column = getattr(block, name)
            assert column.shape == (len(block),)
            assert column.dtype == dtype, name
        assert block.nodes == tuple(spec.name for spec in NODES)
        assert 0.9 * 256 * 1_440 < len(block) <= 256 * 1_440


def test_samples_are_in_order_once_and_within_their_ranges(short: Demo):
    for block in blocks(short):
        minute = (block.minute_s.astype(np.int64) - block.day_s) // block.interval_s
        key = (block.node.astype(np.int64) * 8 + block.gpu) * 1_440 + minute
        assert (np.diff(key) > 0).all()
        assert minute.min() >= 0
        assert minute.max() < 1_440
        assert block.gpu.max() == 7
        for percent in (block.utilization_pct, block.sm_active_pct):
            assert percent.min() >= 0
            assert percent.max() <= 100
        assert block.power_w.min() > 0
        assert (block.memory_used_mib >= 0).all()


def test_the_same_samples_each_time(short: Demo):
    first, again = blocks(short), blocks(short)
    for a, b in zip(first, again, strict=True):
        assert (a.power_w == b.power_w).all()


def of_run(block: SampleBlock, node: str, gpu: int, since_s: int, until_s: int) -> Bools:
    code = block.nodes.index(node)
    mine: Bools = (block.node == code) & (block.gpu == gpu)
    mine &= (block.minute_s >= since_s) & (block.minute_s + 60 <= until_s)
    return mine


def test_squatters_hold_gpus_that_do_nothing(short: Demo):
    made = blocks(short)
    squats = [a for a in short.truth.attempts if a.job.nature.idle_from_s == 0 and a.ended_s is not None]
    assert squats
    seen = 0
    for attempt in squats:
        for part in attempt.parts:
            for block in made:
                rows = of_run(block, part.node, part.gpu_indices[0], attempt.started_s, attempt.ended_s or 0)
                seen += int(rows.sum())
                assert not block.utilization_pct[rows].any()
                assert (block.memory_used_mib[rows] > 1_000).all()
    assert seen > 100


def test_batch_work_is_busy_and_free_gpus_are_not(short: Demo):
    block = blocks(short)[1]
    assert 50 < block.utilization_pct.mean() < 90
    free = block.memory_used_mib < 100
    assert free.any()
    assert not block.utilization_pct[free].any()


def test_a_node_that_is_away_gives_no_samples_and_says_why_before(short: Demo):
    late = short.highlights.late_node
    made = blocks(short)
    block = next(b for b in made if b.day_s <= late.since_s < b.day_s + 86_400)
    code = block.nodes.index(late.node)
    mine = block.node == code
    back_s = next(c.at_s for c in short.truth.nodes if c.node == late.node and c.at_s > late.since_s)
    gone = mine & (block.minute_s >= late.since_s) & (block.minute_s + 60 <= back_s)
    assert not gone.any()
    assert 79 in block.xid[mine]
