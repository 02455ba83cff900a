# SPDX-License-Identifier: Apache-2.0
"""Kubernetes' nodes: which are hosts, and the switches that their labels say.

Blind spot: the labels are those of the vendors' documentation; no cluster was asked.
"""

from __future__ import annotations

import pytest

from cluster_samples import imported, node, nodes
from offramp_base.errors import OfframpError
from routes import route

NVIDIA, GOOGLE, AMAZON = (
    "network.topology.nvidia.com",
    "cloud.google.com/gce-topology",
    "topology.k8s.aws/network-node-layer",
)
ZONE, REGION, RACK = (f"topology.kubernetes.io/{each}" for each in ("zone", "region", "rack"))
CONTROL = {
    "metadata": {"name": "cp-1", "labels": {"node-role.kubernetes.io/control-plane": ""}},
    "spec": {"taints": [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}]},
    "status": {
        "capacity": {"cpu": "7910m", "memory": "32Gi"},
        "addresses": [
            {"type": "InternalIP", "address": "fd00::1"},
            {"type": "InternalIP", "address": "10.0.0.9"},
        ],
    },
}


def test_the_control_plane_is_left_out(tmp_path):
    items = [node(f"n{k}", {f"{NVIDIA}/leaf": "l"}) for k in range(2)]
    notes = []
    cluster = imported(tmp_path, "kubernetes", nodes(*items, CONTROL), note=notes.append)
    assert [h.name for h in cluster.hosts] == ["n0", "n1"]
    assert notes == [f"{tmp_path}/kubernetes0: left out: cp-1: they run the control plane, without GPUs"]


def test_the_control_plane_is_a_host_if_it_is_all_there_is_or_has_gpus(tmp_path):
    (alone,) = imported(tmp_path, "kubernetes", nodes(CONTROL)).hosts
    assert (alone.name, alone.cores, alone.memory, alone.address) == ("cp-1", 7, 32 << 30, "10.0.0.9")
    gpus = {**CONTROL, "status": {"capacity": {"nvidia.com/gpu": "4"}}}
    gpus["metadata"] = {"name": "cp-1", "labels": {**CONTROL["metadata"]["labels"], f"{NVIDIA}/leaf": "l"}}
    cluster = imported(tmp_path, "kubernetes", nodes(gpus, node("n", {f"{NVIDIA}/leaf": "l"})))
    assert [(h.name, h.gpus) for h in cluster.hosts] == [("cp-1", 4), ("n", 8)]


@pytest.mark.parametrize(
    ("labels", "path"),
    [
        (
            [{f"{NVIDIA}/leaf": "l1", f"{NVIDIA}/spine": "s"}, {f"{NVIDIA}/leaf": "l2", f"{NVIDIA}/spine": "s"}],
            "l1 s l2",
        ),
        (
            [
                {
                    f"{NVIDIA}/accelerator": "nvl1",
                    f"{NVIDIA}/leaf": f"l{k}",
                    f"{NVIDIA}/spine": f"s{k}",
                    f"{NVIDIA}/core": "c",
                }
                for k in (1, 2)
            ],
            "l1 s1 c s2 l2",
        ),
        ([{f"{NVIDIA}/block": f"b{k}", f"{NVIDIA}/datacenter": "dc"} for k in (1, 2)], "b1 dc b2"),
        ([{"nvidia.com/gpu.clique": "abc.0"}] * 2, "abc.0"),
        (
            [{f"{GOOGLE}-block": "b", f"{GOOGLE}-subblock": f"s{k}", f"{GOOGLE}-host": f"h{k}"} for k in (1, 2)],
            "s1 b s2",
        ),
        (
            [{f"{AMAZON}-1": "nn-1", f"{AMAZON}-2": "nn-2", f"{AMAZON}-3": f"nn-3{k}"} for k in (1, 2)],
            "nn-31 nn-2 nn-32",
        ),
        ([{RACK: f"r{k}", ZONE: "z"} for k in (1, 2)], "r1 z r2"),
        ([{RACK: "r1", ZONE: f"z{k}", REGION: "eu"} for k in (1, 2)], "r1 z1 eu z2 r1-z2"),
        ([{ZONE: "z"}, {ZONE: "z", RACK: "r"}], "z r"),
    ],
)
def test_labels(tmp_path, labels, path):
    """The way between two nodes; a rack's number in two zones names two racks."""
    cluster = imported(tmp_path, "kubernetes", nodes(*(node(f"n{k}", each) for k, each in enumerate(labels))))
    assert " ".join(route(cluster, "n0", "n1").nodes[1:-1]) == path


def test_a_leaf_has_its_spine_from_any_of_its_nodes(tmp_path):
    """Four nodes of 100 Gbit/s below a leaf: 400 up; the top that joins nothing is not there."""
    items = [node(f"n{k}", {f"{NVIDIA}/leaf": f"l{k // 4}", ZONE: "z"}) for k in range(8)]
    for item in (items[3], items[6]):
        item["metadata"]["labels"][f"{NVIDIA}/spine"] = "s"
    cluster = imported(tmp_path, "kubernetes", nodes(*items))
    assert [s.name for s in cluster.switches] == ["l0", "s", "l1"]
    assert [link.rate_bps for link in cluster.links if link.b.node == "s"] == [4 * 10**11] * 2


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (
            [node("a", {}), node("b", {})],
            "2 hosts without links: expected labels that join the nodes, such as .* --flat",
        ),
        ([node("a", {RACK: "r1"}), node("b", {RACK: "r2"})], "no way from a to b: expected labels"),
        ([node("a", {}) | {"spec": []}], r"items\[0\]: spec: expected fields by name"),
        ([node("a", {}) | {"status": {"capacity": {"cpu": "many"}}}], r"items\[0\]: cpu many: expected cores"),
        ([node("a", {}) | {"status": {"capacity": {"memory": "1Xi"}}}], r"items\[0\]: memory 1Xi: expected a size"),
    ],
)
def test_faults(tmp_path, items, message):
    with pytest.raises(OfframpError, match=message):
        imported(tmp_path, "kubernetes", nodes(*items))


def test_flat(tmp_path):
    cluster = imported(tmp_path, "kubernetes", nodes(node("a", {RACK: "r1"}), node("b", {RACK: "r2"})), flat=True)
    assert route(cluster, "a", "b").nodes == ("a", "r1", "flat", "r2", "b")
