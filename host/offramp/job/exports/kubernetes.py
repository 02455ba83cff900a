# SPDX-License-Identifier: Apache-2.0
"""Manifests for Kubernetes: a PyTorchJob of Kubeflow's training operator, or a JobSet.

One pod for each host of the job, on the node of its name. What ranks read besides their command (settings, and the file
of ``OFFRAMP_NETWORK``) is in a ConfigMap. Pods cannot bring programs to switches, so ways that need it are refused.

https://www.kubeflow.org/docs/components/trainer/legacy-v1/user-guides/pytorch/; https://jobset.sigs.k8s.io/docs/
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from offramp.cluster.write import cluster_text
from offramp.job.export import JOB_FORMATS, JobExport
from offramp.job.kind import JobStart
from offramp_base.arguments import visible
from offramp_base.documents import read_text
from offramp_base.errors import OfframpError

_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
_FILES: Final = Path("/offramp/job")
_OUT: Final = Path("/offramp/out")
_NETWORK: Final = "network.yaml"
_CLUSTER: Final = "cluster.yaml"
_HOSTNAME: Final = "kubernetes.io/hostname"
_INDEX: Final = "metadata.annotations['batch.kubernetes.io/job-completion-index']"


@JOB_FORMATS.register("pytorchjob")
def pytorchjob(given: JobExport) -> str:
    """A PyTorchJob, whose operator tells ranks their places."""
    files, pod = _files(given), _pod(given, _launcher(given, []), {})
    job, hosts = given.placed.job, given.placed.hosts
    template = {"restartPolicy": "OnFailure", "template": pod}
    replicas: dict[str, Any] = {"Master": {"replicas": 1, **template}}
    if len(hosts) > 1:
        replicas["Worker"] = {"replicas": len(hosts) - 1, **template}
    manifest = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": _name(given)},
        "spec": {
            "nprocPerNode": str(_processes(given)),
            "runPolicy": {"backoffLimit": job.restarts, "cleanPodPolicy": "Running"},
            "pytorchReplicaSpecs": replicas,
        },
    }
    return _text(given, files, manifest)


@JOB_FORMATS.register("jobset")
def jobset(given: JobExport) -> str:
    """A JobSet with one indexed job, whose pods have the numbers of their hosts."""
    name, job, count = _name(given), given.placed.job, len(given.placed.hosts)
    files, master = _files(given), f"{name}-ranks-0-0.{name}"
    options = [f"--nnodes={count}", "--node-rank=$(NODE_RANK)", f"--nproc-per-node={_processes(given)}"]
    options += [f"--master-addr={master}", f"--master-port={job.port}"]
    index = {"valueFrom": {"fieldRef": {"fieldPath": _INDEX}}}
    single = _processes(given) == 1
    place: dict[str, Any] = {"RANK": index, "WORLD_SIZE": str(count), "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"}
    place |= {"MASTER_ADDR": master, "MASTER_PORT": str(job.port)}
    pod = _pod(given, _launcher(given, options), place if single else {"NODE_RANK": index})
    pod["spec"]["restartPolicy"] = "Never"
    spec = {
        "parallelism": count,
        "completions": count,
        "completionMode": "Indexed",
        "backoffLimit": 0,
        "template": pod,
    }
    manifest = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": {"maxRestarts": job.restarts},
            "replicatedJobs": [{"name": "ranks", "replicas": 1, "template": {"spec": spec}}],
        },
    }
    return _text(given, files, manifest)


def _name(given: JobExport) -> str:
    name = given.placed.job.name
    if not _NAME.fullmatch(name):
        raise OfframpError(f"{given.submission.job_file}: name: {name}: expected small letters, digits and hyphens")
    return name


def _processes(given: JobExport) -> int:
    """Ranks of each pod.

    Raises:
        OfframpError: hosts have different numbers of them.
    """
    counts = {host.processes for host in given.placed.hosts}
    if len(counts) > 1:
        raise OfframpError(f"{given.placed.cluster.origin}: expected hosts with the same number of ranks")
    return counts.pop()


def _files(given: JobExport) -> dict[str, str]:
    """Files that all ranks read, by name.

    Raises:
        OfframpError: the way needs programs or entries on switches.
    """
    way = given.submission.way
    wanted = given.kind.deployment(given.placed, [way], 1, _OUT)
    if wanted.steps:
        reason = f"needs {wanted.steps[0].name}, which pods cannot bring; expected a way without switches"
        raise OfframpError(f"job {given.placed.job.name}: {way}: {reason}")
    files = {} if wanted.network is None else {_NETWORK: _in_pods(given, wanted.network)}
    if _CLUSTER in files.get(_NETWORK, ""):
        files[_CLUSTER] = cluster_text(given.placed.cluster)
    path = given.placed.job.file
    return files if path is None else files | {path.name: read_text(path)}


def _in_pods(given: JobExport, network: str) -> str:
    """The settings of ranks' network with paths that pods have.

    Raises:
        OfframpError: a way that names interfaces of the hosts.
    """
    fields = dict(yaml.safe_load(network))
    if "interface" in fields:
        reason = "names interfaces of hosts, which pods do not have"
        raise OfframpError(f"job {given.placed.job.name}: {given.submission.way}: {reason}")
    if "dimensions" in fields:
        fields["dimensions"] = str(_FILES / _CLUSTER)
    return str(yaml.safe_dump(fields, sort_keys=False))


def _launcher(given: JobExport, options: list[str]) -> list[str]:
    """The command of a pod; torchrun where it has several ranks, which Kubeflow's operator tells its place."""
    path = given.placed.job.file
    program = given.kind.program(given.placed, given.submission.way, JobStart(_OUT, attempt=1))
    replaced = {sys.executable: "python"} | ({} if path is None else {str(path.absolute()): str(_FILES / path.name)})
    words = [replaced.get(word, word) for word in program.command]
    return words if _processes(given) == 1 else ["torchrun", *options, "--no-python", "--", *words]


def _pod(given: JobExport, command: list[str], place: Mapping[str, Any]) -> dict[str, Any]:
    job, hosts = given.placed.job, given.placed.hosts
    environment: dict[str, Any] = {"OMP_NUM_THREADS": "1", "OFFRAMP_JOB_FOLDER": str(_OUT), **place}
    if given.kind.deployment(given.placed, [given.submission.way], 1, _OUT).network is not None:
        environment["OFFRAMP_NETWORK"] = str(_FILES / _NETWORK)
    environment |= dict(each.split("=", 1) for each in job.environment)
    gpus = hosts[0].gpus
    container: dict[str, Any] = {
        "name": "pytorch",
        "image": given.image,
        "command": command,
        "env": [
            {"name": name, **(value if isinstance(value, dict) else {"value": value})}
            for name, value in environment.items()
        ],
        "volumeMounts": [{"name": "job", "mountPath": str(_FILES)}, {"name": "out", "mountPath": str(_OUT)}],
    }
    if gpus:
        container["resources"] = {"limits": {"nvidia.com/gpu": gpus}}
    out = {"emptyDir": {}} if given.claim is None else {"persistentVolumeClaim": {"claimName": given.claim}}
    names = {"key": _HOSTNAME, "operator": "In", "values": [host.name for host in hosts]}
    label = {"offramp-job": _name(given)}
    spread = {"maxSkew": 1, "topologyKey": _HOSTNAME, "whenUnsatisfiable": "DoNotSchedule"}
    return {
        "metadata": {"labels": label},
        "spec": {
            "containers": [container],
            "volumes": [
                {"name": "job", "configMap": {"name": f"{_name(given)}-files"}},
                {"name": "out", **out},
            ],
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [{"matchExpressions": [names]}]
                    }
                }
            },
            "topologySpreadConstraints": [spread | {"labelSelector": {"matchLabels": label}}],
        },
    }


class _Dumper(yaml.SafeDumper):
    """YAML without anchors, and with texts of several lines as blocks."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002
        """Write out what occurs twice."""
        return True


def _block(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _block)


def _text(given: JobExport, files: Mapping[str, str], manifest: Mapping[str, Any]) -> str:
    plan = "".join(f"#   {visible(' '.join(row.split()))}\n" for row in given.submission.plan)
    config = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"{_name(given)}-files"},
        "data": dict(files),
    }
    documents = [config, manifest]
    return f"# The plan:\n{plan}" + str(yaml.dump_all(documents, Dumper=_Dumper, sort_keys=False, width=10**9))
