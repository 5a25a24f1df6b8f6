"""The tables `[actuators.CLUSTER]`, and the actuator each makes."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from enforcer.actuators.beaker import Beaker
from enforcer.actuators.kubernetes import Pods, Workloads
from enforcer.actuators.observe import Observe
from enforcer.actuators.slurm import Slurm
from enforcer.actuators.webhook import Webhook
from enforcer.orders import UNREACHABLE, Order
from streams.sources.config import ConfigError
from tenure.actuators import actuator, publishing
from tenure.config import settings

ORDER = Order("alpha", "gpu/1/77", "12", "100", "cancel", 60, ("gn1",), "why")


def made(table: str, **env: str) -> object:
    config = settings(f"[actuators.alpha]\n{table}\n", "tenure.toml").actuators["alpha"]
    return actuator(config, env, time.time)


def test_each_kind_makes_its_actuator(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("whsec_c2VjcmV0LW9mLXRoZS1sYWI=\n")
    assert isinstance(made('kind = "observe"'), Observe)
    assert isinstance(made('kind = "slurm"\nconf = "/etc/slurm/slurm.conf"\nsignal = "USR1"'), Slurm)
    assert isinstance(made(f'kind = "webhook"\nurl = "https://h.example.org/x"\nsecret_file = "{secret}"'), Webhook)
    api = f'kind = "kubernetes"\naddress = "https://k.example.org:6443"\ntoken_file = "{secret}"\n'
    assert isinstance(made(api + 'objects = "pods"'), Pods)
    assert isinstance(made(api + 'objects = "workloads"'), Workloads)
    assert isinstance(made(f'kind = "beaker"\ntoken_file = "{secret}"'), Beaker)
    rest = made(f'kind = "slurmrestd"\naddress = "unix:{tmp_path}/socket"\nuser = "tenure"\ntoken_file = "{secret}"')
    assert isinstance(rest, Slurm)
    assert rest.preempt(ORDER).name == UNREACHABLE


def test_slurm_is_found_by_the_environment() -> None:
    slurm = made('kind = "slurm"', PATH="/nonexistent")
    assert isinstance(slurm, Slurm)
    assert "on the PATH" in slurm.preempt(ORDER).sentence


def test_the_order_is_published_only_where_something_is_said_of_it() -> None:
    def wanted(table: str) -> bool | None:
        found = publishing(settings(f"[actuators.alpha]\n{table}\n", "tenure.toml").actuators["alpha"], {})
        return None if found is None else found.wanted

    assert wanted('kind = "slurm"') is None
    assert wanted('kind = "slurm"\npublish_order = true') is True
    assert wanted('kind = "slurm"\npublish_order = false') is False
    assert wanted('kind = "observe"') is None


def test_without_a_table_there_is_none() -> None:
    assert settings("", "tenure.toml").actuators == {}


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ('kind = "pbs"', "kind"),
        ('kind = "slurm"\nsignal = "15; rm"', "signal"),
        ('kind = "webhook"\nurl = "ftp://x"\nsecret_file = "s"', "url"),
        ('kind = "kubernetes"\naddress = "https://k"', "objects"),
        ('kind = "slurmrestd"\naddress = "k:1"', "address"),
        ('kind = "beaker"\naddress = "http://b.example.org:80"', "address"),
        ('kind = "beaker"\naddress = "https://"', "address"),
        ('kind = "slurmrestd"\naddress = "http://k:1"\npublish_order = true', "publish_order"),
    ],
)
def test_a_wrong_table_is_named(table: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        made(table)


def test_a_secret_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    hook = f'kind = "webhook"\nurl = "https://h.example.org"\nsecret_file = "{tmp_path}/s"'
    with pytest.raises(ConfigError, match="cannot be read"):
        made(hook)
    for text in ("whsec_a", "whsec_", ""):
        (tmp_path / "s").write_text(text)
        with pytest.raises(ConfigError, match="holds no secret"):
            made(hook)
    with pytest.raises(ConfigError, match="no certificate"):
        made(f'kind = "kubernetes"\naddress = "https://k"\nobjects = "pods"\nca_file = "{tmp_path}/s"')
    with pytest.raises(ConfigError, match="no certificate"):
        made(f'kind = "beaker"\nca_file = "{tmp_path}/s"', BEAKER_TOKEN="t")


def test_beakers_token_is_in_a_file_or_in_the_environment(tmp_path: Path) -> None:
    assert isinstance(made('kind = "beaker"', BEAKER_TOKEN="t"), Beaker)
    with pytest.raises(ConfigError, match=r"\$BEAKER_TOKEN holds no token"):
        made('kind = "beaker"')
    file = tmp_path / "token"
    for text in ("", "one\ntwo", "clé"):
        file.write_text(text, "utf-8")
        with pytest.raises(ConfigError, match="token holds no token"):
            made(f'kind = "beaker"\ntoken_file = "{file}"', BEAKER_TOKEN="t")


def test_without_beakers_stubs_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "enforcer.actuators.beaker")
    monkeypatch.setitem(sys.modules, "beaker", None)
    with pytest.raises(ConfigError, match=r'pip install "tenure\[beaker\]"'):
        made('kind = "beaker"', BEAKER_TOKEN="t")
