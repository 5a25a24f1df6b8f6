"""What is said of nodes, and of the GPUs on them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, model_validator

from ledger.events.envelope import AttemptToken, ClusterData, Data, Envelope, GpuType, Milli, Name, Note

NodeState = Literal["available", "draining", "planned_down", "down"]


class NodeObservedData(ClusterData):
    """A full statement of one node as seen at `time`, in force until the next statement.

    `booted_at` is since when the node is up, if the source tells. `assumed` says that nobody saw it then: an import
    took it for granted, and why is in `reason`.
    """

    node: Name
    gpu_type: GpuType
    gpus_milli: Milli
    state: NodeState
    reason: Note = ""
    booted_at: AwareDatetime | None = None
    assumed: bool = False


class NodeObserved(Envelope):
    """`tenure.node.observed.v1`."""

    type: Literal["tenure.node.observed.v1"] = "tenure.node.observed.v1"
    data: NodeObservedData


class NodeRemovedData(ClusterData):
    """The node is no longer part of the cluster from `time` on."""

    node: Name


class NodeRemoved(Envelope):
    """`tenure.node.removed.v1`."""

    type: Literal["tenure.node.removed.v1"] = "tenure.node.removed.v1"
    data: NodeRemovedData


class GpuSample(Data):
    """One GPU over the interval: utilization and SM activity in percent, memory in MiB, power in watts."""

    index: Annotated[int, Field(ge=0, le=1_023)]
    uuid: str = ""
    utilization_pct: Annotated[float, Field(ge=0, le=100)]
    sm_active_pct: Annotated[float, Field(ge=0, le=100)] | None = None
    memory_used_mib: Annotated[float, Field(ge=0)] | None = None
    power_w: Annotated[float, Field(ge=0)] | None = None
    xid: int | None = None


class GpuSampledData(ClusterData):
    """Samples of one node's GPUs over [since, until); goes to `tenure.samples`, never into the cluster fold."""

    node: Name
    since: AwareDatetime
    until: AwareDatetime
    gpus: tuple[GpuSample, ...]

    @model_validator(mode="after")
    def _forward(self) -> GpuSampledData:
        if self.until <= self.since:
            msg = "a sample's interval must end after it starts: swap `since` and `until`"
            raise ValueError(msg)
        return self


class GpuSampled(Envelope):
    """`tenure.gpu.sampled.v1`."""

    type: Literal["tenure.gpu.sampled.v1"] = "tenure.gpu.sampled.v1"
    data: GpuSampledData


class GpuIdleObservedData(ClusterData):
    """All samples of the run's GPUs have been zero since `since`."""

    job: Name
    attempt: AttemptToken
    since: AwareDatetime


class GpuIdleObserved(Envelope):
    """`tenure.gpu.idle_observed.v1`."""

    type: Literal["tenure.gpu.idle_observed.v1"] = "tenure.gpu.idle_observed.v1"
    data: GpuIdleObservedData
