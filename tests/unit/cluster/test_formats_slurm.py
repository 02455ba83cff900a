# SPDX-License-Identifier: Apache-2.0
"""Slurm's nodes and topologies: trees, blocks, YAML, link speeds.

Blind spot: the files are written after Slurm's manual pages; Slurm is not installed.
"""

from __future__ import annotations

import pytest

from cluster_samples import NODES, TREE, TREE_YAML, imported
from offramp.cluster.formats import Defaults, import_cluster
from offramp_base.errors import OfframpError
from routes import route

TWO = "NodeName=srv110[1-2] CPUTot=224 Gres=gpu:h100:8(S:0-1) RealMemory=2000000\n"
BLOCKS = "BlockName=b1 Nodes=srv1101\nBlockName=b2 Nodes=srv1102\nBlockSizes=1\n"


def rates(cluster):
    return {f"{link.a.node} {link.b.node}": link.rate_bps / 1e9 for link in cluster.links}


def test_keys_in_any_case_and_files_in_any_order(tmp_path):
    tree = "switchname=leaf1 nodes=srv1101\nSWITCHNAME=leaf2 NODES=srv1102 # Nodes=srv1103\nSwitchName=core \\\n"
    tree += "  Switches=leaf[1-2]\n"
    cluster = imported(tmp_path, "slurm", tree, TWO.lower().replace("nodename", "nodename"))
    assert [(h.name, h.cores, h.gpus) for h in cluster.hosts] == [("srv1101", 224, 8), ("srv1102", 224, 8)]
    assert route(cluster, "srv1101", "srv1102").nodes == ("srv1101", "leaf1", "core", "leaf2", "srv1102")


def test_what_scontrol_prints_of_each_node(tmp_path):
    """The indented lines are of the node above them; what it says first counts; a device without a number is one."""
    last = "   CPUTot=32 Gres=gpu,gpu:a100\n   CPUTot=2 RealMemory=1000\n"
    hosts = imported(tmp_path, "slurm", f"{NODES}{last}", TREE).hosts
    mib = 1 << 20
    assert [(h.name, h.cores, h.gpus, h.memory // mib) for h in hosts] == [
        ("gpu1", 128, 4, 515000),
        ("gpu2", 128, 2, 515000),
        ("cpu1", 64, 0, 257000),
        ("cpu2", 64, 0, 257000),
    ]
    hosts = imported(tmp_path, "slurm", f"NodeName=a CPUTot=8\nNodeName=b\n{last}", "SwitchName=s Nodes=a,b\n").hosts
    assert [(h.name, h.cores, h.gpus) for h in hosts] == [("a", 8, 0), ("b", 32, 2)]


def test_cores_of_nodes_that_say_sockets(tmp_path):
    nodes = "NodeName=a Sockets=2 CoresPerSocket=8 ThreadsPerCore=2\nNodeName=b SocketsPerBoard=3\nNodeName=c\n"
    nodes += "NodeName=d Sockets=x ThreadsPerCore=2\n"
    cluster = imported(tmp_path, "slurm", nodes, "SwitchName=s Nodes=a,b,c,d\n")
    assert [host.cores for host in cluster.hosts] == [32, 3, 1, 2]


def test_links_up_carry_what_is_below(tmp_path):
    """Eight hosts of a leaf and two spines: each link up has half of it, and less if the user says so."""
    tree = "SwitchName=a Nodes=n[1-8]\nSwitchName=b Nodes=n[9-16]\n"
    tree += "SwitchName=s1 Switches=a,b\nSwitchName=s2 Switches=a,b\n"
    cluster = imported(tmp_path, "slurm", "NodeName=n[1-16] CPUs=4\n", tree)
    assert {rate for ends, rate in rates(cluster).items() if ends.startswith("n")} == {100}
    assert [rate for ends, rate in rates(cluster).items() if not ends.startswith("n")] == [400] * 4
    cluster = imported(tmp_path, "slurm", "NodeName=n[1-16] CPUs=4\n", tree, oversubscription=2.0)
    assert [rate for ends, rate in rates(cluster).items() if not ends.startswith("n")] == [200] * 4


def test_three_tiers(tmp_path):
    tree = "SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[3-4]\nSwitchName=s Switches=a\nSwitchName=t Switches=b\n"
    tree += "SwitchName=top Switches=s,t\n"
    cluster = imported(tmp_path, "slurm", "NodeName=n[1-4]\n", tree)
    assert rates(cluster)["a s"] == rates(cluster)["s top"] == 200


@pytest.mark.parametrize(
    ("text", "gbit"), [("200", 200), ("2.5", 2.5), ("400gbit", 400), ("400Gbps", 400), ("40000Mb/s", 40), ("1", 100)]
)
def test_link_speed(tmp_path, text, gbit):
    """A rate with its unit, or a number of Gbit/s; Slurm's own 1 says nothing."""
    cluster = imported(tmp_path, "slurm", TWO, f"SwitchName=s Nodes=srv110[1-2] LinkSpeed={text}\n")
    assert {link.rate_bps for link in cluster.links} == {gbit * 1e9}


def test_what_link_speed_oversubscribes_is_said(tmp_path):
    notes = []
    imported(tmp_path, "slurm", NODES, TREE, note=notes.append)
    assert notes == [
        "leaf1: 100Gbit up for 200Gbit below, 2:1, as the files say",
        "leaf2: 100Gbit up for 200Gbit below, 2:1, as the files say",
    ]


def test_blocks(tmp_path):
    cluster = imported(tmp_path, "slurm", TWO, BLOCKS)
    assert [(s.name, len(cluster.links_of[s.name])) for s in cluster.switches] == [("b1", 2), ("b2", 2), ("blocks", 2)]
    printed = "BlockName=b1 BlockIndex=0 Nodes=srv1101 BlockSize=1\nBlockName=b2 BlockIndex=1 Nodes=srv1102\n"
    printed += "AggregatedBlock=b[1-2] BlockIndex=2 Nodes=srv110[1-2] BlockSize=2\n"
    assert imported(tmp_path, "slurm", TWO, printed).links == cluster.links
    one = imported(tmp_path, "slurm", TWO, "BlockName=b1 Nodes=srv110[1-2]\nBlockSizes=2\n")
    assert [s.name for s in one.switches] == ["b1"]


def test_what_scontrol_prints_of_a_topology(tmp_path):
    """Upper switches list all nodes below them, and every LinkSpeed is 1."""
    printed = (
        "SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=gpu[1-2]\nSwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=cpu[1-2]\n"
    )
    printed += "SwitchName=spine Level=1 LinkSpeed=1 Nodes=cpu[1-2],gpu[1-2] Switches=leaf[1-2]\n"
    cluster = imported(tmp_path, "slurm", NODES, printed)
    assert cluster.links == imported(tmp_path, "slurm", NODES, TREE.replace(" LinkSpeed=100", "")).links


def test_yaml(tmp_path):
    notes = []
    cluster = imported(tmp_path, "slurm", NODES, TREE_YAML, note=notes.append)
    assert {(link.a.node, link.b.node) for link in cluster.links} == {
        (link.a.node, link.b.node) for link in imported(tmp_path, "slurm", NODES, TREE).links
    }
    assert notes == [f"{tmp_path}/slurm1: fabric taken, of 2 topologies"]
    blocks = TREE_YAML.replace("cluster_default: true", "cluster_default: false")
    blocks = blocks.replace("- topology: blocks", "- topology: blocks\n  cluster_default: true")
    assert [s.name for s in imported(tmp_path, "slurm", NODES, blocks).switches] == ["b1", "b2", "blocks"]


def test_slurm_conf(tmp_path):
    """Defaults of nodes, addresses of ranges, threads from sockets; other lines belong to no node."""
    text = "NodeName=DEFAULT Sockets=2 CoresPerSocket=32 ThreadsPerCore=2 RealMemory=1000 Gres=gpu:4\n"
    text += "NodeName=n[1-2] NodeAddr=10.1.0.[1-2]\nPartitionName=p Nodes=ALL CPUs=9\n"
    cluster = imported(tmp_path, "slurm", text, "SwitchName=s Nodes=n[1-2]\n")
    assert [(h.cores, h.gpus, h.address, h.memory) for h in cluster.hosts] == [
        (128, 4, f"10.1.0.{k}", 1000 << 20) for k in (1, 2)
    ]


def test_flat(tmp_path):
    cluster = imported(tmp_path, "slurm", TWO, flat=True)
    assert [(str(link.a.node), link.b.node, link.rate_bps) for link in cluster.links] == [
        ("srv1101", "flat", 10**11),
        ("srv1102", "flat", 10**11),
    ]
    partly = imported(tmp_path, "slurm", NODES, "SwitchName=leaf1 Nodes=gpu[1-2]\n", flat=True)
    assert rates(partly)["leaf1 flat"] == 200
    assert rates(partly)["cpu1 flat"] == 100


def test_a_flat_network_of_many_nodes_is_one_switch(tmp_path):
    cluster = imported(tmp_path, "slurm", "NodeName=n[1-600] CPUs=4\n", flat=True)
    assert [(s.name, s.ports, len(cluster.links_of[s.name])) for s in cluster.switches] == [("flat", 600, 600)]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([TWO], r"slurm0: 2 hosts without links: expected topology.conf or topology.yaml beside it.* --flat"),
        (
            [NODES, TREE.replace(",2]", "]").replace("Nodes=cpu[1-2]", "Nodes=cpu1")],
            "no way from gpu1 to cpu2: expected",
        ),
        ([NODES, TREE.rpartition("SwitchName")[0]], "no way from gpu1 to cpu1: expected topology.conf"),
        ([NODES, TREE.replace("LinkSpeed=100", "LinkSpeed=fast")], "slurm1:4: LinkSpeed=fast: expected a rate"),
        ([NODES, TREE.replace("LinkSpeed=100", "LinkSpeed=0")], "slurm1:4: LinkSpeed=0: expected a rate"),
        ([TREE, "# nothing"], "slurm0: expected NodeName="),
        ([NODES, TREE + "SwitchName=leaf1 Nodes=gpu1\n"], "slurm1:5: leaf1 is there twice, first in .*slurm1:2"),
        ([NODES, TREE + "SwitchName=x Switches=y\nSwitchName=y Switches=x\n"], "slurm1:5: x, y: a circle"),
        ([NODES, TREE + "SwitchName=x Switches=x\n"], "slurm1:5: x: a circle"),
        ([NODES, TREE.replace("Nodes=cpu[1-2]", "Nodes=cpu[1-2],cpu2")], "slurm1:3: cpu2 is there twice"),
        ([NODES, "RingName=r Nodes=gpu[1-2]\n"], "slurm1:1: RingName: expected a topology of switches or blocks"),
        ([NODES, TREE_YAML.replace("nodes: cpu[1-2]", "nodes: cpu[1-3]")], "slurm1:9: Nodes: cpu3: no such node"),
        ([NODES, TREE_YAML.replace("children: leaf[1-2]", "children: leaf[1-")], "slurm1:6: .*expected names such as"),
        ([NODES, "- topology: t\n  flat: true\n"], "4 hosts without links: expected topology.conf"),
        ([NODES, "- topology: t\n"], r"slurm1:1: \[0\]: expected one of tree, block, flat"),
        (
            [NODES, "- topology: t\n  tree: {switches: 1}\n"],
            r"slurm1:2: \[0\].tree.switches: expected a list of switches",
        ),
        ([NODES, NODES], "gpu1 is there twice"),
    ],
)
def test_faults(tmp_path, texts, message):
    with pytest.raises(OfframpError, match=message):
        imported(tmp_path, "slurm", *texts)


def test_one_node_needs_no_network(tmp_path):
    assert len(imported(tmp_path, "slurm", "NodeName=alone CPUs=8\n").hosts) == 1


def test_defaults_comments_and_notes(tmp_path):
    """``NodeName=DEFAULT`` concerns the nodes after it; ``#`` begins a comment but in a kernel's version."""
    first = "NodeName=n1 CPUs=2\nNodeName=DEFAULT CPUs=8 RealMemory=1000\nNodeName=n2\n"
    last = "NodeName=n3 CPUs=4 # NodeName=n9\nNodeName=n4 OS=Linux 5 #101 SMP RealMemory=7\n"
    cluster = imported(tmp_path, "slurm", first + last, "SwitchName=s Nodes=n[1-4] # Nodes=n9\n")
    mib = 1 << 20
    assert [(h.name, h.cores, h.memory) for h in cluster.hosts] == [
        ("n1", 2, None),
        ("n2", 8, 1000 * mib),
        ("n3", 4, 1000 * mib),
        ("n4", 8, 7 * mib),
    ]


def test_topology_yaml_goes_before_topology_conf(tmp_path):
    notes: list[str] = []
    paths = []
    for name, text in {"nodes": NODES, "conf": TREE, "yaml": TREE_YAML}.items():
        paths.append(tmp_path / name)
        paths[-1].write_text(text)
    cluster = import_cluster("slurm", paths, Defaults(note=notes.append))
    alone = import_cluster("slurm", [paths[0], paths[2]], Defaults())
    assert (cluster.switches, cluster.links) == (alone.switches, alone.links)
    assert "topology.conf left out: Slurm ignores it where there is topology.yaml" in notes
    notes.clear()
    import_cluster("slurm", paths[:2], Defaults(note=notes.append))
    assert not any("left out" in note for note in notes)
