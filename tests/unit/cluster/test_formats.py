# SPDX-License-Identifier: Apache-2.0
"""Other programs' files as clusters, and back.

Blind spot: the files are written after the programs' documentation; none of the programs is installed.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from cluster_samples import NODES, P4APP, TREE, imported
from offramp.cluster import parse_cluster
from offramp.cluster.formats import export_cluster
from offramp_base.errors import OfframpError
from routes import route

CLAB = """\
name: mylab
topology:
  nodes:
    h1: {kind: linux, image: alpine, mgmt-ipv4: 172.20.20.11}
    h2: {kind: linux}
    srl1: {kind: nokia_srlinux}
    p4: {kind: linux, labels: {offramp.target: v1model}}
  links:
    - endpoints: ["h1:eth1", "srl1:e1-1"]
    - endpoints: ["srl1:e1-2", "p4:eth3"]
      vars: {rate: 100Mbit, delay: 2ms}
    - type: veth
      endpoints: [{node: p4, interface: eth4}, {node: h2, interface: eth1}]
"""
TUTORIAL = {
    "hosts": {"h1": {"ip": "10.0.1.1/24"}, "h2": {"ip": "10.0.2.2/24"}},
    "switches": {"s1": {}, "s2": {}},
    "links": [["h1", "s1-p1"], ["h2", "s2-p1"], ["s1-p3", "s2-p3", "0", 0.5]],
}


def test_slurm(tmp_path):
    cluster = imported(tmp_path, "slurm", NODES, TREE)
    assert [(h.name, h.cores, h.gpus, h.address) for h in cluster.hosts] == [
        ("gpu1", 128, 4, "10.0.0.11"),
        ("gpu2", 128, 2, None),
        ("cpu1", 64, 0, None),
        ("cpu2", 64, 0, None),
    ]
    assert cluster.hosts[0].memory == 515_000 << 20
    assert {h.reach for h in cluster.hosts} == {"srun"}
    assert route(cluster, "gpu1", "cpu2").nodes == ("gpu1", "leaf1", "spine", "leaf2", "cpu2")
    assert {(each.rate_bps, each.delay_ns) for each in cluster.links} == {(10**11, 500.0)}


def test_kubernetes(tmp_path):
    items = [
        {
            "metadata": {"name": f"node-{n}", "labels": {"network.topology.nvidia.com/leaf": f"l{n // 2}"}},
            "status": {
                "addresses": [{"type": "InternalIP", "address": f"10.2.0.{n + 1}"}],
                "capacity": {"cpu": "64", "memory": "527944Ki", "nvidia.com/gpu": "8"},
                "allocatable": {"cpu": "63500m", "memory": "527000Ki", "nvidia.com/gpu": "8"},
            },
        }
        for n in range(4)
    ]
    for item in items:
        item["metadata"]["labels"]["network.topology.nvidia.com/spine"] = "s0"
    cluster = imported(tmp_path, "kubernetes", json.dumps({"kind": "List", "items": items}))
    assert [(h.cores, h.memory, h.gpus) for h in cluster.hosts] == [(63, 527_000 << 10, 8)] * 4
    assert route(cluster, "node-0", "node-3").nodes == ("node-0", "l0", "s0", "l1", "node-3")


def test_containerlab(tmp_path):
    cluster = imported(tmp_path, "containerlab", CLAB)
    assert [each.target for each in cluster.switches] == ["plain", "v1model"]
    assert cluster.hosts[0].address == "172.20.20.11"
    assert [str(link.a) + " " + str(link.b) for link in cluster.links] == [
        "h1:eth1 srl1:1",
        "srl1:2 p4:3",
        "p4:4 h2:eth1",
    ]
    assert (cluster.links[1].rate_bps, cluster.links[1].delay_ns) == (10**8, 2e6)


def test_p4_utils_and_the_tutorials(tmp_path):
    cluster = imported(tmp_path, "p4-utils", json.dumps(P4APP))
    assert [(str(each.a), str(each.b), each.rate_bps, each.delay_ns) for each in cluster.links] == [
        ("h1:eth0", "s1:1", 10**7, 5e6),
        ("s1:7", "s2:1", 2_500_000, 500.0),
        ("h2:eth0", "s2:2", 10**11, 500.0),
    ]
    cluster = imported(tmp_path, "p4-utils", json.dumps(TUTORIAL))
    assert (str(cluster.links[2].a), cluster.links[2].rate_bps) == ("s1:3", 500_000)


@pytest.mark.parametrize("kind", ["containerlab", "p4-utils"])
def test_what_is_exported_is_the_same_network_again(tmp_path, kind):
    original = parse_cluster(
        "hosts: [{name: 'h[1-3]', address: 10.0.0.1}]\nswitches: [{name: 's[1-2]'}]\nlinks:\n"
        "  - {ends: ['h[1-2]', s1], rate: 100mbit, delay: 3ms}\n  - {ends: [h3, 's2:9'], rate: 1gbit}\n"
        "  - {ends: [s1, s2], rate: 1gbit}\n"
    )
    again = imported(tmp_path, kind, export_cluster(kind, original))

    def network(cluster):
        return [(link.a.node, link.b.node, link.b.port, link.rate_bps, link.delay_ns) for link in cluster.links], [
            replace(host, reach="ssh") for host in cluster.hosts
        ]

    assert network(again) == network(original)


@pytest.mark.parametrize(
    ("kind", "texts", "message"),
    [
        ("slurm", [TREE], "slurm0: expected NodeName="),
        ("slurm", [NODES, TREE.replace("gpu[1-2]", "gpu[1-3]")], "slurm1:2: Nodes: gpu3: no such node"),
        ("slurm", [NODES.replace("CPUTot=64", "CPUTot=many")], "slurm0:12: CPUTot=many: expected a number"),
        ("kubernetes", ["{}"], "kubernetes0: expected items"),
        ("kubernetes", ['{"items": [{"metadata": {}}]}'], r"items\[0\]: metadata.name: expected a name"),
        ("containerlab", [CLAB.replace('"h1:eth1"', '"h1"')], r"containerlab0:9: .*expected NODE:INTERFACE"),
        ("containerlab", [CLAB.replace("e1-1", "mgmt")], "containerlab0:9: .*mgmt: expected the number of a port"),
        ("containerlab", ["name: x"], "containerlab0:1: topology: expected fields by name"),
        (
            "p4-utils",
            [json.dumps(P4APP).replace('"bw": 10', '"bw": "much"')],
            r"links\[0\]: bw much: expected a number",
        ),
        ("p4-utils", ["[1]"], "p4-utils0: expected hosts, switches and links"),
        ("p4-utils", [json.dumps(P4APP).replace('"h2", "s2"', '"h3", "s2"')], "p4-utils0: .*h3: no such host"),
        ("astra-sim", ["topology: [ Ring ]"], "astra-sim0: npus_count: expected one item"),
        ("astra-sim", ['{"topology-name": "Ring"}'], "astra-sim0: units-count is missing"),
    ],
)
def test_faults(tmp_path, kind, texts, message):
    with pytest.raises(OfframpError, match=message):
        imported(tmp_path, kind, *texts)


def test_no_export_of_what_the_other_has_no_word_for():
    cluster = parse_cluster("hosts: [{name: h1}]\nswitches:\n  - {name: s1, target: tna}\n")
    with pytest.raises(OfframpError, match=r"cluster.yaml:3: s1: containerlab has no tna"):
        export_cluster("containerlab", cluster)
