"""The configuration says which key is wrong and what to write."""

from pathlib import Path

import pytest

from streams.sources.config import ConfigError
from tenure.config import read_settings, server_address, settings


def test_an_empty_file_is_a_configuration():
    assert settings("", "tenure.toml").data is None


def test_a_slurm_source_is_called_by_its_table():
    found = settings('[slurm.hal]\ntimezone = "Europe/Oslo"\n[slurm.b]\ncluster = "c"\n', "tenure.toml")
    assert found.slurm["hal"].cluster == "hal"
    assert found.slurm["hal"].timezone == "Europe/Oslo"
    assert found.slurm["b"].cluster == "c"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("colour = 1", "colour: there is no such key"),
        ("data = [", "is not TOML"),
        ('[slurm.hal]\ntimezone = "Mars/Base"', "slurm.hal.timezone: there is no time zone 'Mars/Base'"),
        ("[files.x]\ncluster = 'x'", "files.x.columns: is missing"),
        ('clickhouse = "ch.example.org"', "clickhouse: write an address like https://"),
        ('clickhouse = "https://u:secret@ch.example.org"', "TENURE_CLICKHOUSE_PASSWORD"),
        ('clickhouse_cluster = "a b"', "clickhouse_cluster: write the name that `remote_servers`"),
        ("slurm = 3", "slurm:"),
    ],
)
def test_what_is_wrong_is_named(text: str, words: str):
    with pytest.raises(ConfigError, match="tenure") as caught:
        settings(text, "tenure.toml")
    assert words in str(caught.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"absent\.toml cannot be read \(No such file or directory\)"):
        read_settings(tmp_path / "absent.toml")
    bad = tmp_path / "latin.toml"
    bad.write_bytes(b'author = "J\xf8rgen"')
    with pytest.raises(ConfigError, match="is not UTF-8 at byte 11"):
        read_settings(bad)


def test_the_address_in_the_environment_is_checked_too():
    assert server_address("http://localhost:8123/tenure") == "http://localhost:8123/tenure"
    with pytest.raises(ConfigError, match="TENURE_CLICKHOUSE: write an address"):
        server_address("localhost")
