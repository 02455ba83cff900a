# SPDX-License-Identifier: Apache-2.0
"""One fabric, many engines: bytes of each link are the same, and times agree where the models mean the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from fabrics import random_cluster
from offramp.cluster.write import cluster_text
from offramp.dgtp.setup_file import cluster_of
from offramp.fabric import Fabric, derived_dimensions, fabric_of, make_cluster
from offramp.hermod.dag import Flows
from offramp.hermod.factors import CType
from offramp.job.cuts import cuts
from offramp.themis import Collective, Demand, make_plan, network_of
from offramp_base.errors import OfframpError
from offramp_sim.cluster import ClusterJob, simulate_cluster
from offramp_sim.hermod.flow.routed import RoutedFabric
from offramp_sim.packets import Framing, LinkProperties, fat_tree, leaf_spine, make_flows, run_packets, star
from offramp_sim.packets.control import CONTROLS
from offramp_sim.packets.routed import link_bytes, packet_topology
from offramp_sim.water_filling import water_filling

FRAMING = Framing()
PACKET = FRAMING.payload + FRAMING.header


def ring(fabric: Fabric) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    ranks = np.arange(fabric.ranks)
    return ranks, np.roll(ranks, -1)


def nic_flows(fabric: Fabric, source: npt.NDArray[np.int64], sink: npt.NDArray[np.int64], packets: int) -> np.ndarray:
    """Flows between ranks as the packet level's, between NICs."""
    away = fabric.rank_host[source] != fabric.rank_host[sink]
    a, b = fabric.paths.nics(source[away], sink[away])
    size = np.full(len(a), packets * FRAMING.payload)
    return np.stack([a, b, size, np.zeros_like(a)], axis=1)


@pytest.mark.parametrize("routing", ["destination", "ecmp"])
@pytest.mark.parametrize("seed", range(8))
def test_packets_put_on_links_what_the_fabric_counts(seed: int, routing: str) -> None:
    random = np.random.default_rng(seed)
    fabric = fabric_of(random_cluster(random, nics=2, routing=routing, gpus=2))
    source, sink = random.integers(0, fabric.ranks, (2, 30))
    flows = make_flows(nic_flows(fabric, source, sink, 20))
    topology = packet_topology(fabric)
    run = run_packets(topology, flows=flows)
    away = fabric.rank_host[source] != fabric.rank_host[sink]
    load = fabric.load(source[away], sink[away], np.full(int(away.sum()), 20.0 * PACKET))
    assert link_bytes(topology, run).tolist() == load[: len(fabric.ends)].tolist()
    assert run.seconds >= fabric.seconds(load)


@pytest.mark.parametrize("seed", range(8))
def test_the_flow_level_has_the_same_bytes_and_no_more_rate_than_links_have(seed: int) -> None:
    fabric = fabric_of(random_cluster(np.random.default_rng(seed), gpus=2))
    source, sink = ring(fabric)
    routed = RoutedFabric.on(fabric, np.arange(fabric.ranks))
    flow, resource, amount = routed.route(Flows(source, sink, np.full(fabric.ranks, 1e6)), CType.DP)
    load = fabric.load(source, sink, np.full(fabric.ranks, 1e6))
    limited = fabric.capacity < 1e29
    total = np.bincount(resource, amount, routed.resources)
    assert np.allclose(np.sort(total), np.sort(np.where(limited, load, 0.0)))
    assert np.array_equal(routed.capacity[: len(fabric.nics)], fabric.capacity[fabric.nics.up])
    assert set(flow.tolist()) <= set(range(fabric.ranks))


@pytest.mark.parametrize("seed", range(6))
def test_a_ring_takes_as_long_in_packets_as_in_flows_of_fair_shares(seed: int) -> None:
    fabric = fabric_of(random_cluster(np.random.default_rng(seed), nic_gbps=40))
    source, sink = ring(fabric)
    packets = 3000
    topology = packet_topology(fabric)
    run = run_packets(topology, flows=make_flows(nic_flows(fabric, source, sink, packets)))
    assert run.seconds == pytest.approx(fair_seconds(fabric, source, sink, packets * PACKET), rel=0.03)


def fair_seconds(fabric: Fabric, source: np.ndarray, sink: np.ndarray, size: int) -> float:
    """Seconds of flows with max-min fair rates, shared out anew whenever one ends: an independent calculation."""
    flow, resource, _ = fabric.paths.rows(source, sink)
    uses = [resource[flow == k].tolist() for k in range(len(source))]
    left, open_, now = [float(size)] * len(uses), [k for k, use in enumerate(uses) if use], 0.0
    while open_:
        rates = water_filling([uses[k] for k in open_], fabric.capacity.tolist())
        step = min(left[k] / rate for k, rate in zip(open_, rates, strict=True))
        now += step
        for k, rate in zip(open_, rates, strict=True):
            left[k] -= rate * step
        open_ = [k for k in open_ if left[k] > 1e-6 * size]
    return now


@pytest.mark.parametrize("control", [None, *CONTROLS])
def test_a_shape_runs_as_the_tree_of_the_same_numbers(control: str | None) -> None:
    links = LinkProperties(10**11, 1_000_000)
    flows = make_flows([(0, 5, 300_000, 0), (1, 5, 300_000, 0), (2, 6, 100_000, 7), (7, 0, 50_000, 0)])
    chosen = None if control is None else CONTROLS[control]()
    for shape, tree in (
        ("star:8", star(8, links)),
        ("leaf-spine:4x1x2", leaf_spine(4, 1, 2, links)),
        ("fat-tree:2x2x2x1x1", fat_tree(2, 2, 2, 1, 1, links)),
    ):
        topology = packet_topology(fabric_of(make_cluster(shape, rate_bps=10**11, delay_ns=1000)))
        ours, theirs = (run_packets(each, flows=flows, control=chosen) for each in (topology, tree))
        assert ours.finish_ps.tolist() == theirs.finish_ps.tolist(), shape


def test_cores_do_not_change_the_result() -> None:
    fabric = fabric_of(random_cluster(np.random.default_rng(3), nics=2, routing="ecmp"))
    flows = make_flows(nic_flows(fabric, *ring(fabric), 50))
    topology = packet_topology(fabric)
    runs = [run_packets(topology, flows=flows, cores=cores).finish_ps.tolist() for cores in (1, 2, 3)]
    assert runs[0] == runs[1] == runs[2]


@pytest.mark.parametrize("seed", range(10))
def test_no_ring_is_faster_than_the_planners_cuts_allow(seed: int) -> None:
    fabric = fabric_of(random_cluster(np.random.default_rng(seed)))
    cluster = fabric.cluster
    load = fabric.load(*ring(fabric), np.full(fabric.ranks, 1e9))
    for cut in cuts(fabric, cluster.hosts):
        host = [fabric.nodes[k] in {cluster.hosts[i].name for i in cut.inside} for k in range(fabric.hosts)]
        crossing = sum(1 for k in range(fabric.hosts) if host[k] and not host[(k + 1) % fabric.hosts])
        assert fabric.seconds(load) >= crossing * 1e9 * 8 / cut.rate_bps * (1 - 1e-9)


def test_a_star_takes_the_same_time_in_every_model(tmp_path: Path) -> None:
    """A sum of all ranks moves 2 (n - 1) / n of its bytes over each NIC, each way; latencies are small beside it."""
    cluster = make_cluster("star:8", rate_bps=10**11, delay_ns=100)
    fabric = fabric_of(cluster)
    size = 200_000_000
    moved = 2 * 7 / 8 * size
    expected = moved * 8 / 10**11
    source, sink = ring(fabric)
    assert fabric.seconds(fabric.load(source, sink, np.full(8, moved))) == pytest.approx(expected)

    packets = round(moved / PACKET)
    run = run_packets(packet_topology(fabric), flows=make_flows(nic_flows(fabric, source, sink, packets)))
    assert run.seconds == pytest.approx(expected, rel=0.03)

    network = network_of(replace(cluster, dimensions=derived_dimensions(fabric)))
    plan = make_plan(network, [Demand(Collective.ALL_REDUCE, size)], "baseline", 64)
    assert plan.finish_ps / 1e12 == pytest.approx(expected, rel=0.03)

    job = ClusterJob(name="a", gpus=8, iterations=1, all_reduce=size)
    assert simulate_cluster(fabric, [job]).makespan_s == pytest.approx(expected, rel=0.03)

    (tmp_path / "star.yaml").write_text(cluster_text(cluster))
    machines = cluster_of(tmp_path / "star.yaml").machines
    assert {each.egress_bps for each in machines} == {10**11}
    assert moved * 8 / machines[0].egress_bps == pytest.approx(expected)


def test_dimensions_follow_from_regular_fabrics() -> None:
    cluster = make_cluster(
        "leaf-spine:4x2x8", gpus=8, rate_bps=4 * 10**11, uplink_bps=10**11, delay_ns=500, inside_bps=3600 * 10**9
    )
    dimensions = derived_dimensions(fabric_of(cluster))
    assert [(d.size, d.rate_bps, d.latency_ns) for d in dimensions] == [
        (8, 3600 * 10**9, 0.0),
        (8, 50 * 10**9, 1000.0),
        (4, 3_125_000_000, 2000.0),
    ]


def test_dimensions_of_an_uneven_fabric_are_refused_by_both_places() -> None:
    cluster = make_cluster("leaf-spine:2x1x2")
    fewer = replace(cluster, hosts=cluster.hosts[:3], links=tuple(c for c in cluster.links if c.a.node != "h3"))
    with pytest.raises(OfframpError, match=r"1 hosts at the switches of h2, 2 at those of h0"):
        derived_dimensions(fabric_of(fewer))


@pytest.mark.parametrize("routing", ["spray", "adaptive"])
def test_packets_that_choose_freely_use_all_spines(routing: str) -> None:
    """Four flows over four spines: by one path each some would meet; freely they end as if nothing was shared."""
    fabric = fabric_of(make_cluster("leaf-spine:2x4x4", rate_bps=10**11, delay_ns=100, routing=routing))
    rows = [(k, k + 4, 2000 * FRAMING.payload, 0) for k in range(4)]
    run = run_packets(packet_topology(fabric), flows=make_flows(rows))
    alone = 2000 * PACKET * 8 / 10**11
    load = fabric.load(range(4), range(4, 8), [2000.0 * PACKET] * 4)
    assert fabric.seconds(load) == pytest.approx(alone)
    assert run.seconds == pytest.approx(alone, rel={"spray": 0.1, "adaptive": 0.01}[routing])
