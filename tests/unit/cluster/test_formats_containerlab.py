# SPDX-License-Identifier: Apache-2.0
"""containerlab's and p4-utils' topologies: which nodes are switches, and what is left out.

Blind spot: the files are written after the programs' documentation; none of the programs is installed.
"""

from __future__ import annotations

import json

import pytest
import yaml

from cluster_samples import CLAB, P4APP, imported
from offramp.cluster import parse_cluster
from offramp.cluster.formats import export_cluster
from offramp.cluster.formats.roles import role_word, switches_among
from offramp_base import documents
from offramp_base.errors import OfframpError
from routes import route


def test_leaves_that_run_linux_are_switches(tmp_path):
    """Hosts hang on ``left`` and ``right``; a host of two leaves stays one; telemetry without links is left out."""
    notes = []
    cluster = imported(tmp_path, "containerlab", CLAB, note=notes.append)
    assert [h.name for h in cluster.hosts] == ["h1", "h2", "h3"]
    assert [s.name for s in cluster.switches] == ["spine1", "spine2", "left", "right"]
    assert notes == [f"{tmp_path}/containerlab0: left out: gnmic: without links to other nodes"]
    assert len(route(cluster, "h1", "h2").nodes) == 5
    assert [link.rate_bps for link in cluster.links if link.a.node == "right"] == [10**11, 10**11]
    assert len(cluster.links) == 8


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("leaf1", "switch"),
        ("rack2-gpu3", "host"),
        ("gpu-leaf1", "switch"),
        ("superspine-01", "switch"),
        ("h12", "host"),
        ("client1.core.example.com", "host"),
        ("alpha", None),
        ("10.0.0.1", None),
    ],
)
def test_roles_by_name(name, role):
    assert role_word(name) == role


@pytest.mark.parametrize(
    ("links", "switches"),
    [
        ("a-b", ""),
        ("a-x b-x", "x"),
        ("a-x x-y y-b", "x y"),
        ("a-x x-m m-y y-b", "x m y"),  # m joins no host, but all need it
        ("a-x b-y x-y m-x m-y", "x y"),  # m is needed by nobody: a host of two links
    ],
)
def test_roles_by_links(links, switches):
    neighbours: dict[str, set[str]] = {}
    for link in links.split():
        a, b = link.split("-")
        neighbours.setdefault(a, set()).add(b)
        neighbours.setdefault(b, set()).add(a)
    assert switches_among(neighbours, {}) == set(switches.split())


@pytest.mark.parametrize(
    "change",
    [
        ("left: {kind: linux}", "left: {kind: linux, group: leafs}"),
        ("left: {kind: linux}", "left: {kind: linux, labels: {role: leaf}}"),
        ("left: {kind: linux}", "left: {image: 'frrouting/frr:10', kind: linux}"),
    ],
)
def test_a_switch_by_group_label_or_image(tmp_path, change):
    text = CLAB.replace(*change).replace('["h1:eth1", "left:eth3"]', '["h1:eth1", "spine1:e1-3"]')
    assert "left" in {s.name for s in imported(tmp_path, "containerlab", text).switches}


def test_ports_of_several_line_cards_are_counted(tmp_path):
    """``ethernet-1/1`` and ``ethernet-2/1`` are two ports, though both end in 1; ge-0/0/0 is one, too."""
    text = "topology:\n  nodes: {s: {kind: srl}, h1: {kind: linux}, h2: {kind: linux}, h3: {kind: linux}}\n  links:\n"
    for host, port in (("h1", "ethernet-2/1"), ("h2", "ethernet-1/1"), ("h3", "ge-0/0/0")):
        text += f'    - endpoints: ["{host}:eth1", "s:{port}"]\n'
    assert [str(link.b) for link in imported(tmp_path, "containerlab", text).links] == ["s:3", "s:2", "s:1"]


def test_ports_that_differ_keep_their_numbers(tmp_path):
    text = "topology:\n  nodes: {s: {kind: srl}, h1: {kind: linux}, h2: {kind: linux}}\n  links:\n"
    for host, port in (("h1", "e1-5"), ("h2", "e1-1")):
        text += f'    - endpoints: ["{host}:eth1", "s:{port}"]\n'
    assert [str(link.b) for link in imported(tmp_path, "containerlab", text).links] == ["s:5", "s:1"]
    twice = text + '    - endpoints: ["h1:eth2", "s:e1-1"]\n'
    with pytest.raises(OfframpError, match="s:e1-1 has two links"):
        imported(tmp_path, "containerlab", twice)


def test_switches_are_those_that_join_others(tmp_path):
    nodes = ", ".join(f"{name}: {{kind: linux}}" for name in ("alpha", "beta", "gamma", "delta"))
    links = "".join(f'    - endpoints: ["{a}:eth1", "{b}:eth{k}"]\n' for a, b, k in (
        ("alpha", "gamma", 2), ("beta", "delta", 2), ("gamma", "delta", 1),
    ))  # fmt: skip
    cluster = imported(tmp_path, "containerlab", f"topology:\n  nodes: {{{nodes}}}\n  links:\n{links}")
    assert [switch.name for switch in cluster.switches] == ["gamma", "delta"]


def test_one_topology_at_a_time(tmp_path):
    with pytest.raises(OfframpError, match="containerlab1: expected one topology"):
        imported(tmp_path, "containerlab", CLAB, CLAB, CLAB)


def test_what_a_topology_has_of_a_cluster():
    text = """
    name: lab
    hosts:
      - {name: h1, address: 10.1.0.7}
      - {name: h2}
    switches:
      - {name: s1}
      - {name: s2, target: sonic}
    links:
      - {ends: ["h1:eth0", "s1:3"], rate: 1gbit, delay: 10us}
      - {ends: ["h2:eth0", "s2:4"], rate: 1mbit}
      - {ends: ["s1:1", "s2:2"], rate: 10gbit}
    """
    written = yaml.safe_load(export_cluster("containerlab", parse_cluster(text)))["topology"]
    assert written["nodes"]["h1"]["exec"] == [
        "ip address add 10.1.0.7/16 dev eth1",
        "tc qdisc add dev eth1 root tbf rate 1000000000bit burst 500000 latency 50ms",
    ]
    assert written["nodes"]["h2"]["exec"] == [
        "ip address add 10.0.0.2/16 dev eth1",
        "tc qdisc add dev eth1 root tbf rate 1000000bit burst 32000 latency 50ms",
    ]
    assert written["nodes"]["s2"] == {"kind": "sonic-vs", "labels": {"offramp.target": "sonic"}}
    assert [link["endpoints"] for link in written["links"]] == [
        ["h1:eth1", "s1:eth3"],
        ["h2:eth1", "s2:eth4"],
        ["s1:eth1", "s2:eth2"],
    ]
    assert written["links"][0]["vars"] == {"rate": "1Gbit", "delay": "10us"}


@pytest.mark.full
def test_three_hundred_hosts_have_addresses_of_their_own():
    text = "name: lab\nhosts: [{name: 'h[0-299]'}]\nswitches: [{name: s, ports: 300}]\n"
    cluster = parse_cluster(text + "links: [{ends: ['h[0-299]', s], rate: 1gbit}]")
    nodes = yaml.load(export_cluster("containerlab", cluster), documents.LongLoader)["topology"]["nodes"]
    addresses = {nodes[f"h{n}"]["exec"][0].split()[3] for n in range(300)}
    assert len(addresses) == 300
    assert {"10.0.0.1/16", "10.0.0.254/16", "10.0.1.1/16", "10.0.1.46/16"} <= addresses


def test_p4_utils_defaults(tmp_path):
    app = json.loads(json.dumps(P4APP))
    app["topology"]["default"] = {"bw": 3, "auto_arp_tables": False}
    assert [link.rate_bps for link in imported(tmp_path, "p4-utils", json.dumps(app)).links] == [
        10**7,
        2_500_000,
        3 * 10**6,
    ]


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("containerlab", CLAB.replace('"h1:eth1", "left:eth3"', '"h1:eth1", "lost:eth3"'), ":20: .*lost: no such node"),
        (
            "containerlab",
            "topology: {nodes: {a: {kind: srl}, b: {kind: srl}}}",
            "no hosts: expected nodes of kind linux",
        ),
        (
            "containerlab",
            "topology: {nodes: {a: , b: , c: , d: }, links: [{endpoints: [a:e, b:e]}, {endpoints: [c:e, d:e]}]}",
            "no way from a to c: expected nodes of kind linux as hosts, joined by links",
        ),
        ("containerlab", "topology: {nodes: {a: {}}, links: 3}", "links: expected a list"),
        ("containerlab", "topology: {nodes: {a: , b: }, links: [{endpoints: ab}]}", "expected two endpoints"),
        ("p4-utils", json.dumps(P4APP).replace('["s1", "s2", {"bw": 2.5, "port1": 7}], ', ""), "no way from h1 to h2"),
    ],
)
def test_faults(tmp_path, kind, text, message):
    with pytest.raises(OfframpError, match=message):
        imported(tmp_path, kind, text)
