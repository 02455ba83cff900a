# SPDX-License-Identifier: Apache-2.0
"""Cluster files and job files, and the files of other programs that become cluster files."""

from __future__ import annotations

import json
import random
from pathlib import Path

from fuzzing import mutate, render
from offramp.cluster import parse_cluster, read_cluster
from offramp.cluster.formats import IMPORTS, Defaults, import_cluster
from offramp.cluster.routes import distances
from offramp.cluster.write import cluster_text
from offramp.job.settings import JobSettings

NAME = "clusters, jobs, and files of Slurm, Kubernetes, ASTRA-sim, SimAI, containerlab and p4-utils"
_CLUSTER = {
    "name": "racks",
    "hosts": [
        {
            "name": "h[1-4]",
            "address": "10.1.0.1",
            "cores": 8,
            "memory": "16GB",
            "agents": [{"name": "nic0", "cores": 2, "interface": "eth0"}],
            "cards": [{"name": "fpga0", "memory": "8GB"}],
            "hardware": "off-path",
        }
    ],
    "switches": [{"name": "leaf[1-2]", "control": "10.0.0.1:9559", "ports": 8, "queues": 4}, {"name": "spine"}],
    "links": [
        {"ends": ["h[1-2]", "leaf1"], "rate": "100mbit", "delay": "10us"},
        {"ends": ["h[3-4]:eth1", "leaf2:3"], "rate": 100000000},
        {"ends": ["leaf[1-2]", "spine"], "rate": "1gbit"},
    ],
    "dimensions": [{"type": "switch", "size": 4, "rate": "100mbit", "latency": "1ms"}],
}
_JOB = {"command": ["python", "train.py"], "hosts": "h[1-4]", "all_reduce": "16MB", "lossy": True, "compute": 0.1}
_TEXTS = {
    "slurm": "NodeName=gpu[1-2] CPUTot=128\n   Gres=gpu:a100:4(S:0-1) NodeAddr=10.0.0.1 RealMemory=515000\n"
    "SwitchName=leaf1 Nodes=gpu[1-2]\n",
    "kubernetes": json.dumps(
        {
            "items": [
                {
                    "metadata": {"name": "n", "labels": {"topology.kubernetes.io/rack": "r1"}},
                    "status": {"capacity": {"cpu": "64", "memory": "52Gi", "nvidia.com/gpu": "8"}},
                }
            ]
        }
    ),
    "astra-sim": "topology: [ Ring, Switch ]\nnpus_count: [ 4, 8 ]\nbandwidth: [ 50.0, 12 ]\nlatency: [ 5.0, 1 ]\n",
    "simai": "7 2 2 1 8 H100\n4 5 6\n"
    + "".join(f"{k} {4 + k // 2} 2880Gbps 0.000025ms 0\n{k} 6 400Gbps 0.0005ms 0\n" for k in range(4)),
    "containerlab": "name: x\ntopology:\n  nodes:\n    h: {kind: linux}\n    s: {kind: srl}\n  links:\n"
    '    - endpoints: ["h:eth1", "s:e1-1"]\n',
    "p4-utils": '{"hosts": {"h": {"ip": "10.0.1.1/24"}}, "switches": {"s": {}}, "links": [["h", "s-p1", "5ms", 10]]}',
}
_HERE = Path()


def run(rng: random.Random) -> None:
    """One file of one of the kinds; what is read can be written and read again."""
    kind = rng.choice(("cluster", "job", *IMPORTS))
    if kind == "job":
        JobSettings.read(render.write(_HERE / "job.yaml", render.document(rng, _JOB, "yaml")))
        return
    if kind == "cluster":
        form = rng.choice(("yaml", "toml"))
        cluster = read_cluster(render.write(_HERE / f"c.{form}", render.document(rng, _CLUSTER, form)))
    else:
        text = mutate.text(rng, _TEXTS[kind]).encode("utf-8", "surrogatepass")
        cluster = import_cluster(kind, [render.write(_HERE / "other", text)], Defaults())
    for host in cluster.hosts[:2]:
        assert distances(cluster, host.name)[host.name] == 0
    again = parse_cluster(cluster_text(cluster))
    assert (again.hosts, again.switches, again.links) == (cluster.hosts, cluster.switches, cluster.links)
