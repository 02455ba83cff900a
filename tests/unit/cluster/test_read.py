# SPDX-License-Identifier: Apache-2.0
"""Cluster files: what they mean, what is refused with file and line, and that what is written reads back equal.

Blind spot: addresses are not tried; whether a switch answers there is for whoever deploys.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from offramp.cluster import CableEnd, parse_cluster, read_cluster
from offramp.cluster.names import expand, join
from offramp.cluster.routes import check_connected
from offramp.cluster.write import cluster_text
from offramp_base.errors import OfframpError
from routes import next_links, route

RACKS = """\
name: two-racks
hosts:
  - name: h[1-4]
    address: 10.1.0.1
    cores: 8
    memory: 16GB
    agents: [{name: nic0, cores: 2, interface: eth0}]
    cards: [{name: fpga0, device: "fpga:simulated"}]
    hardware: off-path
switches:
  - {name: "leaf[1-2]", control: "10.0.0.1:9559", ports: 8}
  - {name: "spine[1-2]", target: tna, memory: 22MB}
links:
  - {ends: ["h[1-2]", leaf1], rate: 100mbit, delay: 10us}
  - {ends: ["h[3-4]:data0", "leaf2"], rate: 100mbit, delay: 10us}
  - {ends: ["leaf1", "spine[1-2]"], rate: 1gbit}
  - {ends: ["leaf2:7", "spine1"], rate: 1gbit}
  - {ends: ["leaf2", "spine2"], rate: 1gbit}
dimensions:
  - {type: switch, size: 2, rate: 100mbit}
  - {type: in-network, size: 2, rate: 100mbit, latency: 12us, payload_share: 0.9}
"""


def test_names_ports_and_addresses_are_counted():
    cluster = parse_cluster(RACKS)
    assert [host.name for host in cluster.hosts] == ["h1", "h2", "h3", "h4"]
    assert [host.address for host in cluster.hosts] == ["10.1.0.1", "10.1.0.2", "10.1.0.3", "10.1.0.4"]
    assert [switch.control for switch in cluster.switches] == ["10.0.0.1:9559", "10.0.0.2:9559", None, None]
    assert (cluster.links[0].a, cluster.links[0].b) == (CableEnd("h1", "eth0"), CableEnd("leaf1", 1))
    assert (cluster.links[3].a, cluster.links[3].b) == (CableEnd("h4", "data0"), CableEnd("leaf2", 2))
    assert cluster.links[6].a == CableEnd("leaf2", 7)
    assert cluster.links[7].a == CableEnd("leaf2", 3)
    assert cluster.links[0].delay_ns == 10_000
    assert cluster.rate_bps("h1") == 10**8
    assert cluster.place("h3") == "cluster.yaml:3"
    assert cluster.place("leaf2:7 - spine1:2") == "cluster.yaml:17"


def test_what_is_written_reads_back_equal(tmp_path):
    cluster = parse_cluster(RACKS)
    (tmp_path / "c.yaml").write_text(cluster_text(cluster))
    assert replace(read_cluster(tmp_path / "c.yaml"), origin=cluster.origin) == cluster


def test_ways_take_the_fewest_links_and_never_cross_a_host():
    cluster = parse_cluster(RACKS)
    for source in cluster.hosts:
        for target in cluster.hosts:
            nodes = route(cluster, source.name, target.name).nodes
            same = (source.name in ("h1", "h2")) == (target.name in ("h1", "h2"))
            assert len(nodes) == (1 if source is target else 3 if same else 5)
            assert not {host.name for host in cluster.hosts} & set(nodes[1:-1])
    assert {next_links(cluster, host.name)["leaf1"].far("leaf1").node for host in cluster.hosts[2:]} <= {
        "spine1",
        "spine2",
    }


def test_hosts_that_are_joined_by_a_host_alone_are_not_connected():
    cluster = parse_cluster(
        "hosts: [{name: 'h[1-3]'}]\nlinks:\n - {ends: [h1, h2], rate: 1g}\n - {ends: [h2, h3], rate: 1g}"
    )
    with pytest.raises(OfframpError, match=r"cluster.yaml:1: h3: no way to h1"):
        check_connected(cluster)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("h[1-4]\n", "h[1-4],h2\n", r"cluster.yaml:3: hosts\[0\].name: h2 is there twice, first in line 3"),
        ('["h[1-2]", leaf1]', "[leaf1, leaf1]", r"cluster.yaml:14: links\[0\].ends: a loop: both ends are at leaf1"),
        ('["h[1-2]", leaf1]', "[h9, leaf1]", r"cluster.yaml:14: links\[0\].ends\[0\]: h9: no such host or switch"),
        ('"leaf2:7"', '"leaf2:9"', r"cluster.yaml:17: links\[3\].ends\[0\]: port 9 of leaf2: expected 1 to 8"),
        ('["leaf2", "spine2"]', '["leaf2:7", "spine2"]', r"cluster.yaml:18: .* leaf2:7 has a link already, in line 17"),
        ("ports: 8", "ports: 3", "cluster.yaml:17: .*port 7 of leaf2: expected 1 to 3"),
        ("100mbit, delay", "fast, delay", r"cluster.yaml:14: links\[0\].rate: fast: expected a rate such as"),
        ("delay: 10us", "delay: 10", r"cluster.yaml:14: links\[0\].delay: 10: expected a time such as 700ns"),
        ("cores: 8", "cores: 0", r"cluster.yaml:5: hosts\[0\].cores: 0: expected 1 to 65536"),
        ("memory: 16GB", "memory: much", r"cluster.yaml:6: hosts\[0\].memory: much: expected a size"),
        ("target: tna", "target: abacus", r"cluster.yaml:12: switches\[1\].target: abacus: expected one of v1model"),
        ("cores: 2, interface", "cores: 2, nic", r"cluster.yaml:7: hosts\[0\].agents\[0\].nic: no such field"),
        ("10.1.0.1\n", "first\n", r"cluster.yaml:4: hosts\[0\].address: first: expected an IP address"),
        ("type: switch, size: 2", "type: switch, size: 3", "cluster.yaml:19: dimensions: their sizes make 6, but .* 4"),
        ("type: switch, size: 2", "type: switch, size: 1", "cluster.yaml:19: dimensions: their sizes make 2, but .* 4"),
        ('"leaf2:7"', '"leaf2:0"', r"cluster.yaml:17: links\[3\].ends\[0\]: port 0 of leaf2: expected 1 to 8"),
        ("memory: 22MB", "cert: me.pem", r"cluster.yaml:12: switches\[1\]: cert and key: expected both or neither"),
        ("name: h[1-4]", "name: h[4-1]", r"cluster.yaml:3: hosts\[0\].name: \[4-1\]: expected ranges such as 1-4,7"),
        ("name: h[1-4]", "name: h/1", r"cluster.yaml:3: hosts\[0\].name: h/1: expected letters, digits"),
        ("switches:", "routers:", "cluster.yaml:10: routers: no such field; expected one of name, hosts"),
    ],
)
def test_faults_are_named_with_file_and_line(old, new, message):
    assert old in RACKS
    with pytest.raises(OfframpError, match=message):
        parse_cluster(RACKS.replace(old, new, 1))


@pytest.mark.parametrize("port", [1, 8])
def test_the_first_and_the_last_port_of_a_switch(port):
    text = "hosts: [{name: h1}]\nswitches: [{name: s1, ports: 8}]\nlinks:\n  - {ends: [h1, 's1:PORT'], rate: 1gbit}\n"
    assert parse_cluster(text.replace("PORT", str(port))).links[0].b.port == port


def test_two_hosts_of_one_address():
    with pytest.raises(OfframpError, match=r"cluster.yaml:3: .*10.0.0.1 is the address of a, too"):
        parse_cluster("hosts:\n - {name: a, address: 10.0.0.1}\n - {name: b, address: 10.0.0.1}\n")


@pytest.mark.parametrize("names", [["a1", "a2", "a3", "a7"], ["n09", "n10", "n11"], ["x"], ["x", "y1"]])
def test_names_in_one_word(names):
    assert expand(join(names)) == names


def test_hostile_names_cost_nothing():
    many, wide = "[0-65535]" * 20_000, ",".join(["0-65535"] * 20_000)
    for text in ("a[1-999999999]", "a[1-60000]b[1-60000]", many, f"a[{wide}]", "a[", "a]b", "[]", ""):
        with pytest.raises(OfframpError):
            expand(text)
    assert len(expand("a[0-32767]b[0-1]")) == len(expand("a[0-32767,1-32768]")) == 65536
    for text in ("a[0-32768]b[0-1]", "a[0-32767,1-32769]", "a[0-65535],b"):
        with pytest.raises(OfframpError, match=r"65536 names|expected ranges"):
            expand(text)
