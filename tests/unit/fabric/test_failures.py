# SPDX-License-Identifier: Apache-2.0
"""Links that fail during a run: packets against a closed form, and refusals of one line."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from offramp.cluster.model import LinkFailure
from offramp.fabric import Fabric, fabric_of, make_cluster
from offramp.hermod.dag import Coflow, Dag, Flows
from offramp.hermod.factors import CType, Factors
from offramp_base.errors import OfframpError
from offramp_sim.hermod.flow.network import load
from offramp_sim.hermod.flow.routed import RoutedFabric
from offramp_sim.hermod.flow.simulate import simulate
from offramp_sim.packets import Framing, PacketRun, make_flows, run_packets
from offramp_sim.packets.routed import link_bytes, packet_topology

FRAMING = Framing()
PACKETS = 4000
LINE_S = PACKETS * (FRAMING.payload + FRAMING.header) * 8 / 10**10
"""Seconds that a flow alone takes."""


def failing(*failures: LinkFailure, routing: str = "spray") -> Fabric:
    cluster = make_cluster("leaf-spine:2x2x2", rate_bps=10**10, routing=routing)
    return fabric_of(replace(cluster, failures=failures))


def run(fabric: Fabric, cores: int = 1) -> PacketRun:
    flows = make_flows([(0, 2, PACKETS * FRAMING.payload, 0), (1, 3, PACKETS * FRAMING.payload, 0)])
    return run_packets(packet_topology(fabric), flows=flows, cores=cores)


@pytest.mark.parametrize("routing", ["spray", "adaptive"])
@pytest.mark.parametrize("share", [0.25, 0.75])
def test_a_spine_that_fails_leaves_half_of_the_rate(routing: str, share: float) -> None:
    """Two flows at line rate share one spine for what is left when the other fails."""
    at_s = share * LINE_S
    fabric = failing(LinkFailure(("leaf0", "spine0"), at_s * 1e9), routing=routing)
    assert run(fabric).seconds == pytest.approx(at_s + 2 * (LINE_S - at_s), rel=0.03)


def test_a_spine_that_is_mended_carries_its_half_again() -> None:
    fabric = failing(LinkFailure(("leaf0", "spine0"), 0.25e9 * LINE_S, 0.5e9 * LINE_S))
    # A quarter of the time only half is let through; what has waited then leaves with the rest.
    assert run(fabric).seconds == pytest.approx(1.25 * LINE_S, rel=0.15)
    topology = packet_topology(fabric)
    sent = link_bytes(topology, run(fabric))
    up = {fabric.shown(k): int(sent[k]) for k in range(len(sent)) if fabric.shown(k).startswith("leaf0 > spine")}
    assert 0.2 < up["leaf0 > spine0"] / (up["leaf0 > spine0"] + up["leaf0 > spine1"]) < 0.45


def test_a_link_that_has_failed_carries_nothing_more() -> None:
    fabric = failing(LinkFailure(("leaf0", "spine0"), 0.5e9 * LINE_S))
    sent = link_bytes(packet_topology(fabric), run(fabric))
    names = {fabric.shown(k): int(sent[k]) for k in range(len(sent))}
    rate = 10**10 / 8
    assert names["leaf0 > spine0"] <= 0.52 * LINE_S * rate
    assert names["leaf0 > spine0"] + names["leaf0 > spine1"] == 2 * PACKETS * (FRAMING.payload + FRAMING.header)


def test_cores_do_not_change_the_result() -> None:
    fabric = failing(LinkFailure(("leaf0", "spine0"), 0.5e9 * LINE_S), routing="ecmp")
    assert run(fabric, 2).finish_ps.tolist() == run(fabric).finish_ps.tolist()


def test_a_failure_after_the_end_changes_nothing() -> None:
    late = failing(LinkFailure(("leaf0", "spine0"), 1e15))
    assert run(late).finish_ps.tolist() == run(failing()).finish_ps.tolist()


@pytest.mark.parametrize(
    ("failures", "problem"),
    [
        ([("h0", "leaf0")], "failures: at 1ms: h0 > leaf0: packets need the links of hosts from start to end"),
        ([("leaf0", "spine0"), ("leaf0", "spine1")], "failures: at 1ms: no way from leaf0 to leaf1"),
    ],
)
def test_what_cuts_hosts_off_is_one_line(failures: list[tuple[str, str]], problem: str) -> None:
    with pytest.raises(OfframpError, match=problem):
        packet_topology(failing(*(LinkFailure(pair, 1e6) for pair in failures)))


def coflows_of(*flows: tuple[int, int, float]) -> Dag:
    """A coflow of each flow by itself, on four ranks."""
    tasks = [
        Coflow(f"{k}", Factors(k, CType.DP, 0), 0, k, Flows(np.array([a]), np.array([b]), np.array([size])))
        for k, (a, b, size) in enumerate(flows)
    ]
    return Dag(tasks, 4, len(tasks), 1, 1, 8, False)


@pytest.mark.parametrize("granularity", ["coflow", "flow"])
def test_flows_of_the_flow_level_go_round_a_link_from_its_failure_on(granularity: str) -> None:
    """Two flows of 1 GB at 10 Gbit/s, each over a spine of its own; later over one, and over two again.

    0.8 s undisturbed. A failure after 0.5 s halves both rates: 0.3 s of sending become 0.6, or 0.2 s until the link is
    mended send as much as 0.1 s.
    """
    dag = coflows_of((0, 2, 1e9), (1, 3, 1e9))
    for failure, expected_s in (
        (LinkFailure(("leaf0", "spine0"), 0.9e9), 0.8),
        (LinkFailure(("leaf0", "spine0"), 0.5e9), 1.1),
        (LinkFailure(("leaf0", "spine0"), 0.5e9, 0.7e9), 0.9),
        (LinkFailure(("leaf0", "spine0"), 0.0, 0.4e9), 1.0),
    ):
        fabric = failing(failure, routing="destination")
        loaded = load(dag, RoutedFabric.on(fabric, np.arange(4)), granularity=granularity)
        assert simulate(loaded, "fair").end.tolist() == pytest.approx([expected_s] * 2)
        if failure.end_ns == math.inf:  # else one that waits for the other has less to catch up with
            assert [simulate(loaded, policy).end.max() for policy in ("fifo", "hermod")] == pytest.approx(
                [expected_s] * 2
            )


@pytest.mark.parametrize("seed", range(3))
def test_flows_and_packets_agree_while_links_fail(seed: int) -> None:
    """Until a link fails two flows have a path of their own, from then on they share one."""
    size = 2_000_000
    at_ns = float(np.random.default_rng(seed).uniform(0.1e6, 1.5e6))
    fabric = failing(LinkFailure(("leaf0", "spine0"), at_ns), routing="destination")
    dag = coflows_of((0, 2, size * (1024 + 82) / 1024), (1, 3, size * (1024 + 82) / 1024))
    flow_s = simulate(load(dag, RoutedFabric.on(fabric, np.arange(4))), "fair").end.max()
    packets = run_packets(packet_topology(fabric), flows=make_flows([(0, 2, size, 0), (1, 3, size, 0)]))
    assert packets.seconds == pytest.approx(flow_s, rel=0.03)
