"""The configuration says which key is wrong and what to write."""

from pathlib import Path

import pytest

from streams.sources.config import ConfigError
from tenure.config import broker_addresses, read_settings, server_address, settings


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
        ('[kafka]\naddress = "kafka1"', "kafka.address: write the brokers as host:port"),
        ('[kafka]\naddress = "a:9092;b:9092"', "kafka.address: write the brokers as host:port"),
        ("[kafka]\nsave_every_s = 0", "kafka.save_every_s: Input should be greater than 0"),
        ("[kafka]\nhealth = 1", "kafka.health: there is no such key"),
    ],
)
def test_what_is_wrong_is_named(text: str, words: str):
    with pytest.raises(ConfigError, match="tenure") as caught:
        settings(text, "tenure.toml")
    assert words in str(caught.value)


def test_kafka_is_any_of_its_brokers():
    found = settings('[kafka]\naddress = "k1:9092, [::1]:9093"\ntick_s = 5\n', "tenure.toml").kafka
    assert (found.address, found.tick_s, found.group) == ("k1:9092,[::1]:9093", 5, "tenure")
    assert settings("", "tenure.toml").kafka.address is None
    assert broker_addresses("k1:9092") == "k1:9092"
    with pytest.raises(ConfigError, match="TENURE_KAFKA: write the brokers"):
        broker_addresses("http://k1:9092")


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
