# SPDX-License-Identifier: Apache-2.0
"""The commands that give hosts their addresses and switches without programs a bridge; none of them runs."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from offramp.cluster import parse_cluster
from offramp.fabric import fabric_of
from offramp_sim.lab import namespaces
from offramp_sim.lab.namespaces import MTU, Spaces

CLUSTER = """
name: two
hosts: [{name: "h[1-2]"}]
switches: [{name: s1, target: v1model}, {name: s2, target: sonic}]
links:
  - {ends: ["h[1-2]", s1], rate: 1gbit}
  - {ends: ["h[1-2]", s2], rate: 1gbit}
"""


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], list[str]]]:
    """Batches of commands that would have run."""
    noted: list[tuple[list[str], list[str]]] = []
    monkeypatch.setattr(namespaces, "_batch", lambda words, lines: noted.append((list(words), list(lines))))
    return noted


def test_a_host_has_its_address_at_its_first_port() -> None:
    cluster = parse_cluster(CLUSTER)
    spaces = Spaces(fabric_of(cluster))
    host = cluster.hosts[0]
    first, second = (link.near(host.name).port for link in cluster.links_of[host.name])
    assert spaces._configuration(host) == [
        "link set lo up",
        f"link set {first} address {host.mac}",
        f"link set {first} addrgenmode none up",
        f"link set {second} addrgenmode none up",
        f"address add {host.address}/32 dev {first}",
        f"route add 0.0.0.0/0 dev {first} initcwnd 32",
    ]


def test_a_switch_without_a_program_is_a_bridge(
    batches: list[tuple[list[str], list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Spaces, "forward", lambda *_: None)
    monkeypatch.setattr(namespaces, "ports_of_hosts", lambda _: {})
    spaces = Spaces(fabric_of(parse_cluster(CLUSTER)))
    spaces._bridge()
    assert batches == [
        (["ip"], ["link add s1 type bridge", f"link set s1 mtu {MTU} up"]),
        (["ip"], ["link set s1p1 master s1", "link set s1p2 master s1"]),
        (["bridge"], [f"link set dev s1p{port} learning off flood off" for port in (1, 2)]),
    ]
    assert spaces.notes == ["s2 (sonic) is a bridge of the kernel: it forwards, and takes nothing"]


def test_what_a_laboratory_holds_ends_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[str] = []

    def make(spaces: Spaces) -> None:
        assert isinstance(spaces._stack, ExitStack)
        spaces._stack.callback(ended.append, "keeper")
        if ended == ["keeper"]:
            raise OSError("no room")

    monkeypatch.setattr(Spaces, "_make", make)
    spaces = Spaces(fabric_of(parse_cluster(CLUSTER)))
    with spaces:
        assert ended == []
    assert ended == ["keeper"]
    with pytest.raises(OSError, match="no room"):
        spaces.__enter__()
    assert ended == ["keeper", "keeper"]


@pytest.mark.parametrize("delays", [False, True])
def test_the_ends_of_links_have_their_rates_and_what_the_kernel_has_of_delays(
    batches: list[tuple[list[str], list[str]]], delays: bool
) -> None:
    """4 ms of the rate at once, but at least four frames; a queue of 50 ms, but at least eight."""
    text = CLUSTER.replace("rate: 1gbit}", "rate: 1gbit, delay: 30us}", 1).replace(
        "s2], rate: 1gbit", "s2], rate: 1mbit"
    )
    cluster = parse_cluster(text)
    spaces = Spaces(fabric_of(cluster))
    spaces._has_delays = delays
    fast, slow = cluster.links[0], cluster.links[-1]
    spaces._limit(None, [("s1p1", fast), ("s2p1", slow)])
    queue = round(10**9 / 8 * 0.05)
    leaf = f"netem limit {queue // 1500 + 10_000} delay 30.000us" if delays else f"bfifo limit {queue}"
    many = f"rate 1000000000bit burst 500000 cburst 500000 quantum {4 * MTU}"
    few = f"rate 1000000bit burst {4 * MTU} cburst {4 * MTU} quantum {4 * MTU}"
    assert batches == [
        (
            ["tc"],
            [
                "qdisc add dev s1p1 root handle 1: htb default 1",
                f"class add dev s1p1 parent 1: classid 1:1 htb {many}",
                f"qdisc add dev s1p1 parent 1:1 {leaf}",
                "qdisc add dev s2p1 root handle 1: htb default 1",
                f"class add dev s2p1 parent 1: classid 1:1 htb {few}",
                f"qdisc add dev s2p1 parent 1:1 bfifo limit {8 * MTU}",
            ],
        )
    ]
