"""Which actuator tells which cluster: the tables `[actuators.CLUSTER]` of the configuration, and what they make.

Secrets are in files of their own, which have to be readable by Tenure alone.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Literal, assert_never

from pydantic import Field
from standardwebhooks.webhooks import EmptyWebhookSecretError

from enforcer.actuators.http import Http
from enforcer.actuators.kubernetes import Pods, Workloads
from enforcer.actuators.observe import Observe
from enforcer.actuators.slurm import Slurm
from enforcer.actuators.slurm_cli import Commands
from enforcer.actuators.slurm_queue import Publishing
from enforcer.actuators.slurm_rest import Rest
from enforcer.actuators.webhook import Webhook
from enforcer.orders import Actuator
from streams.sources.config import Config, ConfigError

Timeout = Annotated[float, Field(gt=0, le=600)]
Signal = Annotated[str, Field(pattern="^[A-Z][A-Z0-9]+$")]
Address = Annotated[str, Field(pattern=r"^(https?://[^/]+|unix:/.+)$")]
Grpc = Annotated[str, Field(pattern=r"^(https://[^/]+|http://(127\.0\.0\.1|localhost|\[::1\]):\d+)$")]
Url = Annotated[str, Field(pattern=r"^https?://")]


class ObserveConfig(Config):
    """`kind = "observe"`: touches nothing."""

    kind: Literal["observe"] = "observe"


class SlurmConfig(Config):
    """`kind = "slurm"`: Slurm's commands. `conf` is slurm.conf where it is elsewhere; `signal` warns a job.

    `publish_order` gives waiting jobs priorities in the order of our queue; false takes back what was given.
    """

    kind: Literal["slurm"]
    conf: Path | None = None
    signal: Signal = "TERM"
    timeout_s: Timeout = 30.0
    publish_order: bool | None = None


class SlurmrestdConfig(Config):
    """`kind = "slurmrestd"`: its address; `user` and `token_file` where it asks for a token."""

    kind: Literal["slurmrestd"]
    address: Address
    version: Annotated[str, Field(pattern=r"^v\d+\.\d+\.\d+$")] = "v0.0.38"
    user: str | None = None
    token_file: Path | None = None
    signal: Signal = "TERM"
    timeout_s: Timeout = 30.0


class WebhookConfig(Config):
    """`kind = "webhook"`: where it is sent, and the file with the secret, `whsec_…`."""

    kind: Literal["webhook"]
    url: Url
    secret_file: Path
    timeout_s: Timeout = 30.0


class KubernetesConfig(Config):
    """`kind = "kubernetes"`: the API server, its certificate authority, a service account's token; `objects` yield."""

    kind: Literal["kubernetes"]
    address: Address
    objects: Literal["pods", "workloads"]
    token_file: Path | None = None
    ca_file: Path | None = None
    timeout_s: Timeout = 30.0


class BeakerConfig(Config):
    """`kind = "beaker"`: its gRPC, with TLS but on loopback; a user's token, else $BEAKER_TOKEN.

    `ca_file` is for an authority that gRPC does not know.
    """

    kind: Literal["beaker"]
    address: Grpc = "https://beaker.org:443"
    token_file: Path | None = None
    ca_file: Path | None = None
    timeout_s: Timeout = 30.0


ActuatorConfig = Annotated[
    ObserveConfig | SlurmConfig | SlurmrestdConfig | WebhookConfig | KubernetesConfig | BeakerConfig,
    Field(discriminator="kind"),
]


def actuator(config: ActuatorConfig, env: Mapping[str, str], now_s: Callable[[], float]) -> Actuator:
    """The actuator that a table asks for; raises ConfigError where a file it names cannot be read."""
    match config:
        case ObserveConfig():
            return Observe()
        case SlurmConfig():
            commands = _commands(config, env)
            return Slurm(commands, commands)
        case SlurmrestdConfig():
            headers = {} if config.user is None else {"X-SLURM-USER-NAME": config.user}
            if config.token_file is not None:
                headers["X-SLURM-USER-TOKEN"] = _secret(config.token_file)
            http = Http(config.address, headers, timeout_s=config.timeout_s)
            return Slurm(Rest(http, version=config.version, signal=config.signal))
        case WebhookConfig():
            return _webhook(config, now_s)
        case KubernetesConfig():
            return _kubernetes(config)
        case BeakerConfig():
            return _beaker(config, env)
        case _ as never:
            assert_never(never)


def publishing(config: ActuatorConfig, env: Mapping[str, str]) -> Publishing | None:
    """What publishes our order of the queue there; None where nothing is said of it."""
    if not isinstance(config, SlurmConfig) or config.publish_order is None:
        return None
    return Publishing(_commands(config, env), config.publish_order)


def _commands(config: SlurmConfig, env: Mapping[str, str]) -> Commands:
    conf = {} if config.conf is None else {"SLURM_CONF": str(config.conf)}
    return Commands({**env, **conf}, signal=config.signal, timeout_s=config.timeout_s)


def _webhook(config: WebhookConfig, now_s: Callable[[], float]) -> Webhook:
    try:
        return Webhook(config.url, _secret(config.secret_file), now_s, timeout_s=config.timeout_s)
    except (ValueError, EmptyWebhookSecretError) as wrong:
        raise ConfigError(f"{config.secret_file} holds no secret like whsec_…: {wrong}") from wrong


def _kubernetes(config: KubernetesConfig) -> Actuator:
    headers = {} if config.token_file is None else {"Authorization": f"Bearer {_secret(config.token_file)}"}
    tls = None if config.ca_file is None else _authority(config.ca_file)
    http = Http(config.address, headers, tls=tls, timeout_s=config.timeout_s)
    return Pods(http) if config.objects == "pods" else Workloads(http)


def _beaker(config: BeakerConfig, env: Mapping[str, str]) -> Actuator:
    try:
        from enforcer.actuators.beaker import Beaker, Rpc  # noqa: PLC0415 -- needs an extra
    except ImportError as wrong:
        raise ConfigError(f'Beaker is told through its stubs: pip install "tenure[beaker]" ({wrong})') from wrong
    token = env.get("BEAKER_TOKEN", "") if config.token_file is None else _secret(config.token_file)
    if not (token and token.isascii() and token.isprintable()):
        source = "$BEAKER_TOKEN" if config.token_file is None else config.token_file
        raise ConfigError(f"{source} holds no token for Beaker; token_file may name the file that does")
    roots = None
    if config.ca_file is not None:
        _authority(config.ca_file)
        roots = config.ca_file.read_bytes()
    return Beaker(Rpc(config.address, token, roots=roots, timeout_s=config.timeout_s))


def _authority(file: Path) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=str(file))
    except OSError as wrong:
        raise ConfigError(f"{file} is no certificate that can be read: {wrong}") from wrong


def _secret(file: Path) -> str:
    try:
        return file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as wrong:
        raise ConfigError(f"{file} cannot be read: name the file that holds the secret ({wrong})") from wrong
