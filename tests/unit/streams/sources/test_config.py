"""The configuration: errors name the key and what to write."""

import pytest

from streams.sources.config import ConfigError, SourceConfig, source_config
from streams.sources.files.mapping import SHIPPED, mapping, shipped


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "cluster: is missing; add it"),
        ("cluster = 'c'\ncolour = 'red'", "colour: there is no such key"),
        ("cluster = 'c'\ntimezone = 'Mars/Olympus'", "timezone: there is no time zone 'Mars/Olympus'"),
        ("cluster = 'c'\n[[rules]]\naccount = 'x'", "rules[0]: the rule gives nothing"),
        ("cluster = 'c'\n[[rules]]\nbudget = 'x'\nmin_runtime = 'soon'", "rules[0].min_runtime: 'soon' is not"),
        ("cluster = 'c'\n[[rules]]\nbudget = 'x'\nkind = 'big'", "rules[0].kind"),
        ("cluster = 'c'\nopens_at = 2026-01-01T00:00:00", "opens_at"),
        ("cluster = 'c'\n[[shares]]\nparent = 'lab'", "shares[0]: give either children"),
        (
            "cluster = 'c'\n[[shares]]\nparent = 'lab'\nchildren = {a = 60, b = 50}",
            "shares[0]: the children's shares sum to more than 100 percent",
        ),
        ("cluster = 'c'\n[[nodes]]\nnames = 'gn1'", "nodes[0].gpus: is missing"),
        ("cluster = ", "is not TOML"),
    ],
)
def test_a_wrong_key_is_named_with_what_to_write(text, says):
    with pytest.raises(ConfigError) as raised:
        source_config(text)
    assert says in str(raised.value)


def test_defaults_are_a_slurm_in_utc_with_pipes():
    config = source_config("cluster = 'c'")
    assert config == SourceConfig(cluster="c")
    assert (config.timezone, config.delimiter, config.source_name) == ("UTC", "|", "slurm/c")


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_mapping_is_whole(name):
    assert shipped(name).cluster


def test_a_mapping_that_is_not_shipped_is_named_with_those_that_are():
    with pytest.raises(ConfigError, match="mit_supercloud, philly, openb"):
        shipped("borg")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("cluster = 'c'\n[columns]\ngpus = 'g'", "name columns.start"),
        ("cluster = 'c'\n[columns]\ngpus = 'g'\nstart = 's'", "name columns.end or columns.duration"),
        ("cluster = 'c'\n[columns]\nstart = 's'\nend = 'e'", "name columns.gpus or columns.tres"),
        ("cluster = 'c'\n[columns]\nstart = 's'\nend = 'e'\ntres = 't'", "columns.tres needs gpu_tres"),
        ("cluster = 'c'\n[columns]\nstart = 's'\nend = 'e'\ngpus = 'g'\nstate = 'x'", "columns.state needs [states]"),
        ("cluster = 'c'\ntime = 'seconds'\n[columns]\nstart = 's'\nend = 'e'\ngpus = 'g'", "needs an origin"),
        ("cluster = 'c'\nrows = 'nodes'\n[columns]\ngpus = 'g'", "columns.node and columns.gpus"),
        ("cluster = 'c'\nvirtual_gpus = 3\n[columns]\nstart = 's'\nend = 'e'\ngpus = 'g'", "needs virtual_node"),
        ("cluster = 'c'\n[columns]\nstart = 's'\nend = 'e'\ngpus = 'g'\nstates = 'x'", "columns.states: there is no"),
        ("cluster = 'c'\n[states]\na = 'won'\n[columns]\nstart = 's'\nend = 'e'\ngpus = 'g'", "states.a"),
    ],
)  # fmt: skip
def test_a_mapping_with_gaps_says_what_to_add(text, says):
    with pytest.raises(ConfigError) as raised:
        mapping(text)
    assert says in str(raised.value)
