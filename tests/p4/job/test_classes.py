# SPDX-License-Identifier: Apache-2.0
"""Hermod's classes of packets that a system sums: priorities, best effort for strangers, classes that are dropped.

Blind to time beyond the order in which packets leave a port.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from allreduce_lab import JOB, endpoints
from hermod_model import QUIET
from offramp.allreduce import entries
from offramp.hermod.switch.entries import DROP, SwitchPlan
from offramp.switch_groups import ALL_REDUCE
from offramp_base.wire.batch import PacketBatch
from offramp_base.wire.ethernet import ipv4_checksum
from offramp_p4 import PlainSwitch, make_switch
from offramp_p4.queued import QueuedSwitch
from offramp_p4.state import ActionData, Exact, TableEntry
from offramp_p4.tm import TmConfig
from offramp_sim.allreduce import direct as allreduce
from offramp_sim.hermod import direct as hermod
from offramp_sim.switchgnn import direct as switchgnn
from offramp_sim.switchgnn.jobs import six_vertices
from offramp_sim.switchgnn.lockstep import Lockstep
from system_programs import SHARED, fresh, program

pytestmark = pytest.mark.p4

RANKS = (2, 3)
HIGH, LOW = 57, 3
PLAN = replace(QUIET, queues={HIGH: 7, LOW: 1}, other=0)
CLASSES = "HermodIngress.classify.classes"


@pytest.fixture(params=["python", pytest.param("native", marks=pytest.mark.full)])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def prepared(engine: str, plan: SwitchPlan = PLAN) -> PlainSwitch:
    return load(fresh(SHARED, engine), plan)


def load(switch: PlainSwitch, plan: SwitchPlan) -> PlainSwitch:
    """The switch with a job and a plan."""
    allreduce.load(switch, entries.star(RANKS), JOB, [1], ALL_REDUCE)
    hermod.load(switch, plan)
    return switch


def classed(frame: bytes, dscp: int) -> bytes:
    """The frame with a DSCP, and the checksum that belongs to it."""
    head = frame[14:15] + bytes([dscp << 2]) + frame[16:24] + bytes(2) + frame[26:34]
    return frame[:14] + head[:10] + ipv4_checksum(head).to_bytes(2, "big") + head[12:] + frame[34:]


def contributions(dscp: int) -> list[tuple[int, bytes]]:
    """A contribution of each rank to one sum."""
    sent = []
    for endpoint, port in zip(endpoints(len(RANKS)), RANKS, strict=True):
        endpoint.begin(np.arange(64, dtype=np.int32))
        sent += [(port, classed(frame, dscp)) for frame in endpoint.outgoing(1).frames()]
    return sent


def dscps(batch: PacketBatch) -> list[int]:
    return [frame[15] >> 2 for frame in batch.frames()]


def checksums_hold(batch: PacketBatch) -> bool:
    return all(ipv4_checksum(frame[14:34]) == 0 for frame in batch.frames())


def test_a_sum_overtakes_frames_of_a_lower_class(engine: str) -> None:
    own = make_switch(program(SHARED), engine)  # a traffic manager keeps its switch
    node = QueuedSwitch(load(own, PLAN), TmConfig.uniform(rate_bps=10**9, queues=8))
    frame = bytes.fromhex("020000000002020000000001") + b"\x08\x00" + bytes([0x45, LOW << 2]) + bytes(1000)
    for _ in range(20):
        node.receive(0, 1, frame)
    for port, contribution in contributions(HIGH):
        node.receive(1, port, contribution)
    left = [(each.port, each.frame[15] >> 2) for each in node.advance(10**12)]
    to_rank = [dscp for port, dscp in left if port == 2]
    assert to_rank.count(LOW) == 20
    assert to_rank.index(HIGH) == 1  # behind the frame that had begun
    assert (3, HIGH) in left


def test_a_sum_of_a_stranger_in_hermods_sense_is_best_effort_and_exact(engine: str) -> None:
    switch = prepared(engine, replace(PLAN, members=(3,)))
    left = switch.process(PacketBatch.of(contributions(HIGH)[::-1]))  # the last contribution is of the stranger
    assert left.ports.tolist() == [2, 3]
    assert dscps(left) == [0, 0]
    assert checksums_hold(left)
    assert hermod.sent(switch, 2, 0)[0] == hermod.sent(switch, 3, 0)[0] == 1
    assert switch.counters["HermodIngress.strangers"].packets[2] == 1


def test_no_sum_has_a_packet_whose_class_is_dropped(engine: str) -> None:
    switch = prepared(engine)
    switch.tables[CLASSES].insert(TableEntry((Exact(1), Exact(9)), ActionData(DROP.replace("forward", "classify"), ())))
    assert len(switch.process(PacketBatch.of(contributions(9)))) == 0
    assert allreduce.outcomes(switch)["opened"] == 0
    assert len(switch.process(PacketBatch.of(contributions(HIGH)))) == 2


def test_later_passes_of_a_demoted_upload_stay_best_effort(engine: str) -> None:
    """A vertex with neighbours on two workers makes several passes; each sum that it completes has its class."""
    job = six_vertices()
    switch = prepared(engine, replace(PLAN, members=()))
    switchgnn.load(switch, job.plans, job.ports)
    seen: set[int] = set()

    def process(batch: PacketBatch) -> PacketBatch:
        sent = [(port, classed(frame, HIGH)) for port, frame in batch]
        left = switch.process(PacketBatch.of(sent))
        seen.update(dscps(left))
        assert checksums_hold(left)
        return left

    run = Lockstep(job.plans, job.ports, process)
    run.start()
    x = np.arange(6 * 8, dtype=np.int32).reshape(6, 8)
    sums = run.exchange(0, [x[each.boundaries[0]] for each in run.endpoints])
    for endpoint, got in zip(run.endpoints, sums, strict=True):
        assert np.array_equal(got, job.expected(x)[endpoint.boundaries[0]])
    assert seen == {0}
    assert switchgnn.counters(switch)["recirculations"] > 0


def test_short_packets_are_counted_by_the_system_that_they_are_of(engine: str) -> None:
    switch = prepared(engine)
    whole = contributions(HIGH)[0][1]
    other = whole[:23] + bytes([253]) + whole[24:]
    assert len(switch.process(PacketBatch.of([(2, whole[:200]), (2, other[:40])]))) == 0
    assert allreduce.outcomes(switch)["malformed"] == 1
    assert switchgnn.counters(switch)["malformed"] == 1
