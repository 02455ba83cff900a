# SPDX-License-Identifier: Apache-2.0
"""The packet-level simulator beside ns-3 on stars, leaf-spine networks and fat trees: same times, ten times faster.

Needs g++ and an interpreter with the ``ns3`` wheel (GPL, so not of this project's environment), named by the variable
``OFFRAMP_NS3_PYTHON``: ``python -m venv DIR && DIR/bin/pip install ns3``. The yardstick is compiled against the wheel's
headers and libraries.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import ns3_wheel
from offramp_sim.packets import Framing, LinkProperties, fat_tree, leaf_spine, star
from offramp_sim.packets.flows import flows
from offramp_sim.packets.simulate import simulate

pytestmark = pytest.mark.bench

PAYLOAD, HEADER = 1020, 30  # UDP, IPv4 and PPP; 1050 bytes take whole nanoseconds at 10 Gbit/s
RATE_BPS, DELAY_NS = 10_000_000_000, 2_000
LINKS = LinkProperties(RATE_BPS, DELAY_NS * 1000)
FAT = {32: (4, 2, 4, 2, 2), 128: (8, 4, 4, 4, 4), 1024: (16, 8, 8, 8, 8), 4096: (32, 8, 16, 8, 16)}
LEAVES = {32: 4, 128: 8, 1024: 32, 4096: 64}
SIZES = tuple(LEAVES)


def shape_of(kind, hosts):
    """The topology, and the numbers of nodes below and above those of each level."""
    if kind == "star":
        return star(hosts, LINKS), (hosts,), (1,)
    if kind == "leaf-spine":
        leaves, each = LEAVES[hosts], hosts // LEAVES[hosts]
        return leaf_spine(leaves, each, each, LINKS), (each, leaves), (1, each)
    pods, leaves, each, spines, cores = FAT[hosts]
    return fat_tree(pods, leaves, each, spines, cores, LINKS), (each, leaves, pods), (1, spines, cores)


@pytest.fixture(scope="module")
def ns3(tmp_path_factory):
    tree = ns3_wheel.program(Path(__file__).with_name("ns3_tree.cc"), tmp_path_factory.mktemp("ns3"))

    def run(below, above, table):
        words = [len(below), *below, *above, RATE_BPS, DELAY_NS, PAYLOAD, len(table)]
        words += [word for _, sink, size, _ in table for word in (sink, size // PAYLOAD)]
        done = tree(words).split()
        return int(done[0]), float(done[1]), np.array(done[2:], float)

    return run


def one_flow_each(hosts, packets, seed):
    """Every host sends one flow to a random other, so that what it sends needs no scheduling of its own."""
    rng = np.random.default_rng(seed)
    sinks = (np.arange(hosts) + rng.integers(1, hosts, hosts)) % hosts
    sizes = rng.integers(packets // 2, packets + 1, hosts) * PAYLOAD
    return [(int(a), int(b), int(s), 0) for a, b, s in zip(range(hosts), sinks, sizes, strict=True)]


def ours(topology, table, cores=1):
    return simulate(topology, flows=flows(table), framing=Framing(PAYLOAD, HEADER), cores=cores)


@pytest.mark.parametrize("kind", ["star", "leaf-spine", "fat-tree"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_completion_times_agree(ns3, kind, seed):
    """Within a few packets: who of two goes first at the same instant is not defined."""
    topology, below, above = shape_of(kind, 32)
    table = one_flow_each(32, 60, seed)
    received, _, finish = ns3(below, above, table)
    assert received == sum(size // PAYLOAD for _, _, size, _ in table)
    most = (2 * len(below) - 1) * (1050 * 0.8e-9 + 1e-9)
    np.testing.assert_allclose(ours(topology, table).finish_ps / 1e12, finish, rtol=0, atol=most)


def rate(topology, total, cores, turns=3):
    """Packets per second, the best of three."""
    table = one_flow_each(topology.hosts, max(2, total // topology.hosts), 1)
    packets = sum(size // PAYLOAD for _, _, size, _ in table)
    return max(packets / ours(topology, table, cores).wall_s for _ in range(turns))


@pytest.mark.timeout(900)
def test_ten_times_as_fast_at_every_size_and_shape(ns3):
    """One run of everything; the table is that of docs/results/simulators.md."""
    slow = []
    rows = []
    ours(star(2, LINKS), one_flow_each(2, 4, 0))  # compiled
    for kind in ("star", "leaf-spine", "fat-tree"):
        for hosts in SIZES:
            topology, below, above = shape_of(kind, hosts)
            table = one_flow_each(hosts, max(120, 200_000 // hosts), 0)
            packets = sum(size // PAYLOAD for _, _, size, _ in table)
            run = ours(topology, table)
            received, seconds, finish = ns3(below, above, table)
            assert received == packets
            error = np.abs(run.finish_ps / 1e12 / finish - 1).max()
            one, two = (rate(topology, 3_000_000, cores) for cores in (1, 2))
            peer = packets / seconds
            rows.append(
                f"| {kind} | {hosts:,} | {peer:,.0f} | {packets / run.wall_s:,.0f} | {one:,.0f} | {one / peer:.0f} "
                f"| {two:,.0f} | {two / one:.2f} | {100 * error:.2f} % |"
            )
            sys.stdout.write(f"{rows[-1]}\n")
            sys.stdout.flush()
            if one < 10 * peer or packets / run.wall_s < 10 * peer or error > 0.03 or (hosts == 1024 and one < 1e6):
                slow.append(rows[-1])
    assert not slow, "\n".join(slow)


@pytest.mark.timeout(300)
def test_two_cores_beside_one():
    """Without ns-3; both in turns, so that what else the machine does counts for both."""
    ours(star(2, LINKS), one_flow_each(2, 4, 0))  # compiled
    slow = []
    for kind in ("star", "leaf-spine", "fat-tree"):
        for hosts in SIZES:
            topology, _, _ = shape_of(kind, hosts)
            turns = np.array([[rate(topology, 3_000_000, cores, 1) for cores in (1, 2)] for _ in range(4)])
            one, two = turns.max(axis=0)
            sys.stdout.write(f"| {kind} | {hosts:,} | {one:,.0f} | {two:,.0f} | {two / one:.2f} |\n")
            sys.stdout.flush()
            if hosts >= 1024 and two < 1.6 * one:
                slow.append((kind, hosts))
    assert not slow
