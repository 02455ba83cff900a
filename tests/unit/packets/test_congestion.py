# SPDX-License-Identifier: Apache-2.0
"""Congestion control against what its papers say: queues, shares, rates step by step, and bytes that none may lose.

Blind to what real senders do beside it: bursts of cards, delayed acknowledgements, time-outs.
"""

from __future__ import annotations

import ctypes
import math
from dataclasses import fields, replace

import numpy as np
import pytest

from offramp_base.errors import OfframpError
from offramp_base.native.compiler import MachineCode
from offramp_base.native.llvm import AliasTags, ll
from offramp_base.native.lowering import RuntimeLibrary
from offramp_sim.packets import Framing, LinkProperties, fat_tree, layout, leaf_spine, star
from offramp_sim.packets.congestion import _catch_up, _cut_rate
from offramp_sim.packets.control import CONTROLS, Dcqcn, Dctcp, Hpcc, Swift, load_control, round_trips
from offramp_sim.packets.flows import flows
from offramp_sim.packets.machine import SimulationMemory
from offramp_sim.packets.simulate import prepare_network, simulate
from offramp_sim.packets.watch import QueueWatch

LINKS = LinkProperties(rate_bps=10_000_000_000, delay_ps=2_000_000)
PACKET = 1106  # payload and header
LINE = 1.25e-3  # bytes per picosecond
EACH = pytest.mark.parametrize("control", [Dctcp(), Dcqcn(), Swift(), Hpcc()], ids=CONTROLS)


def incast(senders, size, control, **options):
    table = flows([(source, senders, size, 0) for source in range(senders)])
    return simulate(star(senders + 1, LINKS), flows=table, control=control, **options)


def jain(rates):
    return rates.sum() ** 2 / len(rates) / (rates**2).sum()


@pytest.mark.full
@pytest.mark.parametrize("senders", [2, 4])
def test_dctcp_queues_swing_between_the_papers_bounds(senders):
    """Section 3.3: up to K + N packets, down by half the root of 2 N (C RTT + K), for windows in step."""
    run = incast(senders, 40_000_000 // senders, Dctcp(), watch=QueueWatch(senders, 10**10, 3))
    threshold, product = 30_000 / PACKET, 4 * (4_000_000 + (PACKET + 84) * 800) / 2 * LINE / PACKET
    most = threshold + senders
    swing = math.sqrt(2 * senders * (product + threshold)) / 2
    least, mean, peak = run.queue_bytes[1:].T / PACKET
    np.testing.assert_allclose(peak, most, atol=1.5)
    assert (least >= most - swing - 3).all()
    assert (abs(mean - threshold) < 3).all()
    assert run.finish_ps.max() < 1.02 * 40_000_000 * PACKET / 1024 / LINE


@pytest.mark.full
def test_swift_holds_the_round_trip_at_its_target():
    control = Swift(queue_ps=20_000_000, scaling=0.0)
    run = incast(2, 20_000_000, control, watch=QueueWatch(2, 10**10, 3))
    np.testing.assert_allclose(run.queue_bytes[1, 1] / LINE, 20_000_000, rtol=0.05)
    assert run.finish_ps.max() < 1.02 * 40_000_000 * PACKET / 1024 / LINE


def test_swift_windows_below_a_packet_pace_a_large_incast():
    """100 senders and room for far fewer packets: windows of one packet each cannot, parts of one can."""
    control = Swift(queue_ps=10_000_000, scaling=0.0)
    paced, whole = (incast(100, 300_000, replace(control, least=least)) for least in (0.01, 1.0))
    assert paced.delay_ps[:, 0].mean() < 0.5 * whole.delay_ps[:, 0].mean()
    assert paced.end_ps < 1.2 * whole.end_ps


def test_dcqcn_keeps_the_line_busy_with_a_short_queue():
    run = incast(4, 25_000_000, Dcqcn(), watch=QueueWatch(4, 10**10, 8))
    without = incast(4, 25_000_000, None)
    assert run.queue_bytes[1:, 2].max() < 2 * 200_000 < without.peak_port_bytes / 20
    assert run.end_ps < 1.3 * without.end_ps


@EACH
def test_flows_that_come_later_get_their_share(control):
    table = flows([(0, 2, 40_000_000, 0), (1, 2, 10_000_000, 10**10)])
    run = simulate(star(3, LINKS), flows=table, control=control)
    share = 10_000_000 * PACKET / 1024 / LINE / (run.finish_ps[1] - 10**10)
    assert 0.35 < share < 0.65


@EACH
def test_equal_flows_end_together(control):
    assert jain(1 / incast(8, 4_000_000, control).finish_ps) > 0.99


@EACH
def test_a_permutation_over_leaves_and_spines_keeps_queues_short(control):
    """Paths of several flows are shared by them, and nobody waits behind more than their windows."""
    topology = leaf_spine(4, 4, 8, LINKS)
    table = flows([(host, (host + 13) % 32, 2_000_000, 0) for host in range(32)])
    free, held = (simulate(topology, flows=table, control=each) for each in (None, control))
    assert held.peak_port_bytes < free.peak_port_bytes / 2
    assert jain(1 / held.finish_ps) > 0.85
    assert held.end_ps < 2 * free.end_ps
    sprayed = simulate(topology, flows=table, control=control, spray=True)
    assert jain(1 / sprayed.finish_ps) > (0.97 if isinstance(control, Hpcc) else 0.99)  # which agrees slowly


@EACH
@pytest.mark.parametrize("loss", [0.0, 0.01])
def test_no_byte_is_lost_or_arrives_twice(control, loss):
    """All arrive; what hosts sent is what arrived, what was dropped and what was on its way when the last one came."""
    links = replace(LINKS, buffer_bytes=60_000, mark_bytes=20_000, loss=loss)
    table = flows([(source, 6, 1024 * 400, 1000 * source) for source in range(6)] + [(6, 0, 1024 * 300, 5)])
    run = simulate(star(7, links), flows=table, control=control, framing=Framing(retry_ps=50_000_000))
    assert (run.finish_ps > 0).all()
    if loss or not isinstance(control, Swift):  # which keeps clear of the buffers' ends
        assert run.dropped + run.lost > 0
    packets = 2700 + run.resent_bytes // 1024
    assert run.resent_bytes % 1024 == 0
    assert run.resent_bytes // 1024 <= run.dropped + run.lost
    answers = (run.up_bytes - packets * PACKET) / 84
    assert answers >= 0
    assert answers == int(answers)
    if not isinstance(control, Dcqcn):  # one for each that arrived, or is still to arrive
        assert abs(answers - 2700) <= 60


@pytest.mark.full
@EACH
@pytest.mark.parametrize("spray", [False, True])
def test_any_number_of_cores_gives_the_same(control, spray):
    links = replace(
        LINKS, buffer_bytes=40_000, mark_bytes=10_000, mark_all_bytes=30_000, mark_probability=0.5, loss=0.002
    )
    table = flows([(source, (7 * source + 3) % 5, 200_000, source * 1000) for source in range(5, 16)])
    for topology in (star(16, links), leaf_spine(4, 3, 4, links), fat_tree(4, 2, 2, 2, 3, links)):
        one, *more = (
            simulate(
                topology,
                flows=table,
                control=control,
                framing=Framing(retry_ps=20_000_000),
                seed=5,
                spray=spray,
                cores=cores,
                watch=QueueWatch(1, 10**8, 20),
            )
            for cores in (1, 2, 3)
        )
        assert min(one.lost, one.cuts) > 0
        if isinstance(control, Dcqcn):  # the others keep clear of the buffers' ends
            assert one.dropped > 0
        for other in more:
            for field in fields(one):
                if field.name not in {"state_bytes", "wall_s"}:
                    np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name), field.name)


def test_marks_between_two_thresholds_are_drawn():
    links = replace(LINKS, mark_bytes=0, mark_all_bytes=4_000_000)
    run = incast(2, 1024 * 2000, None)
    drawn = simulate(star(3, links), flows=flows([(0, 2, 1024 * 2000, 0), (1, 2, 1024 * 2000, 0)]))
    mean = drawn.peak_port_bytes / 2 / 4_000_000  # the queue grows from nothing to its peak
    np.testing.assert_allclose(drawn.marked, 4000 * mean, rtol=0.1)
    assert run.finish_ps.tolist() == drawn.finish_ps.tolist()


def test_dcqcn_rates_step_by_step():
    """A notice halves at alpha 1; five times halfway back, then 40 Mbit/s at a time, then more (section 4)."""
    module = ll.Module("dcqcn")
    library = RuntimeLibrary(module, AliasTags(module))
    for function in (_cut_rate, _catch_up):
        library.function(function, exported=True)
    code = MachineCode(str(module))
    cut = code.function("rt._cut_rate", None, ctypes.c_void_p, ctypes.c_void_p)
    catch_up = code.function("rt._catch_up", None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    machine, topology = SimulationMemory(), star(2, LINKS)
    prepare_network(machine, topology, Framing(), 0)
    load_control(machine, topology, flows([(0, 1, 1, 0)]), Dcqcn(gain=1 / 4), 82, 1024)
    context, address = machine.contexts[0], machine.partitions[0].address
    sender = machine[layout.PartitionState.senders][0]
    rates, real = [], sender.view(np.float64)

    def note():
        rates.append(round(real[layout.SenderCongestion.rate] * 8000, 4))  # Gbit/s

    for now in (0, 1):  # two notices: 10, 5, 2.5, with alpha at 1
        context.now = now
        cut(address, sender.ctypes.data)
        note()
    for step in range(1, 8):
        catch_up(address, sender.ctypes.data, 1 + 55_000_000 * step)
        note()
    # the aim is 5 Gbit/s: halfway five times, then it rises by 40 Mbit/s with each step
    assert rates == [5, 2.5, 3.75, 4.375, 4.6875, 4.8438, 4.9219, 4.9809, 5.0305]
    assert real[layout.SenderCongestion.alpha] == pytest.approx(0.75**7)
    sender[layout.SenderCongestion.raises_by_bytes] = 9
    catch_up(address, sender.ctypes.data, 1 + 55_000_000 * 8)
    assert real[layout.SenderCongestion.target] * 8000 == pytest.approx(5.08 + 3 * 0.2)  # the eighth by time, F is 5


def test_round_trips_of_a_fat_tree():
    topology = fat_tree(2, 2, 2, 2, 2, LINKS)
    times = round_trips(topology, np.zeros(3, np.int64), np.array([1, 2, 4]), PACKET, 84)
    assert times.tolist() == [links * (4_000_000 + (PACKET + 84) * 800) for links in (2, 4, 6)]


@pytest.mark.parametrize(
    ("control", "message"),
    [
        (Dctcp(gain=0), "Dctcp gain 0: expected above 0 and at most 1"),
        (Dcqcn(raise_ps=0), "Dcqcn raise_ps 0: expected above 0"),
        (Swift(scaling_windows=(2, 1)), "Swift scaling_windows"),
    ],
)
def test_parameters_that_no_sender_can_work_with(control, message):
    with pytest.raises(OfframpError, match=message):
        incast(2, 1000, control)


def test_a_watch_needs_a_host():
    with pytest.raises(OfframpError, match="expected a host below 3"):
        incast(2, 1000, None, watch=QueueWatch(3, 1, 1))


@pytest.mark.parametrize(("goal", "senders"), [(0.95, 1), (0.8, 1), (0.95, 4)])
def test_hpcc_holds_the_busiest_link_at_its_goal_without_a_queue(goal, senders):
    """After the first round trip, in which all send as much as their links carry."""
    table = flows([(i, senders, 20_000_000, 0) for i in range(senders)])
    run = simulate(star(senders + 1, LINKS), flows=table, control=Hpcc(goal=goal))
    alone = simulate(star(2, LINKS), flows=flows([(0, 1, 20_000_000, 0)]), control=Dcqcn())
    used = senders * alone.end_ps / run.end_ps
    assert goal - 0.05 < used < goal + (1 - goal) / 4
    assert run.delay_ps[:, 0].mean() < 1.15 * alone.delay_ps[0, 0]
