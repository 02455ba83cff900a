# SPDX-License-Identifier: Apache-2.0
"""Cluster files and job files, and the files of other programs that become cluster files."""

from __future__ import annotations

import random
from pathlib import Path

import cluster_samples
from fuzzing import mutate, render
from offramp.cluster import parse_cluster, read_cluster
from offramp.cluster.formats import IMPORTS, Defaults, import_cluster
from offramp.cluster.routes import distances
from offramp.cluster.write import cluster_text
from offramp.job.settings import JobSettings

NAME = "clusters, jobs, and files of other programs that become clusters"
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
        texts = list(cluster_samples.SAMPLES[kind])
        changed = rng.randrange(len(texts))
        texts[changed] = mutate.text(rng, texts[changed])
        paths = [
            render.write(_HERE / f"other{k}", text.encode("utf-8", "surrogatepass")) for k, text in enumerate(texts)
        ]
        cluster_samples.check(import_cluster(kind, paths, Defaults(flat=rng.random() < 0.5)))
        return
    for host in cluster.hosts[:2]:
        assert distances(cluster, host.name)[host.name] == 0
    again = parse_cluster(cluster_text(cluster))
    assert (again.hosts, again.switches, again.links) == (cluster.hosts, cluster.switches, cluster.links)
