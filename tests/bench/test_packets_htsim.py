# SPDX-License-Identifier: Apache-2.0
"""The packet-level simulator beside htsim on leaf-spine networks and fat trees: the same times.

Needs htsim's programs, built by its Makefile (``sim``, then ``sim/datacenter``), in the folder that ``OFFRAMP_HTSIM``
names; nothing of it is kept here. Its RoCE senders send at the line's rate as ours do without congestion control; their
pauses are put out of reach. Networks have one path between two hosts, since other paths are drawn by other hashes, and
what is acknowledged meets no data: htsim tells when the last acknowledgement is back. Blind to: choices of paths.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from offramp.cluster.model import LinkFailure
from offramp.fabric import fabric_of, make_cluster
from offramp_sim.packets import Framing, LinkProperties, fat_tree, leaf_spine
from offramp_sim.packets.control import Swift
from offramp_sim.packets.flows import flows
from offramp_sim.packets.routed import packet_topology
from offramp_sim.packets.simulate import simulate

FOLDER = os.environ.get("OFFRAMP_HTSIM")
pytestmark = [
    pytest.mark.bench,
    pytest.mark.skipif(not FOLDER, reason="OFFRAMP_HTSIM names no folder of htsim's programs"),
]

RATE_BPS, DELAY_NS = 100_000_000_000, 1_000
LINKS = LinkProperties(RATE_BPS, DELAY_NS * 1000)
PAYLOAD, HEADER = 4096, 64  # of a packet, and as long an acknowledgement
ANSWER_US = DELAY_NS / 1e3 + HEADER * 8e6 / RATE_BPS
"""Time of an acknowledgement on one link."""
END_US = "100000"
PACKET_US = (PAYLOAD + HEADER) * 8e6 / RATE_BPS
QUEUES = ("-q", "100000", "-pfc_thresholds")
FAR, USUAL = ("90000", "99999"), ("12", "15")
"""Packets of an input at which its sender goes on and is paused: none reaches them; those that htsim begins with."""


def tree_file(folder, below, lowest):
    """A tree with one way up from each switch: nodes below a switch of each level, from the hosts on."""
    lines = [f"Nodes {np.prod(below)}", f"Tiers {len(below)}", f"Podsize {np.prod(below[:lowest])}", ""]
    for tier, count in enumerate(below):
        lines += [f"Tier {tier}", f"Downlink_speed_Gbps {RATE_BPS // 10**9}", f"Radix_Down {count}"]
        if tier + 1 < len(below):
            lines += ["Radix_Up 1", f"Oversubscribed {count}"]
        lines += ["Bundle 1"] if tier and len(below) > 2 else []
        lines += [f"Downlink_Latency_ns {DELAY_NS}", "Switch_Latency_ns 0", ""]
    path = folder / "tree.topo"
    path.write_text("\n".join(lines))
    return path


def htsim(folder, program, hosts, table, *more):
    """Time of each flow's last acknowledgement, in microseconds by source and sink; and the time that the run took."""
    rows = [f"{a}->{b} id {k} start 0 size {size}" for k, (a, b, size, _) in enumerate(table, 1)]
    (folder / "flows.cm").write_text("\n".join([f"Nodes {hosts}", f"Connections {len(rows)}", *rows, ""]))
    command = [Path(FOLDER) / f"htsim_{program}", "-nodes", str(hosts), "-tm", folder / "flows.cm"]
    command += ["-linkspeed", str(RATE_BPS // 10**6), "-end", END_US, "-o", folder / "log", *more]
    began = time.perf_counter()
    said = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
    ended = re.findall(r"^Flow \D*(\d+)_(\d+).* finished at ([\d.e+]+)", said, re.MULTILINE)
    assert len(ended) == len(table), said[-500:]
    return {(int(a), int(b)): float(at) for a, b, at in ended}, time.perf_counter() - began


def roce(folder, tree, hosts, table, pauses):
    """The time of each flow's last acknowledgement, in microseconds; and the time that the run took."""
    more = ("-topo", tree, "-mtu", str(PAYLOAD), "-strat", "ecmp_host", "-paths", "1", *QUEUES, *pauses)
    back, took_s = htsim(folder, "roce", hosts, table, *more)
    return np.array([back[a, b] for a, b, *_ in table]), took_s


def one_way(hosts, packets, seed):
    """Each host of the first half sends to a random one of the second."""
    rng = np.random.default_rng(seed)
    sinks = rng.integers(hosts // 2, hosts, hosts // 2)
    sizes = rng.integers(packets // 2, packets + 1, hosts // 2) * PAYLOAD
    return [(a, int(b), int(s), 0) for a, (b, s) in enumerate(zip(sinks, sizes, strict=True))]


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(
    ("topology", "below", "lowest", "hops"),
    [
        (leaf_spine(4, 1, 8, LINKS), (8, 4), 2, 4),
        (leaf_spine(16, 1, 8, LINKS), (8, 16), 2, 4),
        (fat_tree(2, 4, 4, 1, 1, LINKS), (4, 4, 2), 2, 6),
        (fat_tree(4, 4, 8, 1, 1, LINKS), (8, 4, 4), 2, 6),
    ],
    ids=["leaf-spine-32", "leaf-spine-128", "fat-tree-32", "fat-tree-128"],
)
def test_completion_times_agree(tmp_path, topology, below, lowest, hops, seed):
    """Within a packet: who of two goes first at the same instant is not defined."""
    hosts = topology.hosts
    table = one_way(hosts, 60, seed)
    theirs, took_s = roce(tmp_path, tree_file(tmp_path, below, lowest), hosts, table, FAR)
    run = simulate(topology, flows=flows(table), framing=Framing(PAYLOAD, HEADER))
    off = np.abs(run.finish_ps / 1e6 - (theirs - hops * ANSWER_US))
    packets = sum(size // PAYLOAD for _, _, size, _ in table)
    sys.stdout.write(
        f"| {hosts} | {packets / took_s:,.0f} | {packets / run.wall_s:,.0f} | {off.max() / PACKET_US:.2f} |\n"
    )
    assert off.max() <= PACKET_US


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    ("shape", "failed", "below", "lowest", "hops"),
    [
        ("leaf-spine:4x2x8", [(f"leaf{k}", "spine1") for k in range(4)], (8, 4), 2, 4),
        ("fat-tree:2x4x4x1x2", [("spine0", "core0")], (4, 4, 2), 2, 6),
        ("fat-tree:2x4x8x1x2", [("spine1", "core1")], (8, 4, 2), 2, 6),
    ],
)
def test_fabrics_with_failed_links_are_the_trees_that_are_left(tmp_path, shape, failed, below, lowest, hops, seed):
    """htsim's own failures stop it at links back (an assertion), so it gets the network that is left."""
    cluster = make_cluster(shape, rate_bps=RATE_BPS, delay_ns=DELAY_NS, routing="ecmp")
    cluster = replace(cluster, failures=tuple(LinkFailure(pair) for pair in failed))
    topology = packet_topology(fabric_of(cluster))
    table = one_way(topology.hosts, 60, seed)
    theirs, _ = roce(tmp_path, tree_file(tmp_path, below, lowest), topology.hosts, table, FAR)
    run = simulate(topology, flows=flows(table), framing=Framing(PAYLOAD, HEADER))
    off = np.abs(run.finish_ps / 1e6 - (theirs - hops * ANSWER_US))
    sys.stdout.write(f"{shape}: {off.max() / PACKET_US:.2f} packets, {(off / theirs).max():.2%}\n")
    assert off.max() <= PACKET_US


@pytest.mark.parametrize(
    ("senders", "most"), [(2, 0.01), (3, 0.01), (4, 0.09), (6, 0.02), (8, 0.01), (12, 0.01), (15, 0.01)]
)
def test_swifts_last_flow_agrees(tmp_path, senders, most):
    """1,000 packets from each of several hosts to one, on a fat tree of 16: its last link counts, not its paths.

    Both follow the paper; the constants differ where it gives none: targets by hops there, by the round trip here.
    """
    size = PAYLOAD - HEADER
    there = [(host, 0, 1000 * PAYLOAD, 0) for host in range(1, senders + 1)]
    more = ("-mtu", str(PAYLOAD), "-q", "100000", "-cwnd", "10", "-flowsize", "1000")
    back, _ = htsim(tmp_path, "swift", 16, there, *more)
    run = simulate(
        fat_tree(4, 2, 2, 2, 4, LINKS),
        flows=flows([(host, 0, 1000 * size, 0) for host in range(1, senders + 1)]),
        framing=Framing(size, HEADER),
        control=Swift(),
    )
    theirs, ours = np.array(list(back.values())), run.finish_ps / 1e6
    line = 1000 * senders * PAYLOAD * 8e6 / RATE_BPS
    off = 100 * (ours.max() / theirs.max() - 1)
    last, mean = (f"{t:,.0f} | {o:,.0f}" for t, o in ((theirs.max(), ours.max()), (theirs.mean(), ours.mean())))
    sys.stdout.write(f"| {senders} | {line:,.0f} | {last} | {off:+.1f} % | {mean} |\n")
    assert ours.max() == pytest.approx(theirs.max(), rel=most)
    assert min(theirs.max(), ours.max()) > line


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_pauses_move_flows_more_than_the_last_one(tmp_path, seed):
    """A paused packet holds up those that wait behind it for another way, which is not modelled here."""
    table = one_way(32, 60, seed)
    theirs, _ = roce(tmp_path, tree_file(tmp_path, (8, 4), 2), 32, table, USUAL)
    theirs -= 4 * ANSWER_US
    ours = simulate(leaf_spine(4, 1, 8, LINKS), flows=flows(table), framing=Framing(PAYLOAD, HEADER)).finish_ps / 1e6
    last, mean = (100 * (t / o - 1) for t, o in ((theirs.max(), ours.max()), (theirs.mean(), ours.mean())))
    sys.stdout.write(f"| {seed} | {last:+.1f} % | {mean:+.1f} % | {100 * np.abs(theirs / ours - 1).max():.1f} % |\n")
    assert -0.1 < last < 10
    assert -0.1 < mean < 15
