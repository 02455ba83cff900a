# SPDX-License-Identifier: Apache-2.0
"""Manifests for Kubernetes: what pods run, where, and what is refused.

The schemas were the oracle outside: kubernetes-validate and the definitions of PyTorchJob and JobSet, with unknown
fields refused. Blind to what their controllers do.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from offramp.cluster import parse_cluster
from offramp.cluster.model import ClusterDimension
from offramp.job.engine import BatchSubmission
from offramp.job.export import JOB_FORMATS, JobExport
from offramp.job.kind import PlacedJob, kind_of
from offramp.job.settings import JobSettings
from offramp_base.errors import OfframpError


def exported(job, cluster, form, way="gloo", plan=()) -> list[dict]:
    submission = BatchSubmission(Path("job.yaml"), "cluster.yaml", way, plan, Path("out"))
    given = JobExport(kind_of(job), PlacedJob.on(job, cluster), submission, "offramp:1", "results")
    return list(yaml.safe_load_all(JOB_FORMATS.get(form)(given)))


def pods(manifest) -> list[tuple[int, dict]]:
    spec = manifest["spec"]
    if manifest["kind"] == "PyTorchJob":
        return [(each["replicas"], each["template"]["spec"]) for each in spec["pytorchReplicaSpecs"].values()]
    (ranks,) = spec["replicatedJobs"]
    return [(ranks["template"]["spec"]["completions"], ranks["template"]["spec"]["template"]["spec"])]


@pytest.mark.each
@pytest.mark.parametrize("form", ["pytorchjob", "jobset"])
def test_one_pod_for_each_host_with_the_jobs_command(racks, form):
    job = JobSettings(name="sums", command=("python", "train.py"), environment=("A=b c",), restarts=3)
    files, manifest = exported(job, racks, form, plan=["gloo: a step 1 s\napiVersion: v2"])
    assert yaml.safe_load(files["data"]["network.yaml"]) == {"offloads": []}
    assert sum(count for count, _ in pods(manifest)) == 4
    for _, pod in pods(manifest):
        (container,) = pod["containers"]
        environment = {each["name"]: each.get("value") for each in container["env"]}
        assert container["command"] == ["python", "train.py"]
        assert (container["image"], environment["A"]) == ("offramp:1", "b c")
        assert environment["OFFRAMP_NETWORK"] == "/offramp/job/network.yaml"
        (term,) = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        assert term["matchExpressions"][0]["values"] == ["h1", "h2", "h3", "h4"]
        assert pod["volumes"][1]["persistentVolumeClaim"] == {"claimName": "results"}
    text = str(manifest)
    assert "'backoffLimit': 3" in text or "'maxRestarts': 3" in text


def test_hosts_with_several_ranks_start_torchrun():
    cluster = parse_cluster('name: a\nhosts:\n  - {name: "h[1-2]", gpus: 2}\n')
    job = JobSettings(name="sums", command=("python", "train.py"))
    for form, options in (("pytorchjob", 0), ("jobset", 5)):
        _, manifest = exported(job, cluster, form)
        for _, pod in pods(manifest):
            words = pod["containers"][0]["command"]
            assert (words[0], len(words)) == ("torchrun", 5 + options)
            assert pod["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": 2}


def test_files_that_ranks_read_are_in_the_manifest(racks, tmp_path):
    ring = ClusterDimension(type="ring", size=4, rate_bps=10**8)
    cluster = replace(racks, dimensions=(ring,), origin="/home/me/cluster.yaml")
    job = JobSettings(name="sums", command=("true",), all_reduce=1000)
    files, _ = exported(job, cluster, "jobset", "themis")
    assert yaml.safe_load(files["data"]["network.yaml"])["dimensions"] == "/offramp/job/cluster.yaml"
    assert parse_cluster(files["data"]["cluster.yaml"]).dimensions == (ring,)
    pytest.importorskip("torch")
    (tmp_path / "train.yaml").write_text("graph: karate\nhidden: 8\n")
    files, manifest = exported(JobSettings(name="gnn", train=tmp_path / "train.yaml"), racks, "pytorchjob", "p2p")
    assert files["data"] == {"train.yaml": "graph: karate\nhidden: 8\n"}
    for _, pod in pods(manifest):
        words = pod["containers"][0]["command"]
        assert words[:3] == ["python", "-m", "offramp"]
        assert str(tmp_path) not in " ".join(words)


@pytest.mark.each
@pytest.mark.parametrize(
    ("way", "name", "reason"),
    [
        ("allreduce", "sums", "allreduce: needs all-reduce on leaf1, which pods cannot bring"),
        ("hermod", "sums", "hermod: names interfaces of hosts, which pods do not have"),
        ("gloo", "Sums_1", "name: Sums_1: expected small letters, digits and hyphens"),
    ],
)
def test_what_pods_cannot_do_is_refused(racks, way, name, reason):
    job = JobSettings(name=name, command=("true",), all_reduce=1000)
    with pytest.raises(OfframpError, match=reason):
        exported(job, racks, "jobset", way)
