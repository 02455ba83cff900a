# SPDX-License-Identifier: Apache-2.0
"""Bytes of links from the counters at their ends: all links, also between switches and of hosts with several."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from offramp.cluster import Cluster, ClusterHost, ClusterSwitch, parse_cluster
from offramp.cluster.reach import command_on
from offramp.cluster.write import cluster_text
from offramp.job.counters import interfaces_of, link_bytes, of_hosts, since
from offramp_sim.lab.start import held, possible_mode


def counters_of(node: ClusterHost | ClusterSwitch) -> dict[str, tuple[int, int]]:
    """Counters of a node that tell its name and the interface."""
    return {f"{name}{k}": (100 * len(node.name) + k, k) for name in ("eth", "Ethernet") for k in range(9)}


def test_every_link_is_counted_once_from_its_first_end(racks: Cluster) -> None:
    counted = link_bytes(racks, counters_of)
    assert list(counted) == list(racks.links)
    for link, (first, second) in counted.items():
        a, b = (str(end.port).removeprefix("eth") for end in (link.a, link.b))
        sides = [(100 * len(link.a.node) + int(a), int(a)), (int(b), 100 * len(link.b.node) + int(b))]
        assert (first, second) in (sides[:1] if isinstance(racks.by_name[link.a.node], ClusterHost) else sides)


def test_nodes_that_do_not_tell_leave_their_links_out(racks: Cluster) -> None:
    def hosts_only(node: ClusterHost | ClusterSwitch) -> dict[str, tuple[int, int]]:
        return counters_of(node) if isinstance(node, ClusterHost) else {}

    ends = {(link.a.node, link.b.node) for link in racks.links} - {
        (link.a.node, link.b.node) for link in link_bytes(racks, hosts_only)
    }
    assert ends == {("leaf1", "spine"), ("leaf2", "spine")}
    assert not [link for link in link_bytes(racks, counters_of, nodes={"h1"}) if "h1" not in (link.a.node, link.b.node)]


def test_a_host_has_the_bytes_of_all_its_links() -> None:
    cluster = parse_cluster(
        "name: two\nhosts: [{name: h1}, {name: h2}]\nswitches: [{name: s1}, {name: s2}]\nlinks:\n"
        '  - {ends: ["h[1-2]", s1], rate: 1gbit}\n  - {ends: [s2, "h[1-2]"], rate: 1gbit}\n'
    )
    counted = link_bytes(cluster, lambda _: {"eth0": (10, 1), "eth1": (200, 20)})
    assert of_hosts(cluster.hosts, cluster, counted) == {"h1": (210, 21), "h2": (210, 21)}
    assert [pair for link, pair in counted.items() if link.a.node == "s2"] == [(20, 200)] * 2


def test_between_two_counts(racks: Cluster) -> None:
    first, second, third, *_ = racks.links
    before = {first: (1, 2), second: (5, 5), third: (0, 0)}
    assert since(before, {first: (11, 22), second: (4, 9)}) == {first: (10, 20)}


def test_a_switch_is_reached_as_its_file_says(racks: Cluster) -> None:
    switch = racks.switches[0]
    assert interfaces_of(switch) == {}
    reached = replace(switch, reach="ssh", interface="Ethernet{port}")
    assert reached.interface_of(3) == "Ethernet3"
    words = command_on(reached, ["ip", "link"])
    assert words[0] == "ssh"
    assert words[-2:] == ["10.0.0.1", "ip link"]
    again = parse_cluster(cluster_text(replace(racks, switches=(reached, *racks.switches[1:]))))
    assert again.switches[0] == reached


@pytest.mark.full
@pytest.mark.netns
def test_a_laboratory_counts_links_between_switches(tmp_path: Path) -> None:
    mode, reason = possible_mode()
    if mode == "sockets":
        pytest.skip(f"no network namespaces: {reason}")
    path = tmp_path / "c.yaml"
    path.write_text(
        "name: counted\nhosts: [{name: h1}, {name: h2}]\nswitches: [{name: s1, target: plain}, {name: s2}]\n"
        "links: [{ends: [h1, s1], rate: 100mbit}, {ends: [s1, s2], rate: 100mbit}, {ends: [s2, h2], rate: 100mbit}]\n"
    )
    with held(path, name=f"counted-{time.monotonic_ns() % 10**9}") as (lab, _):
        cluster = lab.cluster()
        before = link_bytes(cluster)
        assert list(before) == list(cluster.links)
        h1, h2 = cluster.hosts
        script = "import socket as s; w = s.socket(s.AF_INET, s.SOCK_DGRAM); "
        script += f"[w.sendto(bytes(1000), ('{h2.where}', 9)) for _ in range(5)]"
        subprocess.run(command_on(h1, [sys.executable, "-c", script]), check=True, capture_output=True)
        deadline = time.monotonic() + 20
        while (moved := since(before, link_bytes(cluster)))[cluster.links[-1]][0] < 5 * 1042:
            assert time.monotonic() < deadline, moved
    for first, second in moved.values():  # and refusals by ICMP on the way back
        assert 5 * 1042 <= first < 5 * 1042 + 2000 > second, moved
