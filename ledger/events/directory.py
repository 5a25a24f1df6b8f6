"""`tenure.directory`: who is behind an account and what was asked for. Joined when shown, never in the fold."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ledger.events.decisions import SharePercent
from ledger.events.envelope import AccountPath, Data, Envelope, GpuType, Name, Note


class AccountData(Data):
    """How an account is shown and whom to tell."""

    account: AccountPath
    title: str = ""
    leads: tuple[Name, ...] = ()
    webhooks: tuple[str, ...] = ()
    labels: dict[str, str] = Field(default_factory=dict)


class AccountOpened(Envelope):
    """`tenure.account.opened.v1`."""

    type: Literal["tenure.account.opened.v1"] = "tenure.account.opened.v1"
    data: AccountData


class AccountChanged(Envelope):
    """`tenure.account.changed.v1`: the whole statement again."""

    type: Literal["tenure.account.changed.v1"] = "tenure.account.changed.v1"
    data: AccountData


class AccountClosedData(Data):
    """The account takes no further requests."""

    account: AccountPath


class AccountClosed(Envelope):
    """`tenure.account.closed.v1`."""

    type: Literal["tenure.account.closed.v1"] = "tenure.account.closed.v1"
    data: AccountClosedData


class ShareRequestedData(Data):
    """A lead asks for another share; `share.decided` answers under the same `request`."""

    request: Name
    cluster: Name
    gpu_type: GpuType | None = None
    account: AccountPath
    share_percent: SharePercent
    author: Name
    reason: Note = ""


class ShareRequested(Envelope):
    """`tenure.share.requested.v1`."""

    type: Literal["tenure.share.requested.v1"] = "tenure.share.requested.v1"
    data: ShareRequestedData
