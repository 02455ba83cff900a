# SPDX-License-Identifier: Apache-2.0
"""Priority flow control: against closed forms, and against the compiled engine where nothing pauses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fabrics import random_cluster
from offramp.fabric import Fabric, fabric_of, make_cluster
from offramp_base.errors import OfframpError
from offramp_sim.packets import make_flows, run_packets
from offramp_sim.packets.control import Control, Dcqcn, Dctcp, Hpcc, Swift
from offramp_sim.packets.lossless import Pauses, run_lossless
from offramp_sim.packets.routed import link_bytes, packet_topology

PACKET = 1024 + 82
BYTE_PS = 80
"""Of 100 Gbit/s."""
NEVER = Pauses(1 << 40, 1 << 40)


def star(hosts: int) -> Fabric:
    return fabric_of(make_cluster(f"star:{hosts}", rate_bps=10**11, delay_ns=1000))


def incast(senders: int, packets: int) -> list[tuple[int, int, int, int]]:
    return [(k, senders, packets * 1024, 0) for k in range(senders)]


@pytest.mark.parametrize("senders", [2, 4, 9])
def test_an_incast_pauses_its_senders_and_takes_as_long_as_its_bytes(senders: int) -> None:
    """The sink's link never idles, and each sender sends its share of the time."""
    packets, pauses = 1500, Pauses(50_000, 40_000)
    run = run_lossless(star(senders + 1), make_flows(incast(senders, packets)), pauses)
    bytes_s = senders * packets * PACKET * BYTE_PS
    first = PACKET * BYTE_PS + 2 * 1_000_000
    assert run.finish_ps.max() == bytes_s + first
    assert run.finish_ps.min() > 0.95 * bytes_s
    most = pauses.most_bytes(BYTE_PS, 1_000_000, PACKET)
    assert pauses.stop_bytes < run.held_bytes.max() <= most
    up = star(senders + 1).nics.up[:senders]
    assert (run.pauses[up] > 3).all()
    sending = packets * PACKET * BYTE_PS
    assert run.paused_ps[up] == pytest.approx(np.full(senders, bytes_s - sending), rel=0.15)
    assert run.peak_port_bytes <= senders * most


def test_without_pauses_a_switch_holds_all_that_its_line_cannot_take() -> None:
    run = run_lossless(star(5), make_flows(incast(4, 1000)), NEVER)
    assert run.held_bytes.sum() == pytest.approx(3 * 1000 * PACKET, rel=0.01)
    assert not run.pauses.any()


def test_a_pause_holds_back_flows_to_idle_hosts_too() -> None:
    """Host 0 sends to 3, as 1 and 2 do, and to 4, where nobody else sends: in two turns, with pauses in three or more.

    Not in three exactly, as host 0 sends to 3 at half of its rate when all go on again.
    """
    flows = make_flows([(0, 3, 2_000_000, 0), (1, 3, 2_000_000, 0), (2, 3, 2_000_000, 0), (0, 4, 2_000_000, 0)])
    line = 2_000_000 / 1024 * PACKET * BYTE_PS
    free, paused = (run_lossless(star(5), flows, each).finish_ps[3] for each in (NEVER, Pauses(20_000, 10_000)))
    assert free == pytest.approx(2 * line, rel=0.02)
    assert 2.95 * line < paused < 3.5 * line


@pytest.mark.parametrize("seed", range(6))
def test_without_pauses_it_is_the_compiled_engine(seed: int) -> None:
    random = np.random.default_rng(seed)
    fabric = fabric_of(random_cluster(random, nic_gbps=40, routing="ecmp"))
    count = len(fabric.nics)
    source = random.integers(0, count, 12)
    sink = (source + random.integers(1, count, 12)) % count
    pairs = zip(source, sink, strict=True)
    flows = make_flows([(int(a), int(b), 400_000, int(random.integers(0, 10**8))) for a, b in pairs])
    topology = packet_topology(fabric)
    run, other = run_lossless(fabric, flows, NEVER), run_packets(topology, flows=flows)
    assert run.link_bytes.tolist() == link_bytes(topology, other).tolist()
    assert run.finish_ps == pytest.approx(other.finish_ps, rel=0.02)
    assert run.finish_ps.mean() == pytest.approx(other.finish_ps.mean(), rel=0.01)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("senders", [2, 4, 8])
def test_dcqcn_without_pauses_is_that_of_the_compiled_engine(senders: int, seed: int) -> None:
    """Marks beyond one threshold, so that nothing is left to chance; answers meet no other packets."""
    random = np.random.default_rng(seed)
    rows = [(k, senders, random.integers(10**6, 4 * 10**6), random.integers(0, 10**8)) for k in range(senders)]
    flows, fabric = make_flows(np.array(rows)), star(senders + 1)
    topology = packet_topology(fabric)
    topology = replace(topology, links=replace(topology.links, mark_bytes=20_000))
    run = run_lossless(fabric, flows, NEVER, Dcqcn(), mark_bytes=20_000)
    other = run_packets(topology, flows=flows, control=Dcqcn())
    assert run.cuts == other.cuts
    assert run.finish_ps == pytest.approx(other.finish_ps, rel=0.01)


def test_dcqcn_leaves_less_to_pauses() -> None:
    flows = make_flows(incast(8, 4000))
    alone, beside = (run_lossless(star(9), flows, Pauses(100_000, 80_000), each) for each in (None, Dcqcn()))
    assert beside.cuts > 0
    assert beside.pauses.sum() < alone.pauses.sum() / 2
    assert beside.held_bytes.max() <= Pauses().most_bytes(BYTE_PS, 1_000_000, PACKET)


@pytest.mark.parametrize("control", [Dctcp(), Swift(), Hpcc()], ids=("dctcp", "swift", "hpcc"))
@pytest.mark.parametrize("senders", [2, 6])
def test_windows_without_pauses_are_those_of_the_compiled_engine(control: Control, senders: int) -> None:
    """Answers meet no others here, there they do: ends are near, not equal; who wins a share of DCTCP is chance."""
    flows, fabric = make_flows([(k, senders, 1_500_000, k * 10**6) for k in range(senders)]), star(senders + 1)
    run = run_lossless(fabric, flows, NEVER, control)
    other = run_packets(packet_topology(fabric), flows=flows, control=control)
    assert run.finish_ps.max() == pytest.approx(other.finish_ps.max(), rel=0.1 if isinstance(control, Dctcp) else 0.02)
    if isinstance(control, Dctcp):
        assert (run.marked, run.cuts) == pytest.approx((other.marked, other.cuts), rel=0.15)
    else:
        assert run.finish_ps == pytest.approx(other.finish_ps, rel=0.05)
        assert run.peak_port_bytes == pytest.approx(other.peak_port_bytes, rel=0.1)


@pytest.mark.parametrize(("goal", "senders"), [(0.8, 1), (0.95, 1), (0.95, 4)])
def test_hpcc_leaves_the_room_above_its_goal_and_pauses_only_the_first_round_trip(goal: float, senders: int) -> None:
    """Each sender begins with a window that fills the line; from then on the line has its goal, and nothing waits."""
    size = 3_000_000
    flows = make_flows([(k, senders, size, 0) for k in range(senders)])
    run = run_lossless(star(senders + 1), flows, Pauses(20_000, 16_000), Hpcc(goal=goal))
    line_ps = senders * size / 1024 * PACKET * BYTE_PS
    assert run.finish_ps.max() == pytest.approx(line_ps / goal, rel=0.05)
    assert (run.paused_ps.max() > 0) == (senders > 1)
    assert run.paused_ps.max() < 20 * 4_400_000
    calm = run_lossless(star(senders + 1), flows, Pauses(400_000, 300_000), Hpcc(goal=goal))
    assert not calm.pauses.any()


def test_swift_holds_its_target_below_the_pauses_and_its_line_is_full() -> None:
    """Two senders with 20 us of queue, 250 kB: pauses at twice as much are idle, at a tenth they do Swift's work."""
    control = Swift(queue_ps=20_000_000, scaling=0.0)
    flows = make_flows(incast(2, 4000))
    line_ps = 2 * 4000 * PACKET * BYTE_PS
    high, low = (
        run_lossless(star(3), flows, each, control) for each in (Pauses(500_000, 400_000), Pauses(25_000, 20_000))
    )
    assert not high.pauses.any()
    assert low.pauses[star(3).nics.up[:2]].min() > 3
    for run in (high, low):
        assert run.finish_ps.max() == pytest.approx(line_ps, rel=0.05)  # windows begin with ten packets
        assert run.held_bytes.max() <= Pauses(500_000, 400_000).most_bytes(BYTE_PS, 1_000_000, PACKET)
    assert low.held_bytes.max() <= Pauses(25_000, 20_000).most_bytes(BYTE_PS, 1_000_000, PACKET)


@pytest.mark.parametrize("routing", ["spray", "adaptive"])
def test_an_incast_over_all_spines_is_paused_and_takes_as_long_as_its_bytes(routing: str) -> None:
    fabric = fabric_of(make_cluster("leaf-spine:2x2x2", rate_bps=10**11, delay_ns=1000, routing=routing))
    packets, pauses = 1000, Pauses(30_000, 20_000)
    run = run_lossless(fabric, make_flows([(k, 3, packets * 1024, 0) for k in (0, 1, 2)]), pauses)
    bytes_ps = 3 * packets * PACKET * BYTE_PS
    assert run.finish_ps.max() == pytest.approx(bytes_ps, rel=0.01)
    assert run.finish_ps.max() >= bytes_ps + PACKET * BYTE_PS
    assert run.held_bytes.max() <= pauses.most_bytes(BYTE_PS, 1_000_000, PACKET)
    down = [k for k in range(len(fabric.ends)) if fabric.shown(k) in ("spine0 > leaf1", "spine1 > leaf1")]
    assert run.link_bytes[down].sum() == 2 * packets * PACKET
    assert run.link_bytes[down].min() > 0.9 * packets * PACKET
    assert run.pauses[down].min() > 3


def test_two_flows_over_two_spines_need_both() -> None:
    fabric = fabric_of(make_cluster("leaf-spine:2x2x2", rate_bps=10**11, delay_ns=100, routing="adaptive"))
    run = run_lossless(fabric, make_flows([(k, 2 + k, 1000 * 1024, 0) for k in (0, 1)]))
    assert run.finish_ps.max() == pytest.approx(1000 * PACKET * BYTE_PS, rel=0.01)
    assert not run.pauses.any()


def test_what_cannot_be_is_one_line() -> None:
    with pytest.raises(OfframpError, match="pauses: 90 to 80 bytes: expected go at most stop"):
        Pauses(80, 90)
    with pytest.raises(OfframpError, match="flows: expected hosts from 0 to 2"):
        run_lossless(star(3), make_flows([(0, 3, 5, 0)]))
