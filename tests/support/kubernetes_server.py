# SPDX-License-Identifier: Apache-2.0
"""A server of Kubernetes' API for tests: discovery, and resources that are made, changed, listed, watched and removed.

It keeps what Kubernetes promises to clients: each change has a ``resourceVersion`` of its own, a watch goes on from
one, a write with an old one is a conflict, and what a schema refuses is Invalid. There are no controllers behind it:
nothing runs.

https://kubernetes.io/docs/reference/using-api/api-concepts/
"""

from __future__ import annotations

import itertools
import json
import threading
import time
import urllib.parse
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, NamedTuple

from kubernetes_schema import OWN, faults


class Resource(NamedTuple):
    """A kind of resource; its group is empty for those of the core."""

    group: str
    version: str
    plural: str
    kind: str

    @property
    def api(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


RESOURCES: Final = (
    Resource("", "v1", "configmaps", "ConfigMap"),
    Resource("", "v1", "pods", "Pod"),
    Resource("kubeflow.org", "v1", "pytorchjobs", "PyTorchJob"),
    Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet"),
)
_VERBS: Final = ["create", "delete", "get", "list", "patch", "update", "watch"]
_PATCHES: Final = ("application/merge-patch+json", "application/strategic-merge-patch+json")


class RefusedError(Exception):
    """An answer other than success: its status, reason and message."""

    def __init__(self, code: int, reason: str, message: str, causes: list[dict[str, str]] | None = None) -> None:
        super().__init__(message)
        self.body = {
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": message, "reason": reason, "code": code, "details": {"causes": causes or []},
        }  # fmt: skip


class ApiStore:
    """All objects, and the changes that watchers get.

    Attributes:
        requests: method and path of each request, for tests.
    """

    def __init__(self, schemas: Mapping[str, dict]) -> None:
        self.requests: list[tuple[str, str]] = []
        self._schemas = {**OWN, **schemas}
        self._objects: dict[tuple[Resource, str, str], dict[str, Any]] = {}
        self._changes: list[tuple[int, str, Resource, dict[str, Any]]] = []
        self._changed = threading.Condition()
        self._numbers, self._forgotten = itertools.count(1), 0
        self.version = 0

    def forget_changes(self) -> None:
        """Lose the changes so far, as a server does after some minutes: watches from before them are gone."""
        with self._changed:
            self._changes, self._forgotten = [], self.version

    def select(self, resource: Resource, space: str, query: Mapping[str, str]) -> list[dict[str, Any]]:
        with self._changed:
            return [
                each for (of, inside, _), each in sorted(self._objects.items())
                if of == resource and inside == space and _chosen(each, query)
            ]  # fmt: skip

    def get(self, resource: Resource, space: str, name: str) -> dict[str, Any]:
        with self._changed:
            if (resource, space, name) not in self._objects:
                raise RefusedError(404, "NotFound", f'{resource.plural} "{name}" not found')
            return self._objects[resource, space, name]

    def create(self, resource: Resource, space: str, given: dict[str, Any]) -> dict[str, Any]:
        name = given.get("metadata", {}).get("name", "")
        self._check(resource, given, name)
        with self._changed:
            if (resource, space, name) in self._objects:
                raise RefusedError(409, "AlreadyExists", f'{resource.plural} "{name}" already exists')
            given["metadata"] |= {
                "namespace": space, "uid": f"00000000-0000-0000-0000-{next(self._numbers):012}",
                "creationTimestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            }  # fmt: skip
            return self._put("ADDED", resource, space, name, given)

    def replace(self, resource: Resource, space: str, name: str, given: dict[str, Any]) -> dict[str, Any]:
        self._check(resource, given, name)
        with self._changed:
            before = self.get(resource, space, name)["metadata"]
            expected = given["metadata"].get("resourceVersion", before["resourceVersion"])
            if expected != before["resourceVersion"]:
                raise RefusedError(409, "Conflict", f'{resource.plural} "{name}": the object has been modified')
            given["metadata"] = {**before, **given["metadata"]}
            return self._put("MODIFIED", resource, space, name, given)

    def patch(self, resource: Resource, space: str, name: str, change: dict[str, Any]) -> dict[str, Any]:
        with self._changed:
            merged = _merged(json.loads(json.dumps(self.get(resource, space, name))), change)
            return self.replace(resource, space, name, merged)

    def delete(self, resource: Resource, space: str, name: str) -> dict[str, Any]:
        with self._changed:
            last = self.get(resource, space, name)
            del self._objects[resource, space, name]
            self._change("DELETED", resource, last)
            return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}

    def changes(
        self, resource: Resource, space: str, query: Mapping[str, str], until: float, over: threading.Event
    ) -> Iterator[dict[str, Any]]:
        """Events of a watch."""
        at = int(query.get("resourceVersion") or 0)
        if at < self._forgotten:
            gone = RefusedError(410, "Expired", f"too old resource version: {at} ({self._forgotten})")
            yield {"type": "ERROR", "object": gone.body}
            return
        while not over.is_set() and time.monotonic() < until:
            with self._changed:
                newer = [change for change in self._changes if change[0] > at]
                if not newer:
                    self._changed.wait(0.1)
            for version, what, of, each in newer:
                at = version
                if of == resource and each["metadata"]["namespace"] == space and _chosen(each, query):
                    yield {"type": what, "object": each}

    def _put(self, what: str, resource: Resource, space: str, name: str, given: dict[str, Any]) -> dict[str, Any]:
        self._objects[resource, space, name] = given
        self._change(what, resource, given)
        return given

    def _change(self, what: str, resource: Resource, given: dict[str, Any]) -> None:
        self.version += 1
        given["metadata"]["resourceVersion"] = str(self.version)
        self._changes.append((self.version, what, resource, json.loads(json.dumps(given))))
        self._changed.notify_all()

    def _check(self, resource: Resource, given: dict[str, Any], name: str) -> None:
        wrong = [("apiVersion", f"expected {resource.api}")] if given.get("apiVersion") != resource.api else []
        wrong += [("kind", f"expected {resource.kind}")] if given.get("kind") != resource.kind else []
        wrong += [] if name else [("metadata.name", "Required value")]
        status = {"status"} if "status" not in self._schemas[resource.kind].get("properties", {}) else set()
        body = {field: value for field, value in given.items() if field not in status}
        wrong += faults(body, self._schemas[resource.kind])
        if wrong:
            said = ", ".join(f"{field}: {fault}" for field, fault in wrong)
            causes = [{"field": field, "message": fault} for field, fault in wrong]
            raise RefusedError(422, "Invalid", f'{resource.kind} "{name}" is invalid: {said}', causes)


def _merged(before: Any, change: Any) -> Any:
    """JSON merge patch (RFC 7396)."""
    if not isinstance(change, dict):
        return change
    merged = dict(before) if isinstance(before, dict) else {}
    for name, each in change.items():
        if each is None:
            merged.pop(name, None)
        else:
            merged[name] = _merged(merged.get(name), each)
    return merged


def _chosen(each: dict[str, Any], query: Mapping[str, str]) -> bool:
    labels = each["metadata"].get("labels", {})
    wanted = dict(part.split("=", 1) for part in query.get("labelSelector", "").replace("==", "=").split(",") if part)
    named = query.get("fieldSelector", "").removeprefix("metadata.name=")
    return wanted.items() <= labels.items() and named in ("", each["metadata"]["name"])


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    store: ApiStore
    over: threading.Event

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self._serve("GET")

    def do_POST(self) -> None:
        self._serve("POST")

    def do_PUT(self) -> None:
        self._serve("PUT")

    def do_PATCH(self) -> None:
        self._serve("PATCH")

    def do_DELETE(self) -> None:
        self._serve("DELETE")

    def _serve(self, method: str) -> None:
        split = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(split.query))
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.store.requests.append((method, split.path))
        try:
            place = _place(split.path)
            if place is None:
                return self._answer(_discovery(split.path))
            resource, space, name = place
            if method == "GET" and not name and query.get("watch") in ("true", "1"):
                return self._watch(resource, space, query)
            answer = self._do(method, resource, space, name, query, json.loads(content) if content else {})
            return self._answer(answer, 201 if method == "POST" else 200)
        except RefusedError as error:
            return self._answer(error.body, error.body["code"])

    def _do(
        self, method: str, resource: Resource, space: str, name: str, query: dict[str, str], given: dict[str, Any]
    ) -> dict[str, Any]:
        store = self.store
        if method == "GET":
            if name:
                return store.get(resource, space, name)
            meta = {"resourceVersion": str(store.version)}
            rows = store.select(resource, space, query)
            return {"kind": f"{resource.kind}List", "apiVersion": resource.api, "metadata": meta, "items": rows}
        if method == "POST":
            return store.create(resource, space, given)
        if method == "PUT":
            return store.replace(resource, space, name, given)
        if method == "DELETE":
            return store.delete(resource, space, name)
        if self.headers.get("Content-Type") not in _PATCHES:
            raise RefusedError(415, "UnsupportedMediaType", f"expected {' or '.join(_PATCHES)}")
        return store.patch(resource, space, name, given)

    def _watch(self, resource: Resource, space: str, query: dict[str, str]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json;stream=watch")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        until = time.monotonic() + float(query.get("timeoutSeconds", 60))
        try:
            for event in self.store.changes(resource, space, query, until, self.over):
                line = json.dumps(event).encode() + b"\n"
                self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _answer(self, body: dict[str, Any], code: int = 200) -> None:
        content = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _place(path: str) -> tuple[Resource, str, str] | None:
    """Resource, namespace and name that a path means; None: something about the API itself."""
    for resource in RESOURCES:
        base = f"/apis/{resource.api}" if resource.group else f"/api/{resource.api}"
        parts = path.removeprefix(f"{base}/namespaces/").strip("/").split("/")
        if path.startswith(f"{base}/namespaces/") and len(parts) in (2, 3) and parts[1] == resource.plural:
            return resource, parts[0], parts[2] if len(parts) == 3 else ""
    return None


def _discovery(path: str) -> dict[str, Any]:
    path = path.rstrip("/")
    groups = sorted({each.group for each in RESOURCES if each.group})
    if path == "/version":
        return {"major": "1", "minor": "32", "gitVersion": "v1.32.0"}
    if path == "/api":
        return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
    if path == "/apis":
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(name) for name in groups]}
    for resource in RESOURCES:
        if path == (f"/apis/{resource.api}" if resource.group else f"/api/{resource.api}"):
            rows = [
                {"name": e.plural, "singularName": e.kind.lower(), "namespaced": True, "kind": e.kind, "verbs": _VERBS}
                for e in RESOURCES if e.api == resource.api
            ]  # fmt: skip
            return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": resource.api, "resources": rows}
    raise RefusedError(404, "NotFound", f"{path}: the server could not find the requested resource")


def _group(name: str) -> dict[str, Any]:
    versions = [{"groupVersion": e.api, "version": e.version} for e in RESOURCES if e.group == name]
    return {"name": name, "versions": versions, "preferredVersion": versions[0]}


@contextmanager
def serving(schemas: Mapping[str, dict] | None = None) -> Iterator[tuple[str, ApiStore]]:
    """The URL of a server, and its store; ``schemas`` replace those of their kinds."""
    store, over = ApiStore(schemas or {}), threading.Event()
    handler = type("Handler", (_Handler,), {"store": store, "over": over})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", store
        finally:
            over.set()
            server.shutdown()
            thread.join()
