# SPDX-License-Identifier: Apache-2.0
"""htsim's fat trees, InfiniBand, NCCL's hosts and LLDP's tables.

Blind spot: the files are written after the programs' sources and documentation; none of them is installed.
"""

from __future__ import annotations

import json
from dataclasses import fields

import pytest

from cluster_samples import SUBNET, TOPO, imported, lldp, nccl
from offramp.cluster.model import ClusterHost
from offramp_base.errors import OfframpError
from routes import route

THREE_TIERS = """\
Nodes 8
Tiers 3
Podsize 4
Tier 0
Downlink_speed_Gbps 200
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000
Switch_Latency_ns 10
Tier 1
Downlink_speed_Gbps 200
Radix_Down 2
Radix_Up 4
Downlink_Latency_ns 1000
Switch_Latency_ns 20
Bundle 1
Tier 2
Downlink_speed_Gbps 100
Radix_Down 4
Downlink_Latency_ns 1000
Switch_Latency_ns 30
Bundle 2
"""


def ends(cluster):
    return [(link.a.node, link.b.node, link.rate_bps / 1e9) for link in cluster.links]


# --- htsim ------------------------------------------------------------------------------------------------


def test_htsim(tmp_path):
    """Two switches of four hosts, each joined to both above: 400 Gbit/s below, 200 up."""
    cluster = imported(tmp_path, "htsim", TOPO)
    assert [len(cluster.links_of[f"tor{k}"]) for k in (0, 1)] == [6, 6]
    assert [len(cluster.links_of[f"agg{k}"]) for k in (0, 1)] == [2, 2]
    assert route(cluster, "host0", "host3").delay_ns == 2 * 1000 + 300
    assert route(cluster, "host0", "host4").delay_ns == 2 * 1000 + 2 * 500 + 2 * 300 + 400


def test_htsim_of_three_tiers_with_bundles(tmp_path):
    """Two pods of two switches on each tier; two cores, joined to each switch below by two cables of 100 Gbit/s."""
    cluster = imported(tmp_path, "htsim", THREE_TIERS)
    assert [sum(s.name.startswith(tier) for s in cluster.switches) for tier in ("tor", "agg", "core")] == [4, 4, 4]
    assert sorted(link.far("agg0").node for link in cluster.links_of["agg0"]) == [
        *("core0", "core0", "core2", "core2", "tor0", "tor1"),
    ]
    assert route(cluster, "host0", "host7").delay_ns == 6 * 1000 + 2 * 10 + 2 * 20 + 30


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("Nodes 8", "Nodes 6"), "Nodes 6: expected a multiple of 8, Podsize"),
        (("Radix_Up 2", "Radix_Up 3"), "Tier 0: Radix_Up 3: expected 2, as the tiers above need it"),
        (("Radix_Down 4", "Radix_Down 3"), "Podsize 8: expected a multiple of 3, Radix_Down of Tier 0"),
        (("Tiers 2", "Tiers 4"), "Tiers 4: expected 2 or 3"),
        (("Tiers 2\n", ""), "expected Tiers before the first Tier"),
        (("Tier 1", "Tier 2"), "Tiers 2: expected 2 or 3, and a section for each"),
        (("Radix_Up 2", "Radix_Sideways 2"), "line 9: Radix_Sideways: no such field"),
        (("Radix_Up 2", "Radix_Up two"), "line 9: Radix_Up: expected a name and a whole number"),
        (("Radix_Up 2", "Radix_Down 4"), "line 9: Radix_Down for a second time"),
        (("Nodes 8", "Nodes 32000"), "32000 nodes: a cluster has 16384 hosts at most"),
        (("Downlink_Latency_ns 500", ""), "Tier 1: expected downlink_latency_ns"),
        (("Oversubscribed 2", "Oversubscribed 3"), "expected a multiple of 300, Gbit/s of a link up x Oversubscribed"),
    ],
)
def test_htsim_faults(tmp_path, change, message):
    assert change[0] in TOPO
    with pytest.raises(OfframpError, match=message):
        imported(tmp_path, "htsim", TOPO.replace(*change, 1))


# --- InfiniBand -------------------------------------------------------------------------------------------


def test_ibnetdiscover(tmp_path):
    """Adapters of a host are its links; data rates after coding; the node of SHARP is no host."""
    cluster = imported(tmp_path, "ibnetdiscover", SUBNET)
    assert [h.name for h in cluster.hosts] == ["node1", "node2"]
    assert [s.name for s in cluster.switches] == ["leaf1", "S-ec0d9a0300000002"]
    assert sorted(ends(cluster)) == [
        ("S-ec0d9a0300000002", "node2", 32),
        ("leaf1", "S-ec0d9a0300000002", 400),
        ("leaf1", "node1", 100),
        ("leaf1", "node1", 200),
    ]
    assert {str(link.near("leaf1").port) for link in cluster.links_of["leaf1"]} == {"1", "2", "3"}


def test_ibnetdiscover_with_prefixes_of_hexadecimal_numbers_and_without_a_switch(tmp_path):
    """Two adapters and a cable, as some versions print them; one that is printed at one end only is refused."""
    nodes = [
        f'caguid=0xa{k}\nCa\t1 "H-0xa{k}"\t\t# "node-{k} mlx5_0"\n'
        f'[1](0xb{k}) \t"H-0xa{3 - k}"[1](0xb{3 - k})\t\t# lid {k} lmc 0 "node-{3 - k} mlx5_0" lid {3 - k} 4xEDR\n'
        for k in (1, 2)
    ]
    assert ends(imported(tmp_path, "ibnetdiscover", "\n".join(nodes))) == [("node-1", "node-2", 100)]
    with pytest.raises(OfframpError, match=r":4: H-a2: no such switch or adapter: expected what ibnetdiscover prints"):
        imported(tmp_path, "ibnetdiscover", "\n" + nodes[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("4xEDR", "4xFAST"), "ibnetdiscover0:11: 4xFAST: expected a speed such as 4xHDR"),
        (('"S-ec0d9a0300000002"[1]', '"S-ec0d9a0300000009"[1]'), "13: S-ec0d9a0300000009: no such switch or adapter"),
        (('"[1](', '"[one]('), "expected a port such as"),
        (("Switch\t", "Swatch\t"), "ibnetdiscover0:11: a port: expected its switch or adapter in a line before it"),
    ],
)
def test_ibnetdiscover_faults(tmp_path, change, message):
    with pytest.raises(OfframpError, match=message):
        imported(tmp_path, "ibnetdiscover", SUBNET.replace(*change))
    with pytest.raises(OfframpError, match="expected what ibnetdiscover prints of a whole subnet"):
        imported(tmp_path, "ibnetdiscover", "nothing\n")


# --- NCCL -------------------------------------------------------------------------------------------------


def test_nccl_with_a_switch_for_all(tmp_path):
    cluster = imported(tmp_path, "nccl", nccl(), nccl(gpus=8), names=("a.xml", "b-topo.xml"), flat=True)
    assert [(h.name, h.gpus) for h in cluster.hosts] == [("a", 2), ("b", 8)]
    assert ends(cluster) == [("a", "flat", 200), ("a", "flat", 200), ("b", "flat", 200), ("b", "flat", 200)]
    if any(field.name == "inside_bps" for field in fields(ClusterHost)):
        assert {h.inside_bps for h in cluster.hosts} == {12 * 25 * 8 * 10**9}


def test_nccl_over_infiniband(tmp_path):
    """Ports are known by their GUIDs, also with their bytes the other way round, or by the host's name."""
    swapped = f"0x{int.from_bytes(0x506B4B0300000030.to_bytes(8, 'big'), 'little'):x}"
    for second, name in ((nccl((swapped,)), "b.xml"), (nccl(("0x0",)), "node2.xml")):
        cluster = imported(tmp_path, "nccl", nccl(), SUBNET, second, names=("a.xml", "net.txt", name))
        assert sorted(ends(cluster)) == sorted(
            [
                *(("leaf1", "a", 100), ("leaf1", "a", 200), ("leaf1", "S-ec0d9a0300000002", 400)),
                ("S-ec0d9a0300000002", name.partition(".")[0], 32),
            ]
        )


def test_nccl_fused(tmp_path):
    """What NCCL has put together for several machines falls apart again by their hashes."""
    two = nccl().replace("<cpu", '<cpu host_hash="0x1"')
    two = two.replace("</system>\n", nccl(gpus=4).partition("\n")[2].replace("<cpu", '<cpu host_hash="0x2"'))
    cluster = imported(tmp_path, "nccl", two, names=("nvl.xml",), flat=True)
    assert [(h.name, h.gpus) for h in cluster.hosts] == [("nvl-0", 2), ("nvl-1", 4)]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (
            [nccl(), nccl()],
            "nccl0: 2 hosts without links: expected ibnetdiscover's output beside NCCL's files; or --flat",
        ),
        ([nccl(), nccl(), SUBNET.replace("node2", "node3")], "expected ibnetdiscover's output"),
        ([SUBNET], "expected NCCL's <system>"),
        (["<system>"], "nccl0:1: not XML: no element found"),
        (["<topology/>"], "nccl0:1: <topology>: expected NCCL's <system>"),
        (["<system/>"], "nccl0: expected <cpu> with GPUs or network ports"),
        (['<!DOCTYPE x [<!ENTITY a "b">]><system>&a;</system>'], "nccl0:1: a declaration of types"),
        ([nccl().replace('speed="200000"', 'speed="fast"')], "nccl0:16: speed fast: expected a whole number"),
        (["<system>" * 99], "nested deeper than 64"),
    ],
)
def test_nccl_faults(tmp_path, texts, message):
    with pytest.raises(OfframpError, match=message):
        imported(tmp_path, "nccl", *texts)


# --- LLDP -------------------------------------------------------------------------------------------------


def test_lldp_of_hosts(tmp_path):
    tables = [
        lldp(("eth0", "leaf1", "swp1"), medium="100GbaseCR4 - 4-lane copper"),
        lldp(("eth0", "leaf1", "swp2"), ("eth1", "leaf1", "swp3")),
    ]
    cluster = imported(tmp_path, "lldp", *tables, names=("alpha.json", "beta.lldp.json"), rate_bps=10**10)
    assert ends(cluster) == [("alpha", "leaf1", 100), ("beta", "leaf1", 10), ("beta", "leaf1", 10)]
    assert [s.name for s in cluster.switches] == ["leaf1"]


def test_lldp_of_switches(tmp_path):
    """A link that both ends see is one; a host that forwards for its containers is one by its name."""
    spine = lldp(("swp1", "leaf1.example", "swp9"), ("swp2", "leaf2", "swp9"))
    leaf1 = lldp(("swp9", "spine1", "swp1"), ("swp1", "gpu-1", "aa:bb:cc:dd:ee:ff"))
    leaf2 = lldp(("swp9", "spine1", "swp2"), ("swp1", "gpu-2", "eth0"))
    names = ("spine1.json", "leaf1.json", "leaf2.json")
    cluster = imported(tmp_path, "lldp", spine, leaf1, leaf2, names=names)
    assert [h.name for h in cluster.hosts] == ["gpu-1", "gpu-2"]
    assert len(cluster.links) == 4


def test_a_switch_that_leads_nowhere_is_left_out(tmp_path):
    """The first host cannot reach what hangs on another alone, and a cluster file has no such switches."""
    notes = []
    one, two = lldp(("e0", "leaf1", "1")), lldp(("e0", "leaf1", "2"), ("e1", "leaf2", "1"))
    cluster = imported(tmp_path, "lldp", one, two, names=("a.json", "b.json"), note=notes.append)
    assert [s.name for s in cluster.switches] == ["leaf1"]
    assert notes == ["left out: leaf2: a does not reach them, and needs none of them"]


def test_hosts_carry_nothing_for_others(tmp_path):
    """Two hosts that have a cable to a third do not reach each other."""
    middle = lldp(("e0", "h2", "e0"), ("e1", "h3", "e0"), enabled=False)
    with pytest.raises(OfframpError, match="no way from h2 to h3"):
        imported(tmp_path, "lldp", middle, names=("h1.json",))
    cluster = imported(tmp_path, "lldp", middle, names=("h1.json",), flat=True)
    assert len(cluster.links_of["flat"]) == 3


def test_a_neighbour_that_speaks_two_protocols_is_one(tmp_path):
    tables = [lldp(("eth0", "leaf1", "swp1"), ("eth0", "leaf1", "Ethernet1")), lldp(("eth0", "leaf1", "swp2"))]
    assert len(imported(tmp_path, "lldp", *tables).links) == 2


def test_lldp_in_the_form_of_json0(tmp_path):
    row = {
        "name": "eth0",
        "chassis": [
            {"name": [{"value": "tor"}], "id": [{"type": "mac", "value": "1"}], "mgmt-ip": [{"value": "10.0.0.1"}]}
        ],
        "port": [{"id": [{"type": "ifname", "value": "swp1"}]}],
    }
    text = json.dumps({"lldp": [{"interface": [row]}]})
    cluster = imported(tmp_path, "lldp", text, text, names=("a.json", "b.json"))
    assert ends(cluster) == [("a", "tor", 100), ("b", "tor", 100)]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (
            [lldp(("eth0", "leaf1", "1")), lldp(("eth0", "leaf2", "1"))],
            "no way from lldp0 to lldp1: expected the files",
        ),
        (["{}"], "lldp0: expected lldp, as lldpcli show neighbors -f json prints it"),
        (['{"lldp": {"interface": {"eth0": {"chassis": {}}}}}'], "lldp0: eth0: chassis: expected the name or id"),
        (["["], "lldp0: expected JSON"),
        ([lldp(("eth0", "leaf1", "1")), '{"lldp": {}}'], "no way from lldp0 to lldp1"),
    ],
)
def test_lldp_faults(tmp_path, texts, message):
    with pytest.raises(OfframpError, match=message):
        imported(tmp_path, "lldp", *texts)
