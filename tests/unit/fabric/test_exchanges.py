# SPDX-License-Identifier: Apache-2.0
"""SwitchGNN's exchange on any fabric: bytes of every link as counted from the plan, and trees as their own model."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from fabrics import random_cluster
from offramp.cluster.model import LinkFailure
from offramp.fabric import Fabric, fabric_of, make_cluster
from offramp.graph.boundary import Boundary
from offramp.graph.csr import symmetric_csr
from offramp.switchgnn.plan import Plan, make_plan
from offramp_base.errors import OfframpError
from offramp_sim.packets import (
    ExchangeProtocol,
    LinkProperties,
    fat_tree,
    leaf_spine,
    link_bytes,
    packet_topology,
    run_packets,
    star,
)
from offramp_sim.packets.exchange_load import exchange_load


def plan_for(workers: int, seed: int, vertices: int = 60, chunks: int = 2) -> Plan:
    random = np.random.default_rng(seed)
    indptr, indices = symmetric_csr(vertices, *random.integers(0, vertices, (2, 3 * vertices)))
    boundary = Boundary(SimpleNamespace(indptr=indptr, indices=indices), random.integers(0, workers, vertices), workers)
    return make_plan(boundary, chunks, max(2, boundary.B // 2) * chunks * 128, "gamr", seed)


def check_bytes(fabric: Fabric, seed: int, vertices: int = 60) -> None:
    plan = plan_for(len(fabric.nics), seed, vertices)
    topology = packet_topology(fabric)
    run = run_packets(topology, plan)
    load = exchange_load(fabric.at(0.0), plan)
    assert (run.timeouts, run.fetches) == (0, 0)
    assert link_bytes(topology, run).tolist() == load.tolist()
    assert run.seconds >= float((load / (fabric.rate_bps / 8)).max())


@pytest.mark.parametrize("routing", ["destination", "ecmp"])
@pytest.mark.parametrize("seed", range(6))
def test_every_link_carries_what_the_plan_says(seed: int, routing: str) -> None:
    check_bytes(fabric_of(random_cluster(np.random.default_rng(seed), routing=routing)), seed)


@pytest.mark.parametrize("routing", ["destination", "ecmp"])
def test_a_link_that_has_failed_carries_nothing(routing: str) -> None:
    cluster = make_cluster("leaf-spine:3x3x2", routing=routing)
    failed = fabric_of(replace(cluster, failures=(LinkFailure(("leaf0", "spine1")), LinkFailure(("leaf2", "spine0")))))
    check_bytes(failed, 1)


@pytest.mark.parametrize("routing", ["spray", "adaptive"])
def test_packets_that_choose_freely_put_as_many_bytes_on_the_links_together(routing: str) -> None:
    fabric = fabric_of(make_cluster("leaf-spine:2x4x3", routing=routing))
    plan, topology = plan_for(6, 0), packet_topology(fabric)
    sent = link_bytes(topology, run_packets(topology, plan))
    load = exchange_load(fabric, plan)
    assert sent.sum() == pytest.approx(load.sum())
    of_host = np.minimum(*fabric.ends.T) < fabric.hosts
    assert sent[of_host].tolist() == load[of_host].tolist()


def test_trees_take_as_long_as_in_their_own_model() -> None:
    links = LinkProperties(10**11, 1_000_000)
    for shape, tree in (
        ("star:6", star(6, links)),
        ("leaf-spine:3x1x2", leaf_spine(3, 1, 2, links)),
        ("fat-tree:2x2x2x1x1", fat_tree(2, 2, 2, 1, 1, links)),
    ):
        plan = plan_for(tree.hosts, 3)
        fabric = fabric_of(make_cluster(shape, rate_bps=10**11, delay_ns=1000))
        for protocol in (ExchangeProtocol(), ExchangeProtocol(acks="none")):
            ours, theirs = (run_packets(each, plan, protocol=protocol) for each in (packet_topology(fabric), tree))
            assert (ours.end_ps, ours.passes, ours.packets) == (theirs.end_ps, theirs.passes, theirs.packets), shape


def test_a_large_exchange_takes_as_long_as_its_busiest_link() -> None:
    """Leaves below one spine that has a quarter of their hosts' rate: what crosses it takes all of the time."""
    fabric = fabric_of(make_cluster("leaf-spine:2x1x4", rate_bps=10**11, uplink_bps=25 * 10**9, delay_ns=100))
    boundary = plan_for(8, 0, 3000, 4)
    run = run_packets(packet_topology(fabric), boundary, protocol=ExchangeProtocol(acks="none"))
    load = exchange_load(fabric, boundary, "none")
    assert run.seconds == pytest.approx(float((load * 8 / fabric.rate_bps).max()), rel=0.03)


def test_losses_are_fetched_on_any_fabric() -> None:
    fabric = fabric_of(random_cluster(np.random.default_rng(2)))
    topology = packet_topology(fabric)
    lossy = replace(topology, links=replace(topology.links, loss=0.02))
    run = run_packets(lossy, plan_for(len(fabric.nics), 2))
    assert run.lost > 0
    assert run.fetches > 0


def test_hosts_that_a_cable_joins_have_no_switch_to_sum_in() -> None:
    with pytest.raises(OfframpError, match="a link joins two hosts: expected a switch at each host"):
        run_packets(packet_topology(fabric_of(make_cluster("mesh:2"))), plan_for(2, 0))
