# SPDX-License-Identifier: Apache-2.0
"""Arbitrary fabrics with a failed link beside ns-3: the same bytes on every link, the same times.

Needs g++ and the variable ``OFFRAMP_NS3_PYTHON``, as ``test_packets_ns3.py`` says.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ns3_wheel
from fabrics import random_cluster
from offramp.cluster.model import LinkFailure
from offramp.fabric import Fabric, fabric_of
from offramp_base.errors import OfframpError
from offramp_sim.packets import Framing, link_bytes, make_flows, packet_topology, run_packets

pytestmark = pytest.mark.bench

PAYLOAD, HEADER = 1020, 30


@pytest.fixture(scope="module")
def ns3(tmp_path_factory):
    return ns3_wheel.program(Path(__file__).with_name("ns3_fabric.cc"), tmp_path_factory.mktemp("ns3"))


def failing_fabric(seed: int) -> Fabric:
    """A random fabric without a link that it can do without, so that packets go another way."""
    random = np.random.default_rng(seed)
    while True:
        cluster = random_cluster(random)
        fabric = fabric_of(cluster)
        ranks = np.arange(fabric.ranks)
        for cable in random.permutation(len(cluster.links)).tolist():
            ends = cluster.links[cable].a.node, cluster.links[cable].b.node
            failed = replace(cluster, failures=(LinkFailure(ends),))
            hurt = fabric_of(failed).at(0.0)
            try:
                load = hurt.load(ranks, np.roll(ranks, -1), np.ones(len(ranks)))
            except OfframpError:  # the last way: another link
                continue
            if fabric.load(ranks, np.roll(ranks, -1), np.ones(len(ranks)))[2 * cable : 2 * cable + 2].sum() > 0:
                assert load[2 * cable] == load[2 * cable + 1] == 0
                return hurt


def as_words(fabric: Fabric, table: list[tuple[int, int, int, int]]) -> list[int]:
    """The input of the yardstick: links that work, and by the fabric's paths the next link from each node to each."""
    cables = [k for k in range(len(fabric.cluster.links)) if fabric.works[2 * k]]
    place = {cable: i for i, cable in enumerate(cables)}
    words = [len(fabric.nodes), fabric.hosts, len(cables)]
    for cable in cables:
        link = fabric.cluster.links[cable]
        words += [*fabric.ends[2 * cable].tolist(), link.rate_bps, round(link.delay_ns)]
    following = np.full((len(fabric.nodes), fabric.hosts), len(cables))
    for source in range(fabric.hosts):
        for sink in range(fabric.hosts):
            if source != sink:
                _, links, _ = fabric.paths.rows(np.array([source]), np.array([sink]))
                for link in links.tolist():
                    if link < len(fabric.ends):
                        following[fabric.ends[link, 0], sink] = place[link // 2]
    words += following.ravel().tolist()
    words += [PAYLOAD, len(table)]
    return words + [word for a, b, packets, start in table for word in (a, b, packets, start)]


def run_both(ns3, fabric: Fabric, table: list[tuple[int, int, int, int]]):
    done = ns3(as_words(fabric, table)).split()
    cables = [k for k in range(len(fabric.cluster.links)) if fabric.works[2 * k]]
    carried = np.zeros(len(fabric.ends))
    for i, cable in enumerate(cables):
        carried[2 * cable : 2 * cable + 2] = [int(word) for word in done[1 + 2 * i : 3 + 2 * i]]
    finish = np.array(done[1 + 2 * len(cables) :], float)
    assert int(done[0]) == sum(packets for _, _, packets, _ in table)
    topology = packet_topology(fabric)
    rows = [(a, b, packets * PAYLOAD, start * 1000) for a, b, packets, start in table]
    run = run_packets(topology, flows=make_flows(rows), framing=Framing(PAYLOAD, HEADER))
    order = np.argsort([start for *_, start in table], kind="stable")
    ours = np.empty(len(table))
    ours[order] = run.finish_ps / 1e12
    assert link_bytes(topology, run).tolist() == carried.tolist()
    return ours, finish


@pytest.mark.parametrize("seed", range(3))
def test_a_ring_round_a_failed_link_takes_the_same_time(ns3, seed) -> None:
    fabric = failing_fabric(seed)
    table = [(k, (k + 1) % fabric.hosts, 400, 0) for k in range(fabric.hosts)]
    ours, theirs = run_both(ns3, fabric, table)
    assert ours == pytest.approx(theirs, rel=0.03)


@pytest.mark.parametrize("seed", range(3))
def test_two_jobs_that_meet_take_the_same_time(ns3, seed) -> None:
    """The rings of two jobs on alternate hosts, the second of which begins later."""
    fabric = failing_fabric(10 + seed)
    jobs = [range(0, fabric.hosts, 2), range(1, fabric.hosts, 2)]
    table = [
        (hosts[i], hosts[(i + 1) % len(hosts)], 500, 20_000 * number)
        for number, hosts in enumerate(jobs)
        for i in range(len(hosts))
        if len(hosts) > 1
    ]
    ours, theirs = run_both(ns3, fabric, table)
    assert max(ours) == pytest.approx(max(theirs), rel=0.03)
    assert ours == pytest.approx(theirs, rel=0.03)
