# SPDX-License-Identifier: Apache-2.0
"""Use of the job's DSCPs by strangers: random frames against the model, then floods through queues.

Meters see the switch's clock, which the tests turn by hand.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from hermod_model import HOSTS, PORTS, QUIET, Model, dscp_of, ipv4, random_frame, version
from offramp.hermod.switch.entries import EXCESS, POLICED, STRANGERS, GateRole, MeterRate, SwitchPlan, cell, full_name
from offramp.p4src import p4_source
from offramp_base.wire.batch import PacketBatch
from offramp_base.wire.ethernet import ipv4_checksum
from offramp_p4 import AnySwitch, PlainSwitch, make_switch
from offramp_p4.frontend import load
from offramp_p4.queued import QueuedSwitch
from offramp_p4.tm import PortConfig, TmConfig
from offramp_p4.tm.config import QueueConfig
from offramp_sim.hermod import direct

pytestmark = pytest.mark.p4

GUARDED = replace(
    QUIET,
    members=(1, 2),
    police={7: MeterRate(40_000, 3_000), 6: MeterRate(100_000, 2_000), 2: MeterRate(1, 1)},
    upper=MeterRate(2_000, 300),
)
CONTROL = 48


def count(switch: AnySwitch, name: str, index: int) -> int:
    return int(switch.counters[full_name(name, switch.tables)].packets[index])


def test_random_frames_from_the_jobs_ports_and_from_others(make_hermod: Callable[[SwitchPlan], AnySwitch]) -> None:
    rng, model, switch = random.Random(11), Model(GUARDED), make_hermod(GUARDED)
    for _ in range(1200):
        port, frame = rng.choice(PORTS), random_frame(rng)
        model.now_us += rng.choice([0, 0, 100, 5_000])
        switch.now_us = model.now_us
        expected = model.pass_(port, frame)
        assert list(switch.process(PacketBatch.of([(port, frame)]))) == expected
    assert {p: count(switch, STRANGERS, p) for p in PORTS} == {p: model.strangers[p] for p in PORTS}
    assert {p: count(switch, EXCESS, p) for p in PORTS} == {p: model.excess[p] for p in PORTS}
    cells = [(p, q) for p in PORTS for q in range(8)]
    assert {at: count(switch, POLICED, cell(*at)) for at in cells} == {at: model.policed[at] for at in cells}
    assert min(model.strangers.total(), model.excess.total(), model.policed.total()) > 20


@pytest.mark.full
@pytest.mark.parametrize("checksum", [0, 1, 3, 0x00FF, 0x0103, 0xFF03, 0xFF3F, 0xFFFC, 0xFFFE])
@pytest.mark.parametrize("dscp", [1, 48, 63])
def test_the_checksum_of_what_is_rewritten_stays_right(
    make_hermod: Callable[[SwitchPlan], AnySwitch], dscp: int, checksum: int
) -> None:
    frame = bytes.fromhex("020000000001 020000000002 0800") + ipv4(random.Random(3), dscp << 2 | 2, 5, checksum)
    ((port, out),) = make_hermod(GUARDED).process(PacketBatch.of([(3, frame)]))
    assert (port, dscp_of(out), out[15] & 3) == (1, 0, 2)
    assert ipv4_checksum(out[14:34]) == 0
    assert (version(out), out[16:24], out[26:]) == (4, frame[16:24], frame[26:])


def test_a_stranger_closes_no_gate(make_hermod: Callable[[SwitchPlan], AnySwitch]) -> None:
    closing, held = ip_frame(1, 2, 24), ip_frame(1, 2, 33)
    plan = replace(QUIET, members=(1, 2), roles={24: GateRole(closes=True), 33: GateRole(held=True)})
    for port, passes in [(3, True), (2, False)]:
        switch = make_hermod(plan)
        switch.now_us = 1_000_000
        assert len(switch.process(PacketBatch.of([(port, closing)]))) == 1
        switch.now_us += 1_000
        assert bool(list(switch.process(PacketBatch.of([(2, held)])))) == passes


def test_without_members_every_port_is_the_jobs(make_hermod: Callable[[SwitchPlan], AnySwitch]) -> None:
    frame = ip_frame(1, 2, CONTROL)
    assert list(make_hermod(QUIET).process(PacketBatch.of([(9, frame)]))) == [(1, frame)]


# --- floods ------------------------------------------------------------------------------------------------

LINE_BPS = 80_000_000
BYTES = 1000
WIRE = BYTES + 24
PS = 10**12
_MACS = {port: mac for mac, port in HOSTS.items()}
JOB = SwitchPlan({CONTROL: 7, 40: 5, 8: 1}, 0, 7, {}, HOSTS, PORTS)
POLICED_JOB = replace(
    JOB,
    members=(1, 2),
    police={7: MeterRate(LINE_BPS // 8 // 20, 4 * BYTES)},
    upper=MeterRate(LINE_BPS // 8 * 9 // 10, 8 * BYTES),
)


def ip_frame(to: int, of: int, dscp: int) -> bytes:
    head = _MACS[to].to_bytes(6, "big") + _MACS.get(of, 0x0200_0000_0009).to_bytes(6, "big") + b"\x08\x00"
    return (head + ipv4(random.Random(1), dscp << 2)).ljust(BYTES, b"\0")


def finish(plan: SwitchPlan, flood_port: int, flood_dscp: int, frames: int = 300) -> tuple[float, float]:
    """Port 2 sends a coflow to port 1 at half the line while ``flood_port`` sends at twice the line.

    Returns when the coflow's last frame left, in times of what the line takes for it alone, and the share of frames
    of the lowest queue in what left until then.
    """
    switch: PlainSwitch = make_switch(load(p4_source("hermod/v1model.p4")), "python")
    direct.load(switch, plan)
    queues = (QueueConfig(limit_packets=64),) * 8
    queued = QueuedSwitch(switch, TmConfig(default=PortConfig(rate_bps=LINE_BPS, queues=queues)))
    step = WIRE * 8 * PS // LINE_BPS  # of a frame on the line
    coflow, flood = ip_frame(1, 2, 40), ip_frame(1, flood_port, flood_dscp)
    lowest = ip_frame(1, 2, 0)
    left: list[tuple[int, int]] = []
    end, at = 0, 0
    while end < frames and at < 40 * frames:
        at += 1
        now = at * step // 2
        queued.receive(now, flood_port, flood)
        if at % 4 == 0 and at // 4 <= frames:
            queued.receive(now, 2, coflow)
        if at % 8 == 0:
            queued.receive(now, 2, lowest)
        for departed in queued.advance(now):
            if departed.port == 1:
                dscp = dscp_of(departed.frame)
                left.append((departed.frame[6:12] == coflow[6:12], dscp if dscp is not None else -1))
        end = sum(1 for own, dscp in left if own and dscp == 40)
    share = sum(1 for _, dscp in left if dscp == 0) / max(len(left), 1)
    return at / 2 / frames if end >= frames else float("inf"), share


@pytest.mark.full
def test_a_flood_of_control_starves_the_coflow_where_nobody_looks() -> None:
    """The danger that this file guards against: without members and rates the coflow does not get through."""
    ended, share = finish(JOB, 3, CONTROL)
    assert (ended, share) == (float("inf"), 0)


@pytest.mark.parametrize("flood_port", [3, 1])
def test_a_flood_of_control_costs_the_coflow_what_the_meter_lets_pass(flood_port: int) -> None:
    """At half the line it needs twice what the line takes; 5 % of control, where it is the job's, fit beside it."""
    ended, share = finish(POLICED_JOB, flood_port if flood_port == 3 else 2, CONTROL)
    assert 2 <= ended < 2.2
    assert share > 0.1


APART = SwitchPlan({CONTROL: 7, 63: 6, 40: 5, 8: 1}, 0, 7, {}, HOSTS, PORTS)
GUARDED_APART = replace(APART, members=(1, 2), police=POLICED_JOB.police)
GUEST_PERCENT = 5


def abused(plan: SwitchPlan, dscp: int, burst: int, times: int, frames: int = 400) -> tuple[float, int]:
    """Port 2 sends a coflow to port 1 at the rate of the line; port 3 floods it, with addresses of port 2.

    Returns when the coflow's last frame left, in times of what the line takes for it alone, and how many of the
    flood's frames got through until then.
    """
    switch: PlainSwitch = make_switch(load(p4_source("hermod/v1model.p4")), "python")
    direct.load(switch, plan)
    guests = QueueConfig(limit_packets=64, least_percent=GUEST_PERCENT if plan.members is not None else None)
    queues = (guests, *(QueueConfig(limit_packets=2 * frames),) * 7)
    queued = QueuedSwitch(switch, TmConfig(default=PortConfig(rate_bps=LINE_BPS, queues=queues)))
    step = WIRE * 8 * PS // LINE_BPS
    coflow = ip_frame(1, 2, 40)
    flows = [ip_frame(1, 2, dscp)[:-2] + bytes([1, flow]) for flow in range(16)]
    own = flooded = at = 0
    while own < frames and at < 5 * frames:
        at += 1
        if at % burst == 0:
            for number in range(burst * times):
                queued.receive(at * step, 3, flows[number % len(flows)])
        if at <= frames:
            queued.receive(at * step, 2, coflow)
        left = [departed.frame for departed in queued.advance(at * step) if departed.port == 1]
        own += left.count(coflow)
        flooded += len(left) - left.count(coflow)
    return at / frames if own == frames else float("inf"), flooded


@pytest.mark.full
@pytest.mark.parametrize("dscp", [63, CONTROL])
@pytest.mark.parametrize(("burst", "times"), [(1, 1), (1, 4), (64, 2)])
def test_an_abuser_with_the_jobs_addresses_costs_it_a_tenth_at_most(dscp: int, burst: int, times: int) -> None:
    """Without protection it gets next to nothing; with it what the lowest queue keeps, which the abuser gets."""
    assert abused(APART, dscp, burst, times)[0] == float("inf")
    ended, flooded = abused(GUARDED_APART, dscp, burst, times)
    assert 1.03 < ended <= 1.1  # the first burst comes late
    assert 0.03 * 400 < flooded < 0.07 * 400


def test_the_lowest_queue_keeps_its_share_of_a_line_that_the_job_fills() -> None:
    """A worker that sends its data at twice the line: a tenth is left for the lowest."""
    plan = replace(POLICED_JOB, upper=MeterRate(LINE_BPS // 8 * 9 * BYTES // (10 * WIRE), 8 * BYTES))
    without = finish(replace(plan, upper=None), 2, 40)[1]
    assert without == 0
    assert finish(plan, 2, 40)[1] > 0.04
