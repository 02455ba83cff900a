# SPDX-License-Identifier: Apache-2.0
"""Floors in every kind of job: features, activations and requests over random clusters, beside maximum flows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import networkx as nx
import numpy as np
import pytest

from offramp.cluster import Cluster, parse_cluster
from offramp.job.crossing import crossing_vectors
from offramp.job.kind import KINDS, CalibrationResult, PlacedJob, kind_of
from offramp.job.kinds.full_graph import SWITCHES, FeatureTransport, FullGraph
from offramp.job.planner import make_job_plan
from offramp.job.settings import JobSettings
from random_jobs import as_text, cluster_document, network_floor_s

pytest.importorskip("torch")
TEXTS = {
    "train": "graph: karate\nhidden: 8\npartition: hash\n",
    "dgs": "graph: karate\nhidden: 8\npartition: hash\nfanout: '3,3'\n",
    "torchgt": "graph: karate\nlayers: 2\nhidden: 420\nheads: 420\nclusters: 2\nblock: 4\n",
    "unitg": "graph: karate\nlayers: 8\nhidden: 8\nepochs: 30\nlm_epochs: 3\n",
    "leo": "names: [kvs]\nrequests: 500\n",
}


def _vertices_to_workers(kind: FullGraph, placed: PlacedJob) -> np.ndarray:
    """``(ranks, ranks)`` bytes of p2p by going over all edges: each vertex once to each worker with a neighbour."""
    planned = kind.planned(placed, FeatureTransport.P2P)
    owner, graph = planned.boundary.owner, planned.graph
    sent = np.zeros((placed.ranks, placed.ranks))
    pairs = {
        (v, int(owner[u]))
        for v in range(len(owner))
        for u in graph.indices[graph.indptr[v] : graph.indptr[v + 1]]
        if owner[u] != owner[v]
    }
    for v, worker in pairs:
        sent[owner[v], worker] += 4 * sum(kind._widths(planned))
    return sent


def _demand(kind: object, placed: PlacedJob, way: str) -> np.ndarray:
    """``(ranks, ranks)`` bytes of a step."""
    ranks = placed.ranks
    others = 1.0 - np.eye(ranks)
    if isinstance(kind, FullGraph):
        return _vertices_to_workers(kind, placed) * (8 / 32 if way == FeatureTransport.G3_SYLVIE else 1.0)
    if placed.job.kind == "torchgt":  # Q, K, V and the output; forward, backward, evaluation; two layers
        return 4 * 3 * 2 * 34 / ranks * 420 / ranks * (2 if way.endswith("bfloat16") else 4) * others
    if placed.job.kind == "unitg":
        return 34 * 8 * 4 * (np.eye(ranks, k=1) + np.eye(ranks, k=-1))
    if placed.job.kind == "dgs":
        return kind._sent(placed, way) / max(1, ranks * (ranks - 1)) * others
    return others * 64 / 2  # the values of kvs


def _of_hosts(placed: PlacedJob, sent: np.ndarray) -> np.ndarray:
    host = [n for n, each in enumerate(placed.hosts) for _ in range(each.processes)]
    between = np.zeros((len(placed.hosts),) * 2)
    for a, row in enumerate(sent):
        for b, size in enumerate(row):
            between[host[a], host[b]] += size
    return between


def _check(draw: Random, folder: Path, name: str, wanted: Callable[[Cluster], bool]) -> int:
    while True:
        document = cluster_document(draw)
        document.pop("dimensions", None)
        cluster = parse_cluster(as_text(document))
        if wanted(cluster):
            break
    (folder / "what.yaml").write_text(TEXTS[name])
    (folder / "job.yaml").write_text(f"{name}: what.yaml\nlossy: true\n")
    job = JobSettings.read(folder / "job.yaml")
    if name == "leo":
        job = replace(job, hosts=",".join(each.name for each in cluster.hosts[:2]))
    placed, kind = PlacedJob.on(job, cluster), kind_of(job)
    measured = draw.random() < 0.5
    seconds = {way: [10 ** draw.uniform(-9, 0)] for way in kind.ways}
    plan = make_job_plan(job, cluster, (lambda ways, size: CalibrationResult(seconds)) if measured else None)
    counted = 0
    for choice in plan.choices:
        if choice.step_s is None or choice.way in SWITCHES:
            continue
        between = _of_hosts(placed, _demand(kind, placed, str(choice.way)))
        least = network_floor_s(cluster, [each.name for each in placed.hosts], 0.0, between)
        assert choice.step_s >= least * (1 - 1e-9), (choice, as_text(document))
        counted += 1
    return counted


@pytest.mark.full
@pytest.mark.parametrize("name", [name for name in TEXTS if name in KINDS.names()])
def test_no_kind_of_job_is_below_its_floor(name, tmp_path):
    def wanted(cluster: Cluster) -> bool:
        single = all(each.processes == 1 for each in cluster.hosts)
        return single if name == "leo" else len(cluster.ranks) in (2, 3, 4, 6, 7)

    assert sum(_check(Random(number), tmp_path, name, wanted) for number in range(6)) >= 12


def test_features_through_a_switch_take_the_narrowest_cut(racks, tmp_path):
    """Each edge between two racks has an end that crosses: as many vectors as a maximum matching has edges."""
    (tmp_path / "what.yaml").write_text(TEXTS["train"])
    (tmp_path / "job.yaml").write_text("train: what.yaml\nlossy: true\n")
    job = JobSettings.read(tmp_path / "job.yaml")
    ports = as_text(
        {
            "hosts": [{"name": f"h{n}"} for n in range(4)],
            "switches": [{"name": n, "control": "10.0.0.1:9559", "memory": "22MB"} for n in ("l1", "l2", "top")],
            "links": [{"ends": [f"h{n}", f"l{1 + n // 2}:{1 + n % 2}"], "rate": "1gbit"} for n in range(4)]
            + [{"ends": [f"l{n}:3", f"top:{n}"], "rate": "1mbit"} for n in (1, 2)],
        }
    )
    cluster = parse_cluster(ports)
    placed, kind = PlacedJob.on(job, cluster), FullGraph()
    boundary = kind.planned(placed, FeatureTransport.P2P).boundary
    near, far = {0, 1}, {2, 3}
    edges = [(int(u), int(v)) for u, v in boundary.cut_edges]
    graph = nx.Graph()
    for u, v in edges:
        for a, b in ((u, v), (v, u)):
            if boundary.owner[a] in near and boundary.owner[b] in far:
                graph.add_edge(("near", a), ("far", b))
    top = [each for each in graph if each[0] == "near"]
    matching = len(nx.bipartite.maximum_matching(graph, top)) // 2
    assert crossing_vectors(boundary, frozenset(near)) == crossing_vectors(boundary, frozenset(far)) == matching > 0
    plan = make_job_plan(job, cluster)
    choice = next(each for each in plan.choices if each.way == FeatureTransport.SWITCH)
    assert choice.step_s is not None, choice.reason
    widths = sum(kind._widths(kind.planned(placed, FeatureTransport.SWITCH)))
    assert choice.step_s >= matching * widths * 4 * 8 / 1e6 * (1 - 1e-9)
    assert str(choice.bound) == "narrowest cut"
