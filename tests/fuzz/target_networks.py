# SPDX-License-Identifier: Apache-2.0
"""Cluster files and workloads of Themis: ours, and those of ASTRA-sim and SimAI."""

from __future__ import annotations

import math
import random
from contextlib import suppress
from pathlib import Path

from fuzzing import mutate, render
from offramp.themis.network import Collective
from offramp.themis.network_file import load_network
from offramp.themis.system_file import read_system
from offramp_base.errors import OfframpError
from offramp_sim.themis.workload_file import load_workload

NAME = "Themis's networks and workloads, ASTRA-sim's files"
_NETWORK = {
    "name": "pod",
    "dimensions": [
        {"type": "switch", "size": 16, "rate": "1200gbit", "latency": "700ns"},
        {"type": "ring", "size": 4, "rate": "200.5gbit"},
        {"type": "in-network", "size": 8, "rate": "100gbit", "payload_share": 0.9},
    ],
}
_ASTRA_NETWORK = (
    "topology: [ Ring, FullyConnected, Switch ]\nnpus_count: [ 2, 8, 4 ]  # comment\n"
    "bandwidth: [ 200.0, 100.0, 50.0 ]\nlatency: [ 50, 500.0, 2000.0 ]\n"
)
_ASTRA_1_NETWORK = {
    "topology-name": "Hierarchical",
    "topologies-per-dim": ["Ring", "AllToAll", "Switch"],
    "dimensions-count": 3,
    "units-count": [2, 8, 4],
    "links-count": [2, 7, 1],
    "link-latency": [500, 500, 500],
    "link-bandwidth": [250, 25, 12.5],
    "nic-latency": [0, 0, 1],
    "hbm-bandwidth": [370, 370, 13],
    "hbm-latency": [500, 1, 0],
    "hbm-scale": [0, 1, 1.5],
}
_ASTRA_TORUS = {
    "topology-configuration": {
        "topology-name": "Torus2D",
        "dims-count": 1,
        "packages-counts": [12],
        "topology-shape-configs": [[3, 4]],
        "link-bandwidth": [25],
        "link-latency": 500,
    }
}
_EXCHANGE = {"collective": "all-reduce", "bytes": 18816, "scope": "data", "blocking": True}
_WORKLOAD = {
    "name": "mine",
    "model_parallel": 16,
    "fuse_gradients": True,
    "layer": [
        {"name": "conv1", "forward_us": 12.5, "input_us": 1, "weight_us": 12.5, "weight": [_EXCHANGE]},
        {"name": "conv2", "forward": [_EXCHANGE], "recompute": True, "awaits": "conv1"},
    ],
}
_DLRM = (
    "HYBRID_DLRM 1\n3\nBottom_0 -1 1280 NONE 0 794 NONE 0 896 ALLREDUCE 13312 13\n"
    "Top_0 -1 6400 NONE 0 6400 NONE 0 4480 ALLREDUCE 1064960 1065\n"
    "Top_1 -1 2560 ALLTOALL 7 2560 NONE 0 1792 ALLREDUCE 524288 524\n"
)
_ASTRA_WORKLOADS = (
    _DLRM,
    (
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 4 checkpoints: 1 0 checkpoint_initiates: 1 2\n3\n"
        "a -1 300 ALLGATHER 98304 300 NONE 0 300 NONE 0 98\nb -1 1 NONE 0 7 NONE 0 8 ALLREDUCE 13312 13\n"
        "b -1 1 ALLREDUCE 5 7 REDUCESCATTER 9 8 ALLREDUCE 13312 13\n"
    ),
    (
        "HYBRID_TRANSFORMER model_parallel_NPU_group: 2 ep: 4 pp: 2 vpp: 1 ga: 8 all_gpus: 512 pp_comm 12\n2\n"
        "moe -1 1 ALLTOALL_EP 4096 1 ALLTOALL 4096 1 ALLREDUCE_DP_EP 512 100\nx -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n"
    ),
    "HYBRID_CUSTOMIZED\n1\na -1 1 ALLGATHER 3 1 REDUCESCATTER 3 1 NONE 0 1 HYBRID_MODEL_DATA\n",
)
_SYSTEM = {
    "scheduling-policy": "LIFO",
    "endpoint-delay": 10,
    "active-chunks-per-dimension": 2,
    "preferred-dataset-splits": 4,
    "all-reduce-implementation": ["ring", "direct", "halvingDoubling"],
    "all-to-all-implementation": ["oneDirect"],
    "collective-optimization": "localBWAware",
    "local-mem-bw": 50.5,
}
_SYSTEM_LINES = (
    "scheduling-policy: LIFO\nendpoint-delay: 10\npreferred-dataset-splits: 4\nactive-chunks-per-dimension: 1\n"
    "all-reduce-implementation: ring_direct_halvingDoubling\ncollective-optimization: localBWAware\n"
)
_HERE = Path()


def prepare() -> None:
    """A network to read workloads for."""
    load_network(str(render.write(_HERE / "fixed.toml", render.to_toml(_NETWORK).encode())))
    render.write(_HERE / "fixed.yml", _ASTRA_NETWORK.encode())


def run(rng: random.Random) -> None:
    """One file of one of the kinds."""
    kind = rng.randrange(6)
    if kind == 0:
        form = rng.choice(("toml", "yaml"))
        network = load_network(str(render.write(_HERE / f"n.{form}", render.document(rng, _NETWORK, form))))
    elif kind == 1:
        text = mutate.text(rng, _ASTRA_NETWORK).encode("utf-8", "surrogatepass")
        network = load_network(str(render.write(_HERE / "n.yml", text)))
    elif kind == 4:
        shape = rng.choice((_ASTRA_1_NETWORK, _ASTRA_TORUS))
        network = load_network(str(render.write(_HERE / "n.json", render.document(rng, shape, "json"))))
    elif kind == 5:
        _run_system(rng)
        return
    if kind not in (2, 3):
        assert all(math.isfinite(d.bandwidth_bps) and d.size >= 1 for d in network.dimensions)
        return
    network = load_network("fixed.toml")
    if kind == 2:
        path = render.write(_HERE / "w.toml", render.document(rng, _WORKLOAD, "toml"))
    else:
        text = mutate.text(rng, rng.choice(_ASTRA_WORKLOADS)).encode("utf-8", "surrogatepass")
        path = render.write(_HERE / "w.txt", text)
    workload = load_workload(str(path), network)
    if math.prod((workload.model_parallel, workload.expert_parallel, workload.pipeline)) <= network.npus:
        with suppress(OfframpError):  # groups need not divide the network
            workload.dims(workload.fitted(network))


def _run_system(rng: random.Random) -> None:
    if rng.random() < 0.5:
        content = render.document(rng, _SYSTEM, "json")
    else:
        content = mutate.text(rng, _SYSTEM_LINES).encode("utf-8", "surrogatepass")
    system = read_system(str(render.write(_HERE / "s.json", content)))
    network = system.on(load_network("fixed.yml"))
    stage = rng.choice(list(Collective))
    assert all(d.transfer_ps(stage, 1 << 20) >= 0 for d in network.dimensions)
