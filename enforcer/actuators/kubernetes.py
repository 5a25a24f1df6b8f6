"""Kubernetes told by its API: workloads of Kueue, or single pods where there is no Kueue.

A job is `namespace/name`, an attempt the object's uid. Written from the documented API and tested against a fake of it.
Nodes are not held: a pod that waits cannot be given nodes that others may not use without changing it.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Final
from urllib.parse import quote

from enforcer.actuators.http import Http, NoReply, Reply
from enforcer.orders import ACCEPTED, GONE, LEFT, REFUSED, RUNNING, UNREACHABLE, Hold, Order, Outcome, nothing_held

WHY: Final = "tenure.dev/why"
PREEMPTED: Final = "tenure.dev/preempted"
"""On a workload that is to be queued again: the plan that deactivated it."""
REQUEUED: Final = "tenure.dev/requeued"
"""The plan for which it was queued again. A workload keeps its uid, so only this tells that the run is over."""

_MERGE: Final = {"Content-Type": "application/merge-patch+json"}
_NO_HOLD: Final = Outcome(REFUSED, "Kubernetes offers no hold of nodes for a pod that waits.")

_Found = dict[str, object]


class Workloads:
    """Kueue: `spec.active: false` evicts a workload, and keeps it out of the queue until it is true again.

    A run to be requeued is made active again by `left`, once it has left; who ends a plan early has to ask that, too.
    """

    def __init__(self, http: Http, *, version: str = "v1beta1") -> None:
        self._http = http
        self._base = f"/apis/kueue.x-k8s.io/{version}"

    def preempt(self, order: Order) -> Outcome:
        """Deactivate it; Kueue stops its pods, each with its own grace period."""
        found = self._look(order)
        if isinstance(found, Outcome):
            return found
        if _field(found, "spec", "active") is False:
            return Outcome(ACCEPTED, f"Workload {order.job} is deactivated already.")
        notes = {WHY: order.why} | ({PREEMPTED: order.plan} if order.how == "requeue" else {})
        change = {"metadata": {"uid": order.attempt, "annotations": notes}, "spec": {"active": False}}
        return _told(self._patch(order, change), f"Workload {order.job} is deactivated.")

    def left(self, order: Order) -> Outcome:
        """Kueue takes `Admitted` back once the pods are gone."""
        found = self._look(order)
        if isinstance(found, Outcome):
            return Outcome(LEFT, found.sentence) if found.name == GONE else found
        if _admitted(found):
            return Outcome(RUNNING, f"Workload {order.job} is admitted.")
        if _field(found, "metadata", "annotations", PREEMPTED) == order.plan:
            change = {
                "metadata": {"uid": order.attempt, "annotations": {PREEMPTED: None, REQUEUED: order.plan}},
                "spec": {"active": True},
            }
            told = _told(self._patch(order, change), "")
            if told.name != ACCEPTED:
                return Outcome(UNREACHABLE, f"Workload {order.job} has left and is not queued again: {told.sentence}")
        return Outcome(LEFT, f"Workload {order.job} is not admitted.")

    def kill(self, order: Order) -> Outcome:
        """Which pods are a workload's is known to its own controller only."""
        found = self._look(order)
        if isinstance(found, Outcome):
            return found
        sentence = f"Kueue ends the pods of {order.job} when their grace period is over, and cannot be made to hurry."
        return Outcome(REFUSED, sentence)

    def hold(self, hold: Hold) -> tuple[Outcome, str]:
        """Refused; Kueue reserves quota, not nodes."""
        return _NO_HOLD._replace(sentence=f"{_NO_HOLD.sentence} Job {hold.asker_job} waits for its turn."), ""

    def release(self, handle: str) -> Outcome:
        """Nothing was held."""
        return nothing_held(handle)

    def _look(self, order: Order) -> _Found | Outcome:
        found = _found(order, self._http.ask("GET", self._path(order.job)))
        if isinstance(found, dict) and any(_true(found, "Finished")):
            return Outcome(GONE, f"Workload {order.job} has finished.")
        if isinstance(found, dict) and _field(found, "metadata", "annotations", REQUEUED) == order.plan:
            return Outcome(GONE, f"Workload {order.job} has left and is queued again.")
        return found

    def _patch(self, order: Order, change: object) -> Reply | NoReply:
        return self._http.send("PATCH", self._path(order.job), change, _MERGE)

    def _path(self, job: str) -> str:
        namespace, _, name = job.rpartition("/")
        return f"{self._base}/namespaces/{quote(namespace or 'default')}/workloads/{quote(name)}"


class Pods:
    """Single pods by the eviction API, which keeps to disruption budgets; whoever owns a pod makes another of it."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def preempt(self, order: Order) -> Outcome:
        """Evict it, with the order's grace in place of its own."""
        found = self._look(order)
        if isinstance(found, Outcome):
            return found
        if _field(found, "metadata", "deletionTimestamp"):
            return Outcome(ACCEPTED, f"Pod {order.job} is ending already.")
        namespace, _, name = order.job.rpartition("/")
        self._http.send("PATCH", self._path(order.job), {"metadata": {"annotations": {WHY: order.why}}}, _MERGE)
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace or "default"},
            "deleteOptions": {"gracePeriodSeconds": order.grace_s, "preconditions": {"uid": order.attempt}},
        }
        reply = self._http.send("POST", f"{self._path(order.job)}/eviction", eviction)
        return _told(reply, f"Pod {order.job} is evicted and has {order.grace_s} s.")

    def left(self, order: Order) -> Outcome:
        """A pod is there until its last container has ended."""
        found = self._look(order)
        if isinstance(found, Outcome):
            return Outcome(LEFT, found.sentence) if found.name == GONE else found
        return Outcome(RUNNING, f"Pod {order.job} is {str(_field(found, 'status', 'phase')).lower()}.")

    def kill(self, order: Order) -> Outcome:
        """Delete it without grace. Disruption budgets are not asked any more: the eviction was."""
        found = self._look(order)
        if isinstance(found, Outcome):
            return found
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": order.attempt}}
        return _told(self._http.send("DELETE", self._path(order.job), options), f"Pod {order.job} is deleted.")

    def hold(self, hold: Hold) -> tuple[Outcome, str]:
        """Refused."""
        return _NO_HOLD._replace(sentence=f"{_NO_HOLD.sentence} Job {hold.asker_job} waits for its turn."), ""

    def release(self, handle: str) -> Outcome:
        """Nothing was held."""
        return nothing_held(handle)

    def _look(self, order: Order) -> _Found | Outcome:
        found = _found(order, self._http.ask("GET", self._path(order.job)))
        if isinstance(found, dict) and _field(found, "status", "phase") in {"Succeeded", "Failed"}:
            return Outcome(GONE, f"Pod {order.job} has ended.")
        return found

    def _path(self, job: str) -> str:
        namespace, _, name = job.rpartition("/")
        return f"/api/v1/namespaces/{quote(namespace or 'default')}/pods/{quote(name)}"


def _found(order: Order, reply: Reply | NoReply) -> _Found | Outcome:
    """The object that the order means, or why there is none."""
    if isinstance(reply, Reply) and reply.status == HTTPStatus.NOT_FOUND:
        return Outcome(GONE, f"Kubernetes knows no {order.job}.")
    told = _told(reply, "")
    if told.name != ACCEPTED or not isinstance(reply, Reply):
        return told
    if _field(reply.json, "metadata", "uid") != order.attempt:
        return Outcome(GONE, f"{order.job} is another object by now: {order.attempt} is over.")
    return reply.json


def _told(reply: Reply | NoReply, sentence: str) -> Outcome:
    """429 is how a disruption budget refuses an eviction; a conflict means the object has changed hands."""
    if isinstance(reply, NoReply):
        return Outcome(UNREACHABLE, reply.sentence)
    if reply.ok:
        return Outcome(ACCEPTED, sentence)
    if reply.status == HTTPStatus.NOT_FOUND:
        return Outcome(GONE, "Kubernetes knows it no more.")
    if reply.status == HTTPStatus.CONFLICT:
        return Outcome(UNREACHABLE, f"Kubernetes says that it has just changed: {_message(reply)}")
    if reply.final or reply.status == HTTPStatus.TOO_MANY_REQUESTS:
        return Outcome(REFUSED, f"Kubernetes refused ({reply.status}): {_message(reply)}")
    return Outcome(UNREACHABLE, f"Kubernetes answered {reply.status}: {_message(reply)}")


def _message(reply: Reply) -> str:
    return str(reply.json.get("message") or reply.text or "nothing more")


def _field(found: object, *path: str) -> object:
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _true(found: _Found, condition: str) -> list[object]:
    conditions = _field(found, "status", "conditions")
    if not isinstance(conditions, list):
        return []
    return [one for one in conditions if _field(one, "type") == condition and _field(one, "status") == "True"]


def _admitted(found: _Found) -> bool:
    return bool(_true(found, "Admitted") or _true(found, "QuotaReserved"))
