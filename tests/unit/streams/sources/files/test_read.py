"""Any CSV by its mapping: sizes, times, keys, ends, and a name for every row."""

# The attribute itself is the check that the reading or event is of the right kind.
# mypy: disable-error-code="union-attr"

import pytest

from ledger.units import epoch_s
from streams.sources.files.mapping import mapping
from streams.sources.reading import Statement, Unreadable, events_of, name_of
from streams.sources.registry import read

BASE = """
cluster = "c"
time = "epoch"
[columns]
job = "id"
user = "who"
group = "team"
submit = "q"
start = "s"
end = "e"
gpus = "n"
"""
HEAD = "id,who,team,q,s,e,n"


def of(text, *rows, head=HEAD):
    data = "".join(f"{line}\n" for line in (head, *rows)).encode()
    found = list(read("csv", data, mapping(text)))
    assert len(found) == data.count(b"\n")
    return found[1:]


def run_of(text, row, head=HEAD):
    (reading,) = of(text, row, head=head)
    assert isinstance(reading, Statement), reading
    return reading.events[0].data


def test_a_row_is_a_run():
    data = run_of(BASE, "7,eve,vision,100,200,500,3")
    assert (data.cluster, data.job, data.attempt, data.user, data.account) == ("c", "7", "100", "eve", "vision")
    assert [epoch_s(t) for t in (data.submitted_at, data.started_at, data.ended_at)] == [100, 200, 500]
    assert [(p.node, p.gpus_milli) for p in data.placements] == [("c-unplaced", 3_000)]
    assert data.outcome is None


@pytest.mark.parametrize(
    ("form", "start", "end"),
    [
        ("time = 'iso'", "2026-11-30 00:53:20", "2026-11-30T00:54:20"),
        ("time = 'iso'\ntimezone = 'Europe/Oslo'", "2026-11-30 01:53:20", "2026-11-30 00:54:20Z"),
        ("time = 'epoch'", "1796000000", "1796000060.0"),
        ("time = 'seconds'\norigin = 2026-11-30T00:00:00Z", "3200", "3260.9"),
    ],
)
def test_forms_of_instants(form, start, end):
    text = BASE.replace('time = "epoch"', form)
    data = run_of(text, f"7,eve,vision,,{start},{end},1")
    assert (epoch_s(data.started_at), epoch_s(data.ended_at)) == (1_796_000_000, 1_796_000_060)
    assert data.attempt == "1796000000", "the start, where no submission is known"


def test_a_duration_stands_for_the_end_and_the_submission_for_the_start():
    text = """
    cluster = "c"
    [columns]
    submit = "t"
    duration = "d"
    gpus = "n"
    """
    data = run_of(text, "2017-10-09 07:01:55,66.0,1", head="t,d,n")
    assert epoch_s(data.ended_at) - epoch_s(data.started_at) == 66
    assert (data.job, data.user, data.account) == ("row-1", "unknown", None)


@pytest.mark.parametrize(
    ("gpus", "each", "milli"),
    [("1", "460", 460), ("2", "500", 1_000), ("8", "", 8_000), ("0.5", "", 500), ("0.25", "1000", 250)],
)
def test_fractions_of_gpus_are_milli_gpus(gpus, each, milli):
    text = BASE + 'milli_per_gpu = "m"\n'
    data = run_of(text, f"7,eve,vision,1,2,3,{gpus},{each}", head=HEAD + ",m")
    assert sum(p.gpus_milli for p in data.placements) == milli


def test_gpus_out_of_a_string_of_tres_ids():
    text = 'gpu_tres = ["1001", "1002"]\n' + BASE.replace('gpus = "n"', 'tres = "n"\ntres_requested = "r"')
    head = HEAD + ",r"
    data = run_of(text, '7,eve,vision,1,2,3,"1=20,4=1,1002=2,1001=1","1002=4"', head=head)
    assert data.placements[0].gpus_milli == 3_000
    (waiting,) = of(text, '7,eve,vision,1,,,"","1=20,1002=4"', head=head)
    assert waiting.events[0].data.gpus_milli == 4_000


def test_nodes_as_a_list_in_a_cell():
    text = BASE + 'nodes = "on"\n'
    data = run_of(text, "7,eve,vision,1,2,3,3,\"['a-1', 'b-2']\"", head=HEAD + ",on")
    assert [(p.node, p.gpus_milli) for p in data.placements] == [("a-1", 2_000), ("b-2", 1_000)]


def test_ids_that_collide_are_told_apart_by_their_row():
    same = "1.6e13,eve,vision,1,2,3,1"
    unique = of(BASE, same, same)
    assert [name_of(r) for r in unique] == ["first_statement", "further_statement"]
    told_apart = of("job_is_unique = false\n" + BASE, same, same)
    assert [name_of(r) for r in told_apart] == ["first_statement", "first_statement"]
    assert [e.data.job for e in events_of(told_apart)] == ["1.6e13#1", "1.6e13#2"]


def test_rows_without_an_id_are_jobs_of_their_own():
    text = BASE.replace('job = "id"\n', "")
    found = of(text, "x,eve,vision,1,2,3,1", "x,eve,vision,1,2,3,1")
    assert [e.data.job for e in events_of(found)] == ["row-1", "row-2"]


STATES = BASE + 'state = "st"\n[states]\nok = "succeeded"\nrun = "running"\nwait = "pending"\n'


@pytest.mark.parametrize(
    ("row", "named", "ended", "outcome"),
    [
        ("1,e,t,1,2,3,1,ok", "first_statement", True, "succeeded"),
        ("1,e,t,1,2,,1,run", "first_statement", False, None),
        ("1,e,t,1,2,900,1,run", "first_statement", False, None),
        ("1,e,t,1,2,800,1,run", "first_statement", True, None),
        ("1,e,t,1,,,1,wait", "never_started", False, None),
        ("1,e,t,1,,5,1,wait", "never_started", True, "cancelled"),
        ("1,e,t,1,2,,1,ok", "unreadable:ended_without_end", None, None),
        ("1,e,t,1,2,3,1,lost", "unreadable:unknown_state", None, None),
        ("1,e,t,1,2,3,0,ok", "job_without_gpus", None, None),
    ],
)
def test_states_and_missing_ends(row, named, ended, outcome):
    """The file's last instant is 900: what runs then was cut off, not ended."""
    found, _ = of(STATES, row, "2,e,t,1,2,900,1,ok", head=HEAD + ",st")
    assert name_of(found) == named
    if ended is None:
        return
    last = found.events[-1].data
    if named == "first_statement":
        assert ((last.ended_at is not None), last.outcome) == (ended, outcome)
        assert ended or epoch_s(found.events[0].time) == 900
    else:
        assert len(found.events) == 1 + ended
        assert not ended or last.outcome == outcome


def test_missing_ends_may_be_declared_to_run():
    text = 'missing_end = "running"\n' + BASE
    assert run_of(text, "7,eve,vision,1,2,,1").ended_at is None
    (refused,) = of(BASE, "7,eve,vision,1,2,,1")
    assert "missing_end" in refused.sentence


@pytest.mark.parametrize(
    ("row", "reason", "says"),
    [
        ("7,eve,vision,1,2,3", "too_few_fields", "6 cells"),
        ("7,eve,vision,1,2,3,1,9", "too_many_fields", "8 cells"),
        ("7,eve,vision,1,2,x,1", "number_not_understood", "e is 'x'"),
        ("7,eve,vision,1,2,nan,1", "number_not_understood", "e is 'nan'"),
        ("7,eve,vision,1,2,3,many", "number_not_understood", "n is 'many'"),
        ("7,eve,vision,1,2,3,0.0001", "gpu_count_not_understood", "milli-GPUs"),
        ("7,eve,vision,1,2,3,-1", "gpu_count_not_understood", "milli-GPUs"),
        ("7,eve,vision,1,9,3,1", "end_before_start", "6 s before"),
        ("7,eve,vision,,,3,1", "no_submit_time", "neither"),
        ('7,"eve"x,vision,1,2,3,1', "not_csv", "CSV"),
        (f"7,{'u' * 300},vision,1,2,3,1", "values_not_accepted", "user"),
    ],
)
def test_a_bad_row_is_named_and_kept(row, reason, says):
    before, bad, after = of(BASE, "1,e,t,1,2,3,1", row, "2,e,t,1,2,3,1")
    assert isinstance(bad, Unreadable)
    assert bad.reason == reason
    assert says in bad.sentence
    assert (bad.raw, bad.place.line) == (row.encode(), 3)
    assert [name_of(before), name_of(after)] == ["first_statement", "first_statement"]


def test_a_time_that_is_none_names_its_column():
    (bad,) = of(BASE.replace('"epoch"', '"iso"'), "7,eve,vision,,noon,3,1")
    assert (bad.reason, "s is 'noon'" in bad.sentence) == ("time_not_understood", True)


def test_a_file_without_the_columns_says_which_and_what_it_has():
    found = list(read("csv", b"id,who\n1,eve\n", mapping(BASE)))
    assert [name_of(r) for r in found] == ["unreadable:columns_missing"] * 2
    assert "no column e, n, q, s, team; it has id, who" in found[0].sentence


def test_quoted_line_breaks_continue_a_row_and_an_open_quote_is_contained():
    data = (HEAD + '\n1,"e\nve",t,1,2,3,1\n\n2,"bob,t,1,2,3,1\n3,eve,t,1,2,3,1\n').encode()
    found = list(read("csv", data, mapping(BASE)))
    assert [name_of(r) for r in found] == [
        "header",
        "first_statement",
        "continuation",
        "blank",
        "unreadable:quote_not_closed",
        "first_statement",
    ]
    assert found[4].raw == b'2,"bob,t,1,2,3,1'


def test_a_mark_at_the_head_and_bytes_that_are_not_utf8_do_no_harm():
    data = b"\xef\xbb\xbf" + HEAD.encode() + b"\n7,eve,caf\xe9,1,2,3,1\r\n"
    (run,) = events_of(read("csv", data, mapping(BASE)))
    assert run.data.account == "caf\\xe9"


def test_rules_map_groups_to_budgets_and_contracts():
    text = BASE + '[[rules]]\naccount = "v*"\nbudget = "lab/{account}/{user}"\nmin_runtime = "1h"\n'
    data = run_of(text, "7,eve,vision,1,2,3,1")
    assert (data.account, data.min_runtime_s) == ("lab/vision/eve", 3_600)


NODES = """
cluster = "c"
rows = "nodes"
opens_at = 2026-01-01T00:00:00Z
[columns]
node = "sn"
gpus = "gpu"
gpu_type = "model"
"""


def test_a_node_list_states_nodes():
    found = list(read("csv", b"sn,gpu,model\na,2,P100\nb,0,\nc,8,\nd,x,\n", mapping(NODES)))
    assert [name_of(r) for r in found] == [
        "header",
        "node",
        "node_without_gpus",
        "node",
        "unreadable:number_not_understood",
    ]
    assert [(e.data.node, e.data.gpu_type, e.data.gpus_milli) for e in events_of(found)] == [
        ("a", "P100", 2_000),
        ("c", "gpu", 8_000),
    ]


def test_a_node_list_needs_an_instant():
    undated = NODES.replace("opens_at = 2026-01-01T00:00:00Z", "")
    found = list(read("csv", b"sn,gpu,model\na,2,P100\n", mapping(undated)))
    assert name_of(found[1]) == "unreadable:no_instant"
