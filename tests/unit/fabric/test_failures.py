# SPDX-License-Identifier: Apache-2.0
"""Links that fail during a run: packets against a closed form, and refusals of one line."""

from __future__ import annotations

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


def test_the_flow_level_refuses_a_run_in_which_links_change() -> None:
    """A coflow of 1 GB at 10 Gbit/s takes 0.8 s."""
    for at_s in (0.5, 0.9):
        fabric = failing(LinkFailure(("leaf0", "spine0"), at_s * 1e9), routing="destination").at(0.0)
        flows = Flows(np.array([0]), np.array([2]), np.array([1e9]))
        dag = Dag([Coflow("test", Factors(0, CType.DP, 0), 0, 0, flows)], 4, 1, 1, 1, 8, False)
        loaded = load(dag, RoutedFabric.on(fabric, np.arange(4)))
        if at_s > 0.8:
            assert simulate(loaded, "fair").end.max() == pytest.approx(0.8)
        else:
            with pytest.raises(OfframpError, match=r"failures: a link fails or is mended after 0.5 s, before .* 0.8 s"):
                simulate(loaded, "fair")
