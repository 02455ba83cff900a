# SPDX-License-Identifier: Apache-2.0
"""One cluster file through planner, laboratory, flows, packets, Themis and DGTP: the same bytes, the same times.

The laboratory is followed by its switches' tables, entry by entry (``tests/e2e/test_lab.py`` reads counters of one that
runs). Switches serve packets first come, first served: only where flows share one link at most is that fair.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fabrics import random_cluster
from offramp.cluster import Cluster, read_cluster
from offramp.cluster.write import cluster_text
from offramp.dgtp.setup_file import cluster_of
from offramp.fabric import Fabric, derived_dimensions, fabric_of, make_cluster, read_fabric
from offramp.fabric.forwarding import ports_of_hosts
from offramp.hermod.dag import Coflow, Dag, Flows
from offramp.hermod.factors import CType, Factors
from offramp.job.cuts import cuts
from offramp.job.kind import PlacedJob
from offramp.job.settings import JobSettings
from offramp.themis.demand import Demand
from offramp.themis.network import Collective
from offramp.themis.network_file import network_of
from offramp.themis.plan import make_plan
from offramp_sim.cluster import ClusterJob, simulate_cluster
from offramp_sim.hermod.flow.dimensions import Dimensions
from offramp_sim.hermod.flow.network import load
from offramp_sim.hermod.flow.routed import RoutedFabric
from offramp_sim.hermod.flow.simulate import simulate
from offramp_sim.lab.holder import addressed
from offramp_sim.packets import Framing, link_bytes, make_flows, packet_topology, run_packets

PACKETS = 4000
PACKET = Framing().payload + Framing().header
BYTES = float(PACKETS * PACKET)
NEAR = 0.03


def ring(fabric: Fabric) -> tuple[np.ndarray, np.ndarray]:
    ranks = np.arange(fabric.ranks)
    return ranks, np.roll(ranks, -1)


def laboratory_bytes(cluster: Cluster, source: np.ndarray, sink: np.ndarray) -> np.ndarray:
    """What links carry when each switch forwards by its table."""
    fabric = fabric_of(addressed(cluster))
    ports = ports_of_hosts(fabric)
    link_at = {}
    for link, (near, _) in enumerate(fabric.ends.tolist()):
        name = fabric.nodes[near]
        link_at[name, fabric.cable(link).near(name).port] = link
    sent = np.zeros(len(fabric.ends))
    for a, b in zip(source.tolist(), sink.tolist(), strict=True):
        mac = int(str(fabric.cluster.hosts[b].mac).replace(":", ""), 16)
        link = int(fabric.nics.up[a])
        sent[link] += BYTES
        while fabric.ends[link, 1] != b:
            name = fabric.nodes[fabric.ends[link, 1]]
            link = link_at[name, ports[name][mac]]
            sent[link] += BYTES
    return sent


def flow_level(fabric: Fabric, source: np.ndarray, sink: np.ndarray) -> tuple[np.ndarray, float]:
    """Bytes of links, and seconds until the last flow has ended."""
    flows = Flows(source, sink, np.full(len(source), BYTES))
    routed = RoutedFabric.on(fabric, np.arange(fabric.ranks))
    _, resource, amount = routed.route(flows, CType.EP)
    sent = np.zeros(fabric.resources)
    order = np.concatenate([fabric.nics.up, np.setdiff1d(np.arange(fabric.resources), fabric.nics.up)])
    np.add.at(sent, order[resource], amount)
    dag = Dag([Coflow("ring", Factors(0, CType.EP, 0), 0, 0, flows)], fabric.ranks, 1, 1, 1, 1, False)
    return sent[: len(fabric.ends)], float(simulate(load(dag, routed, granularity="flow"), "fair").end.max())


def check(cluster: Cluster, path: Path) -> bool:
    """One cluster file, in all systems; whether packets could be compared in time, too."""
    path.write_text(cluster_text(cluster))
    fabric = read_fabric(path)
    source, sink = ring(fabric)
    job = PlacedJob.on(JobSettings(command=("true",)), read_cluster(path))
    planned = job.fabric.load(source, sink, np.full(fabric.ranks, BYTES))[: len(fabric.ends)]
    flow_bytes, flow_s = flow_level(fabric, source, sink)
    topology = packet_topology(fabric)
    rows = [(int(a), int(b), PACKETS * Framing().payload, 0) for a, b in zip(source, sink, strict=True)]
    run = run_packets(topology, flows=make_flows(rows))
    assert np.allclose(flow_bytes, planned)
    assert link_bytes(topology, run).tolist() == planned.tolist()
    if cluster.routing == "destination":
        assert laboratory_bytes(read_cluster(path), source, sink).tolist() == planned.tolist()
    assert BYTES * 8 / job.ring_bps == pytest.approx(flow_s, rel=1e-6)
    machines = cluster_of(path).machines
    assert [each.egress_bps for each in machines] == fabric.host_bps.tolist()
    assert flow_s >= max(BYTES * 8 / each.egress_bps for each in machines) * (1 - 1e-9)
    for cut in cuts(job.fabric, job.hosts):
        inside = np.isin(np.arange(fabric.hosts), list(cut.inside))
        crossing = int((inside & ~np.roll(inside, -1)).sum())
        assert flow_s >= crossing * BYTES * 8 / cut.rate_bps * (1 - 1e-9)
    assert run.seconds >= flow_s * (1 - 1e-9)
    flow, resource, _ = fabric.paths.rows(source, sink)
    shared = np.bincount(resource, minlength=fabric.resources) > 1
    alone = int(np.bincount(flow[shared[resource]], minlength=len(source)).max(initial=0)) <= 1
    if alone:
        longest_s = 2 * job.farthest_ns / 1e9
        assert run.seconds == pytest.approx(flow_s + longest_s, rel=NEAR, abs=longest_s)
    return alone


def check_regular(random: np.random.Generator, path: Path) -> None:
    """A star or leaf-spine of sprayed packets: a dimension of Themis takes as long as its flows' busiest link.

    To Themis dimensions are apart, though a NIC serves its rack and those beyond: each is compared by itself.
    """
    leaves, hosts = int(random.choice([1, 2, 4])), int(random.choice([2, 4, 8]))
    rate, uplink = (int(each) * 10**9 for each in random.choice([25, 50, 100, 200], 2))
    shape = f"star:{hosts}" if leaves == 1 else f"leaf-spine:{leaves}x{int(random.integers(1, 4))}x{hosts}"
    cluster = make_cluster(shape, rate_bps=rate, uplink_bps=uplink, delay_ns=100, routing="spray")
    path.write_text(cluster_text(cluster))
    fabric = read_fabric(path)
    network = network_of(replace(fabric.cluster, dimensions=derived_dimensions(fabric)))
    size = 1 << 28
    moved, _ = Dimensions.over(network).collective(Collective.ALL_REDUCE, size, range(fabric.ranks)) or (None, 0.0)
    assert moved is not None
    plan_s = make_plan(network, [Demand(Collective.ALL_REDUCE, size)], "baseline", 64).finish_ps / 1e12
    near = moved.source // hosts == moved.sink // hosts
    for mine, dimension in zip([near, ~near], network.dimensions, strict=False):
        sent = float(moved.size[mine & (moved.source == 0)].sum())
        busy_s = fabric.seconds(fabric.load(moved.source[mine], moved.sink[mine], moved.size[mine]))
        assert busy_s == pytest.approx(sent * 8 / dimension.used_bps, rel=1e-6)
        assert plan_s >= busy_s * (1 - 1e-6)
    if leaves == 1:
        expected_s = 2 * (hosts - 1) / hosts * size * 8 / rate
        assert (busy_s, plan_s) == pytest.approx((expected_s, expected_s), rel=NEAR)
        machine = cluster_of(path).machines[0]
        assert sent * 8 / machine.egress_bps == pytest.approx(expected_s)
        job = ClusterJob(name="a", gpus=hosts, iterations=1, all_reduce=size)
        assert simulate_cluster(fabric, [job]).makespan_s == pytest.approx(expected_s, rel=NEAR)


def check_seeds(seeds: range, path: Path) -> int:
    """How many of the fabrics could be compared in packets' times."""
    compared = 0
    for seed in seeds:
        random = np.random.default_rng(seed)
        routing = ["destination", "destination", "ecmp"][seed % 3]
        compared += check(random_cluster(random, routing=routing, nic_gbps=25), path)
        check_regular(random, path)
    return compared


def test_a_few_fabrics_are_one_network_to_all_systems(tmp_path: Path) -> None:
    assert check_seeds(range(16), tmp_path / "cluster.yaml") >= 4


@pytest.mark.slow
def test_a_thousand_fabrics_are_one_network_to_all_systems(tmp_path: Path) -> None:
    assert check_seeds(range(1000), tmp_path / "cluster.yaml") > 250
