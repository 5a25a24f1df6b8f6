"""Which of several says where the book and the configuration are."""

import logging
from pathlib import Path

import pytest

from streams.kafka import StreamError
from streams.sources.config import ConfigError
from tenure import wiring
from tenure.config import KafkaConfig, Settings


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """A home without anything of Tenure's, and an environment without its variables."""
    ours = ("TENURE_DATA", "TENURE_CONFIG", "TENURE_CLICKHOUSE", "TENURE_CLICKHOUSE_CLUSTER", "TENURE_KAFKA")
    for name in (*ours, "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return monkeypatch


def test_the_data_folder_is_the_first_that_is_said(bare: pytest.MonkeyPatch, tmp_path: Path):
    configured = Settings(data=Path("/configured"))
    assert wiring.place(None, Settings()).folder == tmp_path / ".local/share/tenure"
    bare.setenv("XDG_DATA_HOME", "/xdg")
    assert wiring.place(None, Settings()).folder == Path("/xdg/tenure")
    assert wiring.place(None, configured).folder == Path("/configured")
    bare.setenv("TENURE_DATA", "/environment")
    assert wiring.place(None, configured).folder == Path("/environment")
    assert wiring.place(Path("~/given"), configured).folder == tmp_path / "given"


def test_a_demo_has_a_folder_of_its_own_unless_one_is_said(bare: pytest.MonkeyPatch, tmp_path: Path):
    configured = Settings(data=Path("/configured"))
    assert wiring.demo_place(None, configured).folder == tmp_path / ".local/share/tenure/demo"
    assert wiring.demo_place(Path("/given"), configured).folder == Path("/given")
    bare.setenv("TENURE_DATA", "/environment")
    assert wiring.demo_place(None, configured).folder == Path("/environment")


def test_the_program_is_called_as_it_was_where_the_shell_does_not_find_it(bare: pytest.MonkeyPatch, tmp_path: Path):
    bare.setenv("PATH", str(tmp_path / "bin"))
    bare.setattr("sys.argv", [str(tmp_path / ".venv/bin/tenure")])
    assert wiring.program() == ".venv/bin/tenure"
    bare.setattr("sys.argv", [".venv/bin/tenure"])
    assert wiring.program() == ".venv/bin/tenure"
    bare.setattr("sys.argv", [str(tmp_path / "tenure/__main__.py")])
    assert wiring.program().endswith(" -m tenure")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/tenure").touch(mode=0o755)
    assert wiring.program() == "tenure"


def test_the_configuration_is_the_first_that_is_there(bare: pytest.MonkeyPatch, tmp_path: Path):
    assert wiring.load_settings(None) == Settings()
    home = tmp_path / ".config" / "tenure"
    home.mkdir(parents=True)
    for path, author in ((home / "tenure.toml", "home"), (tmp_path / "tenure.toml", "here"), (tmp_path / "e", "env")):
        path.write_text(f'author = "{author}"')
        if path.name == "e":
            bare.setenv("TENURE_CONFIG", str(path))
        assert wiring.load_settings(None).author == author
    assert wiring.load_settings(home / "tenure.toml").author == "home"


def test_a_configuration_that_was_named_must_be_there(bare: pytest.MonkeyPatch, tmp_path: Path):
    with pytest.raises(ConfigError, match="cannot be read"):
        wiring.load_settings(tmp_path / "absent.toml")


def test_a_server_is_said_by_the_environment_or_the_configuration(bare: pytest.MonkeyPatch):
    configured = Settings(clickhouse="https://a.example.org")
    assert wiring.place(None, configured).server == "https://a.example.org"
    bare.setenv("TENURE_CLICKHOUSE", "http://b.example.org")
    assert str(wiring.place(None, configured)) == "http://b.example.org"


def test_a_cluster_is_said_by_the_environment_or_the_configuration(bare: pytest.MonkeyPatch):
    configured = Settings(clickhouse="https://a.example.org", clickhouse_cluster="lab")
    assert wiring.place(None, Settings()).cluster is None
    assert wiring.place(None, configured).cluster == "lab"
    bare.setenv("TENURE_CLICKHOUSE_CLUSTER", "other")
    assert wiring.place(None, configured).cluster == "other"
    bare.setenv("TENURE_CLICKHOUSE_CLUSTER", "it's")
    with pytest.raises(ConfigError, match="TENURE_CLICKHOUSE_CLUSTER: write the name"):
        wiring.place(None, configured)


def test_kafka_is_said_by_the_environment_or_the_configuration(bare: pytest.MonkeyPatch):
    configured = Settings(kafka=KafkaConfig(address="a:9092"))
    assert wiring.brokers(Settings()) is None
    assert wiring.brokers(configured) == "a:9092"
    bare.setenv("TENURE_KAFKA", "b:9092,c:9092")
    assert wiring.brokers(configured) == "b:9092,c:9092"


def test_a_page_that_nobody_serves_is_a_sentence():
    with pytest.raises(StreamError, match=r"nobody answers at http://127.0.0.1:1/healthz \(.*refused"):
        wiring.fetch("http://127.0.0.1:1/healthz", 5)
    with pytest.raises(StreamError, match="nobody answers at nowhere"):
        wiring.fetch("nowhere", 5)


def test_a_log_tells_what_is_ours_and_what_went_wrong(capsys: pytest.CaptureFixture[str]):
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        wiring.log_to_stderr()
        for name in ("streams.runtime.worker", "enforcer.service", "aiokafka.client", "faust.app", "mode.services"):
            log = logging.getLogger(name)
            log.info("%s informs", name)
            log.error("%s fails", name)
        logging.getLogger("streams.runtime.worker").error("[^-Checkpointed]: Crashed")
    finally:
        root.handlers[:], root.level = handlers, level
    told = [line.split(" ", 1) for line in capsys.readouterr().err.splitlines()]
    assert [line for _, line in told] == [
        "INFO     streams.runtime.worker informs",
        "ERROR    streams.runtime.worker fails",
        "INFO     enforcer.service informs",
        "ERROR    enforcer.service fails",
        "ERROR    aiokafka.client fails",
    ]
    assert all(at.endswith("Z") for at, _ in told)


def test_the_clock_is_aware_and_ids_are_new():
    assert wiring.clock().tzinfo is not None
    assert wiring.new_id() != wiring.new_id()


def test_examples_name_a_folder_only_where_they_must(bare: pytest.MonkeyPatch):
    assert wiring.is_default(wiring.place(None, Settings()))
    assert not wiring.is_default(wiring.place(Path("/elsewhere"), Settings()))
