"""Node lists: every spelling expands to the names Slurm means, and a broken list says what is wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.sources.slurm.nodelist import ListWrong, expand


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("gn1", ("gn1",)),
        ("gn[1-4,7]", ("gn1", "gn2", "gn3", "gn4", "gn7")),
        ("gn[08-11]", ("gn08", "gn09", "gn10", "gn11")),
        ("d13n[03,05,07-08,16]", ("d13n03", "d13n05", "d13n07", "d13n08", "d13n16")),
        ("r[1-2]n[1-2]", ("r1n1", "r1n2", "r2n1", "r2n2")),
        ("r[1-2]-n[01-02]x", ("r1-n01x", "r1-n02x", "r2-n01x", "r2-n02x")),
        ("login,gn[1-2],big1", ("login", "gn1", "gn2", "big1")),
        ("a[1,3],b[2-3]", ("a1", "a3", "b2", "b3")),
        ("", ()),
        ("None assigned", ()),
        ("(null)", ()),
    ],
)
def test_a_list_names_its_nodes(text, names):
    assert expand(text) == names


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("gn[1-4", "cut short"),
        ("gn1-4]", "cut short"),
        ("gn[a-b]", "'a-b'"),
        ("gn[4-1]", "backwards"),
        ("gn[1-200000]", "too long"),
        ("gn[1-]", "'1-'"),
        ("gn[]", "''"),
    ],
)
def test_a_broken_list_says_what_is_wrong(text, says):
    with pytest.raises(ListWrong, match=says.replace("[", r"\[")):
        expand(text)


@given(
    st.text("abcdefgh", min_size=1, max_size=5),
    st.integers(0, 500),
    st.integers(0, 30),
    st.integers(1, 5),
)
def test_a_range_holds_each_number_once_in_order(prefix, first, more, width):
    names = expand(f"{prefix}[{first:0{width}}-{first + more:0{width}}]")
    assert [int(name.removeprefix(prefix)) for name in names] == list(range(first, first + more + 1))
    assert all(len(name) - len(prefix) >= width for name in names)
