"""docker-compose.yml, Dockerfile and the example environment, held to their promises where no Docker can run them."""

import re
import tomllib
from typing import Any

import pytest
import yaml

from deploy.kafka.node import kafka_version
from tenure.config import KafkaConfig, broker_addresses, read_settings, server_address
from tests.support.chdb import ROOT, shared_store

COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
VARIABLE = re.compile(r"\$\{(\w+)(?::?[-?]([^}]*))?\}")

each_service = pytest.mark.parametrize("name", SERVICES)


def one_shot(name: str) -> bool:
    """Whether others wait for its end: then there is nothing to be healthy."""
    return any(
        waits.get(name) == {"condition": "service_completed_successfully"}
        for waits in (service.get("depends_on", {}) for service in SERVICES.values())
    )


@each_service
def test_every_service_that_runs_on_says_whether_it_is_healthy(name: str) -> None:
    check = SERVICES[name]["healthcheck"]
    assert check == {"disable": True} if one_shot(name) else {"test", "interval", "timeout", "retries"} <= check.keys()


@each_service
def test_nobody_is_root(name: str) -> None:
    assert SERVICES[name]["user"].partition(":")[0] not in {"", "0", "root"}
    assert "no-new-privileges:true" in SERVICES[name]["security_opt"]
    assert "privileged" not in SERVICES[name]


@each_service
def test_passwords_come_from_the_environment_and_have_no_default(name: str) -> None:
    for variable, value in SERVICES[name]["environment"].items():
        if re.search(r"PASSWORD|SECRET|TOKEN|KEY", variable):
            assert re.fullmatch(rf"\$\{{{variable}:\?Set {variable} in \.env; [^}}]+\}}", str(value)), variable


def test_an_address_holds_no_password() -> None:
    address = SERVICES["worker"]["environment"]["TENURE_CLICKHOUSE"]
    assert server_address(address) == address, "Tenure itself refuses an address with a password"
    assert "clickhouse:8123" in address


@each_service
def test_ports_are_on_loopback(name: str) -> None:
    assert all(port.startswith("127.0.0.1:") for port in SERVICES[name].get("ports", []))


@each_service
def test_data_is_in_named_volumes_and_folders_of_the_repository_are_read_only(name: str) -> None:
    for source, target, *mode in (volume.split(":") for volume in SERVICES[name].get("volumes", [])):
        if source.startswith("./"):
            assert mode == ["ro"], f"{source} at {target}"
            assert (ROOT / source).is_file()
        else:
            assert source in COMPOSE["volumes"]


def test_every_volume_is_used() -> None:
    used = {volume.partition(":")[0] for service in SERVICES.values() for volume in service.get("volumes", [])}
    assert COMPOSE["volumes"].keys() <= used


@each_service
def test_who_waits_waits_for_a_service_that_says_when_it_is_there(name: str) -> None:
    for other, how in SERVICES[name].get("depends_on", {}).items():
        expected = "service_completed_successfully" if one_shot(other) else "service_healthy"
        assert how == {"condition": expected}


def test_the_kafka_is_the_one_the_tests_run() -> None:
    assert SERVICES["kafka"]["image"] == f"apache/kafka:{kafka_version()}"


def test_the_clickhouse_is_of_the_line_that_the_tests_run_inside_the_process() -> None:
    image, _, tag = SERVICES["clickhouse"]["image"].partition(":")
    ((engine,),) = shared_store().query("SELECT version()").rows
    assert image == "clickhouse/clickhouse-server"
    assert str(engine).startswith(f"{tag}."), f"chDB is {engine}: give the image the tag of its line"


def test_kafka_listens_where_the_workers_and_this_machine_look_for_it() -> None:
    said = SERVICES["kafka"]["environment"]
    listeners, advertised = (
        dict(part.split("://") for part in said[f"KAFKA_{which}LISTENERS"].split(",")) for which in ("", "ADVERTISED_")
    )
    assert broker_addresses(SERVICES["worker"]["environment"]["TENURE_KAFKA"]) == advertised["PLAINTEXT"]
    assert advertised["PLAINTEXT"].endswith(listeners["PLAINTEXT"])
    (port,) = SERVICES["kafka"]["ports"]
    assert port == f"127.0.0.1:{advertised['PLAINTEXT_HOST'].partition(':')[2]}{listeners['PLAINTEXT_HOST']}"
    voters = said["KAFKA_CONTROLLER_QUORUM_VOTERS"]
    assert voters == f"{said['KAFKA_NODE_ID']}@{SERVICES['kafka']['hostname']}{listeners['CONTROLLER']}"
    assert set(said["KAFKA_LISTENER_SECURITY_PROTOCOL_MAP"].split(",")) == {f"{name}:PLAINTEXT" for name in listeners}


def test_one_broker_asks_for_one_copy() -> None:
    node = dict(
        line.split("=", 1)
        for line in (ROOT / "deploy" / "kafka" / "server.properties").read_text().splitlines()
        if "=" in line and not line.startswith("#")
    )
    copies = {name: value for name, value in node.items() if re.search(r"replicas|replication\.factor|min\.isr", name)}
    said = SERVICES["kafka"]["environment"]
    assert len(copies) == 7
    assert {name: str(said[f"KAFKA_{name.replace('.', '_').upper()}"]) for name in copies} == copies
    assert said["KAFKA_AUTO_CREATE_TOPICS_ENABLE"] == "false"


def test_the_worker_serves_the_page_its_health_check_asks_for() -> None:
    kafka: KafkaConfig = read_settings(ROOT / "deploy" / "compose" / "tenure.toml").kafka
    assert kafka.replication == 1
    assert f"http://127.0.0.1:{kafka.health_port}/healthz" in SERVICES["worker"]["healthcheck"]["test"][-1]


def test_the_example_names_every_variable_and_fills_in_no_secret() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    wanted = dict(VARIABLE.findall(text))
    example = dict(
        line.lstrip("#").split("=", 1)
        for line in (ROOT / "deploy" / "compose" / "env.example").read_text().splitlines()
        if re.match(r"#?[A-Z_]+=", line)
    )
    assert example.keys() == wanted.keys()
    assert {name for name, value in example.items() if not value} == {n for n in wanted if n.endswith("PASSWORD")}
    assert all(example[name] == wanted[name] for name in example if example[name])


def test_git_and_docker_leave_the_passwords_out() -> None:
    assert ".env" in (ROOT / ".gitignore").read_text().splitlines()
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert "*" in ignored
    assert not any(line.startswith("!.") for line in ignored)


class Stage:
    """A stage of the Dockerfile: what it copies from the repository, and as whom it runs."""

    def __init__(self, text: str) -> None:
        words = [line.split() for line in text.replace("\\\n", " ").splitlines()]
        orders = [(kind, rest) for kind, *rest in filter(None, words)]
        copies = [rest for kind, rest in orders if kind == "COPY" and "--from" not in rest[0]]
        self.copied = [source for *sources, _ in copies for source in sources]
        self.users = [rest[0] for kind, rest in orders if kind == "USER"]
        self.image = text.split(maxsplit=1)[0]


def stages() -> list[Stage]:
    return [Stage(part) for part in re.split(r"^FROM ", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)[1:]]


def test_the_image_runs_as_the_user_the_compose_file_names() -> None:
    build, final = stages()
    assert final.users == [SERVICES["worker"]["user"]] == ["10001:10001"]
    assert final.copied == [], "what is built comes from the first stage"
    assert build.image == final.image, "the environment's python is a path in the image"


def test_docker_is_given_just_what_the_image_is_built_from() -> None:
    given = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert set(stages()[0].copied) == given
    assert {*project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]} <= given
    assert {*project["project"]["license-files"]} <= given
    assert all((ROOT / name).exists() for name in given)


def test_the_lock_holds_the_tool_the_image_is_built_with() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    assert re.search(r"^uv==\S+ \\\n(    --hash=sha256:\w+( \\)?\n)+    # via", lock, re.MULTILINE)


def test_the_images_python_is_one_we_support() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    supported = {line.rpartition(" ")[2] for line in project["classifiers"] if ":: Python :: 3." in line}
    version = re.match(r"python:(3\.\d+)-slim", stages()[1].image)
    assert version
    assert version[1] in supported


def test_the_page_about_it_names_every_service() -> None:
    page = (ROOT / "deploy" / "compose" / "README.md").read_text()
    assert [name for name in SERVICES if f"| `{name}` |" not in page] == []
