"""NOT Kubernetes: a fake of the few calls the actuator makes, from the documented behaviour of Kubernetes and Kueue.

Objects are told by path; uids guard them; a merge patch merges, and null deletes. Evicting a pod asks its disruption
budget (429 where it allows none) and begins its grace period; a pod that ends on SIGTERM is gone at once. A workload
that is deactivated loses its admission when its pods have ended; made active again, it is queued and admitted anew.
"""

from __future__ import annotations

import json
import threading
from typing import Any
from uuid import uuid4

from tests.support.served import Asked, Served

Object = dict[str, Any]


class FakeKubernetes:
    """One API server, with pods and workloads in the namespace `lab`."""

    def __init__(self) -> None:
        self.objects: dict[str, Object] = {}
        self.stubborn: set[str] = set()
        self.guarded: set[str] = set()
        self.evictions: dict[str, int] = {}
        self._lock = threading.Lock()
        self.served = Served(self._answer)

    def pod(self, name: str) -> Object:
        """A running pod."""
        return self._add(f"/api/v1/namespaces/lab/pods/{name}", name, {"phase": "Running"})

    def workload(self, name: str) -> Object:
        """An admitted workload."""
        path = f"/apis/kueue.x-k8s.io/v1beta1/namespaces/lab/workloads/{name}"
        made = self._add(path, name, {"conditions": []})
        made["spec"] = {"active": True}
        self._condition(made, "Admitted", "True")
        return made

    def _add(self, path: str, name: str, status: Object) -> Object:
        made = {"metadata": {"name": name, "namespace": "lab", "uid": str(uuid4()), "annotations": {}}}
        self.objects[path] = made | {"status": status}
        return self.objects[path]

    def _answer(self, asked: Asked) -> tuple[int, object]:
        with self._lock:
            path, evict = asked.path.removesuffix("/eviction"), asked.path.endswith("/eviction")
            found = self.objects.get(path)
            if found is None:
                return 404, _status(404, "not found")
            said = json.loads(asked.body or b"{}")
            if asked.method == "GET":
                return 200, found
            if asked.method == "POST" and evict:
                return self._evict(path, found, said)
            if asked.method == "PATCH" and asked.headers.get("Content-Type") == "application/merge-patch+json":
                return self._patch(path, found, said)
            if asked.method == "DELETE":
                return self._delete(path, found, said)
        return 405, _status(405, "the fake does not know this call")

    def _evict(self, path: str, found: Object, said: Object) -> tuple[int, object]:
        if path in self.guarded:
            return 429, _status(429, "Cannot evict pod as it would violate the pod's disruption budget.")
        self.evictions[path] = self.evictions.get(path, 0) + 1
        return self._delete(path, found, said["deleteOptions"])

    def _delete(self, path: str, found: Object, options: Object) -> tuple[int, object]:
        if options.get("preconditions", {}).get("uid", found["metadata"]["uid"]) != found["metadata"]["uid"]:
            return 409, _status(409, "the UID in the precondition does not match")
        if path in self.stubborn and options.get("gracePeriodSeconds") != 0:
            found["metadata"]["deletionTimestamp"] = "2026-12-01T00:00:00Z"
        else:
            del self.objects[path]
        return 201, _status(201, "")

    def _patch(self, path: str, found: Object, change: Object) -> tuple[int, object]:
        if change.get("metadata", {}).get("uid", found["metadata"]["uid"]) != found["metadata"]["uid"]:
            return 409, _status(409, "Precondition failed: UID in precondition")
        if path in self.guarded and "spec" in change:
            return 403, _status(403, "workloads.kueue.x-k8s.io is forbidden: User cannot patch resource")
        before = found.get("spec", {}).get("active")
        _merge(found, change)
        after = found.get("spec", {}).get("active")
        if (before, after) == (True, False):
            self.evictions[path] = self.evictions.get(path, 0) + 1
            if path not in self.stubborn:
                self._condition(found, "Admitted", "False")
        if (before, after) == (False, True):
            self._condition(found, "Admitted", "True")
        return 200, found

    @staticmethod
    def _condition(found: Object, name: str, status: str) -> None:
        others = [one for one in found["status"]["conditions"] if one["type"] != name]
        found["status"]["conditions"] = [*others, {"type": name, "status": status}]


def _merge(target: Object, change: Object) -> None:
    for key, value in change.items():
        if value is None:
            target.pop(key, None)
        elif isinstance(value, dict):
            _merge(target.setdefault(key, {}), value)
        else:
            target[key] = value


def _status(code: int, message: str) -> Object:
    return {"kind": "Status", "apiVersion": "v1", "code": code, "message": message}
