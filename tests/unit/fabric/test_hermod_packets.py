# SPDX-License-Identifier: Apache-2.0
"""Hermod's packet level on any fabric: bytes of every link as counted, times as at the flow level."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fabrics import random_cluster
from offramp.cluster.model import LinkFailure
from offramp.fabric import Fabric, fabric_of, make_cluster
from offramp.hermod.dag import Coflow, Dag, Flows
from offramp.hermod.factors import CType, Factors
from offramp_base.errors import OfframpError
from offramp_base.wire.ethernet import wire_bytes
from offramp_sim.hermod.faults import Pause, RunFaults
from offramp_sim.hermod.flow.network import Loaded, load
from offramp_sim.hermod.flow.routed import RoutedFabric
from offramp_sim.hermod.flow.simulate import simulate
from offramp_sim.hermod.fluid import fluid
from offramp_sim.hermod.framing import full_packet_bytes
from offramp_sim.hermod.simulate import PacketResult, simulate_packets
from offramp_sim.hermod.transport import ACKNOWLEDGED_AT_ONCE
from offramp_sim.hermod.wire import WireProperties

PAYLOAD = 4096
ANSWER = wire_bytes(14 + 20 + 8 + 12 + 4 + 4)


def one_coflow(fabric: Fabric, source: np.ndarray, sink: np.ndarray, packets: int, ctype: CType) -> Loaded:
    size = np.full(len(source), float(packets * PAYLOAD))
    coflow = Coflow("test", Factors(0, ctype, 0), 0, 0, Flows(source, sink, size))
    dag = Dag([coflow], fabric.ranks, 1, 1, 1, 8, False)
    return load(dag, RoutedFabric.on(fabric, np.arange(fabric.ranks)), granularity="flow")


def run(loaded: Loaded, engine: str = "python") -> PacketResult:
    return simulate_packets(loaded, "fair", wire=WireProperties(10**7, engine=engine))


def expected_bytes(fabric: Fabric, source: np.ndarray, sink: np.ndarray, packets: int, ctype: CType) -> np.ndarray:
    answers = float(-(-packets // ACKNOWLEDGED_AT_ONCE) * ANSWER)
    data = fabric.load(source, sink, np.full(len(source), float(packets * full_packet_bytes(PAYLOAD))), int(ctype))
    back = fabric.load(sink, source, np.full(len(source), answers), int(ctype))
    return (data + back)[: len(fabric.ends)][fabric.works]


def ring(fabric: Fabric) -> tuple[np.ndarray, np.ndarray]:
    ranks = np.arange(fabric.ranks)
    return ranks, np.roll(ranks, -1)


@pytest.mark.parametrize("routing", ["destination", "ecmp"])
@pytest.mark.parametrize("seed", range(3))
def test_every_link_carries_what_the_fabric_counts(seed: int, routing: str) -> None:
    random = np.random.default_rng(seed)
    fabric = fabric_of(random_cluster(random, nics=2 - seed % 2, routing=routing))
    while len(fabric.nics) > 16:
        fabric = fabric_of(random_cluster(random, routing=routing))
    source = random.integers(0, fabric.ranks, 12)
    sink = (source + random.integers(1, fabric.ranks, 12)) % fabric.ranks
    result = run(one_coflow(fabric, source, sink, 21, CType.PP))
    assert (result.retransmitted, result.dropped) == (0, 0)
    assert result.link_bytes == expected_bytes(fabric, source, sink, 21, CType.PP).tolist()


@pytest.mark.parametrize("routing", ["destination", "ecmp"])
def test_links_that_have_failed_are_gone_round(routing: str) -> None:
    cluster = make_cluster("leaf-spine:2x2x2", rate_bps=10**10, routing=routing)
    fabric = fabric_of(replace(cluster, failures=(LinkFailure(("leaf0", "spine1")),))).at(0.0)
    source, sink = ring(fabric)
    result = run(one_coflow(fabric, source, sink, 40, CType.PP))
    assert len(result.link_bytes) == len(fabric.ends) - 2
    assert result.link_bytes == expected_bytes(fabric, source, sink, 40, CType.PP).tolist()


@pytest.mark.parametrize(
    ("shape", "uplink"), [("star:4", None), ("leaf-spine:2x1x2", 10**10), ("leaf-spine:2x1x3", 5 * 10**9)]
)
def test_times_are_those_of_the_flow_level(shape: str, uplink: int | None) -> None:
    fabric = fabric_of(make_cluster(shape, rate_bps=10**10, uplink_bps=uplink, delay_ns=500, routing="destination"))
    loaded = one_coflow(fabric, *ring(fabric), 600, CType.PP)
    packets = run(loaded)
    flows = simulate(fluid(loaded, WireProperties(10**7)), "fair")
    assert packets.end.max() == pytest.approx(flows.end.max(), rel=0.03)


def test_neighbouring_gpus_send_by_their_own_nics() -> None:
    fabric = fabric_of(make_cluster("rails:3x2x1", gpus=2, rate_bps=10**10))
    workers = np.arange(3)
    coflow = Coflow(
        "sum", Factors(0, CType.DP, 0), 0, 0, Flows(workers, np.roll(workers, -1), np.full(3, 50.0 * PAYLOAD))
    )
    loaded = load(Dag([coflow], 3, 1, 1, 1, 8, False), RoutedFabric.on(fabric, 2 * workers, 2))
    result = run(loaded)
    source, sink = ring(fabric)
    assert result.link_bytes == expected_bytes(fabric, source, (sink + 1) % 6, 50, CType.DP).tolist()
    assert result.data == 6 * 50


@pytest.mark.parametrize("routing", ["spray", "adaptive"])
def test_flows_on_several_paths_are_refused(routing: str) -> None:
    fabric = fabric_of(make_cluster("leaf-spine:2x2x1", routing=routing))
    with pytest.raises(OfframpError, match=f"routing {routing}: packets of a flow must stay in order here, expected d"):
        run(one_coflow(fabric, *ring(fabric), 1, CType.PP))


def test_links_that_change_during_the_run_are_refused() -> None:
    cluster = make_cluster("leaf-spine:2x2x1", rate_bps=10**10)
    fabric = fabric_of(replace(cluster, failures=(LinkFailure(("leaf0", "spine0"), 1e4),)))
    with pytest.raises(OfframpError, match=r"failures: a link fails or is mended after 1e-05 s, before the end at"):
        run(one_coflow(fabric, *ring(fabric), 100, CType.PP))


def test_a_cable_between_nics_has_no_port_to_pause() -> None:
    fabric = fabric_of(make_cluster("mesh:2"))
    loaded = one_coflow(fabric, *ring(fabric), 8, CType.PP)
    assert run(loaded).link_bytes == expected_bytes(fabric, *ring(fabric), 8, CType.PP).tolist()
    with pytest.raises(OfframpError, match="pause of NIC 0: a cable joins it to another: expected a switch"):
        simulate_packets(loaded, "fair", faults=RunFaults(pauses=(Pause(0, 0, 1),)))
