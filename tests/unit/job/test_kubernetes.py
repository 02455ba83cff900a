# SPDX-License-Identifier: Apache-2.0
"""Exported manifests on a server that speaks Kubernetes' protocol: applied, watched and deleted by kubectl.

The server's own rules are tested by plain requests. With ``OFFRAMP_CRDS``, a folder of the real definitions of
PyTorchJob and JobSet, it validates by those. Blind to what controllers do with pods.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubernetes_schema import schemas_in
from kubernetes_server import ApiStore, serving
from offramp.job.engine import BatchSubmission
from offramp.job.export import JOB_FORMATS, JobExport
from offramp.job.kind import PlacedJob, kind_of
from offramp.job.settings import JobSettings

PLURAL = {"pytorchjob": "pytorchjobs.kubeflow.org", "jobset": "jobsets.jobset.x-k8s.io"}
JOBSETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets"
JOB = JobSettings(name="sums", command=("python", "train.py"), environment=("A=b c",), restarts=3)


@pytest.fixture
def api() -> Iterator[tuple[str, ApiStore]]:
    crds = os.environ.get("OFFRAMP_CRDS")
    with serving(schemas_in(Path(crds)) if crds else None) as given:
        yield given


@pytest.fixture
def kubectl(api, tmp_path):
    """Runs kubectl against the server; it finds no other one."""
    if shutil.which("kubectl") is None:
        pytest.skip("no kubectl on PATH")
    config = tmp_path / "none"
    config.write_text("")
    environment = os.environ | {"KUBECONFIG": str(config), "HOME": str(tmp_path)}

    def words(*given: str) -> list[str]:
        return ["kubectl", f"--server={api[0]}", *given]

    def run(*given: str, code: int = 0) -> str:
        done = subprocess.run(words(*given), env=environment, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout if code == 0 else done.stderr

    run.words, run.environment = words, environment
    return run


def manifest(cluster, form: str, job: JobSettings = JOB) -> str:
    submission = BatchSubmission(Path("job.yaml"), "cluster.yaml", "gloo", ["gloo: a step 1 s"], Path("out"))
    given = JobExport(kind_of(job), PlacedJob.on(job, cluster), submission, "offramp:1", "results")
    return JOB_FORMATS.get(form)(given)


def ask(url: str, method: str, path: str, body: Any = None) -> tuple[int, dict[str, Any]]:
    content = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url + path, content, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


@pytest.mark.full
@pytest.mark.each
@pytest.mark.parametrize("form", ["pytorchjob", "jobset"])
def test_kubectl_applies_watches_and_deletes_a_manifest(api, kubectl, racks, tmp_path, form):
    _, store = api
    path = tmp_path / "job.yaml"
    path.write_text(manifest(racks, form))
    said = kubectl("apply", "--validate=false", "-f", str(path))
    names = ["configmap/sums-files", f"{PLURAL[form].replace('s.', '.', 1)}/sums"]
    assert said.splitlines() == [f"{name} created" for name in names]
    said = kubectl("apply", "--validate=false", "-f", str(path))
    assert said.splitlines() == [f"{name} unchanged" for name in names]
    there = json.loads(kubectl("get", PLURAL[form], "sums", "-o", "json"))
    (_, exported) = yaml.safe_load_all(path.read_text())
    assert there["spec"] == exported["spec"]
    with subprocess.Popen(
        kubectl.words("get", PLURAL[form], "--watch", "-o", "jsonpath={.metadata.resourceVersion} "),
        env=kubectl.environment, stdout=subprocess.PIPE, text=True,
    ) as watch:  # fmt: skip
        assert watch.stdout is not None
        try:
            first = watch.stdout.read(2)
            path.write_text(manifest(racks, form, replace(JOB, restarts=4)))
            said = kubectl("apply", "--validate=false", "-f", str(path))
            assert said.splitlines()[1] == f"{names[1]} configured"
            second = watch.stdout.read(2)
        finally:
            watch.terminate()
    assert int(second) == int(first) + 1 == store.version
    kubectl("delete", "-f", str(path))
    assert kubectl("get", PLURAL[form], "-o", "name") == kubectl("get", "configmaps", "-o", "name") == ""


@pytest.mark.full
def test_kubectl_says_what_the_schema_refuses(kubectl, racks, tmp_path):
    path = tmp_path / "job.yaml"
    path.write_text(manifest(racks, "jobset").replace("maxRestarts: 3", "maxRestarts: many"))
    said = kubectl("apply", "--validate=false", "-f", str(path), code=1)
    assert "maxRestarts" in said
    assert "invalid" in said


@pytest.mark.each
@pytest.mark.parametrize("form", ["pytorchjob", "jobset"])
def test_pods_of_a_manifest_are_pods(api, racks, form):
    url, _ = api
    _, exported = yaml.safe_load_all(manifest(racks, form))
    spec = exported["spec"]
    if form == "pytorchjob":
        templates = [each["template"] for each in spec["pytorchReplicaSpecs"].values()]
    else:
        templates = [each["template"]["spec"]["template"] for each in spec["replicatedJobs"]]
    for number, template in enumerate(templates):
        metadata = {**template["metadata"], "name": f"rank-{number}"}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
        assert ask(url, "POST", "/api/v1/namespaces/default/pods", pod)[0] == 201
    chosen = ask(url, "GET", "/api/v1/namespaces/default/pods?labelSelector=offramp-job%3Dsums")[1]["items"]
    assert len(chosen) == len(templates)


def test_the_server_keeps_what_kubernetes_promises(api, racks):
    url, store = api
    _, job = yaml.safe_load_all(manifest(racks, "jobset"))
    assert ask(url, "GET", f"{JOBSETS}/sums")[0] == 404
    code, created = ask(url, "POST", JOBSETS, job)
    assert (code, created["metadata"]["resourceVersion"]) == (201, "1")
    code, said = ask(url, "POST", JOBSETS, job)
    assert (code, said["reason"]) == (409, "AlreadyExists")
    created["spec"]["failurePolicy"]["maxRestarts"] = 5
    code, changed = ask(url, "PUT", f"{JOBSETS}/sums", created)
    assert (code, changed["metadata"]["resourceVersion"]) == (200, "2")
    code, said = ask(url, "PUT", f"{JOBSETS}/sums", created)  # of version 1
    assert (code, said["reason"]) == (409, "Conflict")
    listed = ask(url, "GET", JOBSETS)[1]
    assert (listed["metadata"]["resourceVersion"], len(listed["items"])) == ("2", 1)
    for spoil, field in (
        ({"spec": {"replicatedJobs": [{"name": "ranks"}]}}, "spec.replicatedJobs[0].template"),
        ({"spec": {"replicatedJobs": {}}}, "spec.replicatedJobs"),
        ({"spec": {"replicated": []}}, "spec.replicated"),
        ({"kind": "PyTorchJob"}, "kind"),
    ):
        code, said = ask(url, "POST", JOBSETS, {**job, **spoil})
        assert (code, said["reason"]) == (422, "Invalid")
        assert field in [cause["field"] for cause in said["details"]["causes"]]
    events: list[dict[str, Any]] = []

    def watch() -> None:
        with urllib.request.urlopen(f"{url}{JOBSETS}?watch=1&resourceVersion=1", timeout=60) as answer:
            for line in answer:
                events.append(json.loads(line))
                if events[-1]["type"] == "DELETED":
                    return

    thread = threading.Thread(target=watch)
    thread.start()
    assert ask(url, "DELETE", f"{JOBSETS}/sums")[0] == 200
    thread.join(60)
    shown = [(each["type"], each["object"]["metadata"]["resourceVersion"]) for each in events]
    assert shown == [("MODIFIED", "2"), ("DELETED", "3")]
    store.forget_changes()
    with urllib.request.urlopen(f"{url}{JOBSETS}?watch=1&resourceVersion=1", timeout=60) as answer:
        (gone,) = (json.loads(line) for line in answer)
    assert (gone["type"], gone["object"]["code"]) == ("ERROR", 410)
