# SPDX-License-Identifier: Apache-2.0
"""A switch with a traffic manager: queueing metadata, copies, recirculation, conservation."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from both_engines import MakeSwitch
from offramp_base.errors import OfframpError
from offramp_base.wire.batch import PacketBatch
from offramp_base.wire.ethernet import wire_bytes
from offramp_p4 import PlainSwitch
from offramp_p4.frontend import load
from offramp_p4.paced import HOLD_US, PacedSwitch
from offramp_p4.queued import QueuedSwitch
from offramp_p4.state import CloneSession, Replica
from offramp_p4.tm import PortConfig, QueueConfig, TmConfig

PROGRAM = load(Path(__file__).with_name("queues.p4"))
US = 10**6
RATE = 10**7  # 0.8 us a byte
REPORT = 26
MakeQueued = Callable[..., QueuedSwitch]


def order(port: int, priority: int = 0, op: int = 0, passes: int = 0, size: int = 100) -> bytes:
    return bytes([port, priority, op, passes]) + bytes(size - 4)


def report(frame: bytes) -> tuple[int, int, int, int, int]:
    """enq_timestamp, deq_timedelta, enq_qdepth, deq_qdepth, egress_global_timestamp."""
    words = [int.from_bytes(frame[at : at + 4], "big") for at in (4, 8, 12, 16)]
    return words[0], words[1], words[2], words[3], int.from_bytes(frame[20:26], "big")


@pytest.fixture
def switch(make_switch: MakeSwitch) -> MakeSwitch:
    def make(max_passes: int = 10_000) -> PlainSwitch:
        queued = make_switch(PROGRAM, max_passes=max_passes)
        queued.pre.multicast[1] = (Replica(2, 1), Replica(3, 1), Replica(2, 2))
        queued.pre.clones[1] = CloneSession((Replica(4, 0),), packet_length=40)
        return queued

    return make


@pytest.fixture
def queued(switch: MakeSwitch) -> MakeQueued:
    def make(config: TmConfig | None = None, **options: int) -> QueuedSwitch:
        return QueuedSwitch(switch(**options), config or TmConfig.uniform(rate_bps=RATE))

    return make


def test_queueing_metadata_tell_the_truth_in_microseconds_and_packets(queued: MakeQueued) -> None:
    node = queued()
    slot = wire_bytes(100) * 8 * 10**12 // RATE
    assert slot == 99_200_000
    for number in range(3):
        node.receive(7 * US + number * US, 1, order(5))
    out = node.advance(10**12)
    starts = [7 * US + n * slot for n in range(3)]
    assert [each.ps for each in out] == [start + slot for start in starts]
    # Found, left: the first goes at once; the others find none and one before them.
    for number, (ahead, left) in enumerate([(0, 0), (0, 1), (1, 0)]):
        arrival, start = 7 + number, starts[number] // US
        assert report(out[number].frame) == (arrival, start - arrival, ahead, left, start)


def test_the_higher_priority_overtakes_and_depths_count_one_queue_only(queued: MakeQueued) -> None:
    node = queued()
    for priority in (0, 0, 3, 7, 3):
        node.receive(0, 1, order(5, priority))
    out = node.advance(10**12)
    # All five arrive at one instant, and the line chooses among them.
    assert [each.frame[1] for each in out] == [7, 3, 3, 0, 0]
    assert [report(each.frame)[2:4] for each in out] == [(0, 0), (0, 1), (1, 0), (0, 1), (1, 0)]


def test_multicast_and_clones_queue_like_any_other_copy(queued: MakeQueued) -> None:
    node = queued()
    node.receive(0, 1, order(5, 2, op=1))
    out = node.advance(10**12)
    slot = wire_bytes(100) * 8 * 10**12 // RATE
    assert [(each.ps, each.port) for each in out] == [(slot, 2), (slot, 3), (2 * slot, 2)]
    assert [number for port, number, queue in node.tm.queues() if queue.stats.enqueued] == [2, 2]
    for op in (2, 3):
        node = queued()
        node.receive(0, 1, order(5, 2, op=op))
        out = node.advance(10**12)
        assert sorted((each.port, len(each.frame)) for each in out) == [(4, 40), (5, 100)]
        used = {(port, number): queue.stats for port, number, queue in node.tm.queues() if queue.stats.enqueued}
        # bmv2 resets a clone's metadata: its priority is 0.
        assert set(used) == {(4, 0), (5, 2)}
        assert used[4, 0].enqueued_bytes == 40


def test_recirculation_waits_for_a_line_of_its_own(queued: MakeQueued) -> None:
    node = queued(TmConfig(default=PortConfig(), recirculation=PortConfig(RATE, (QueueConfig(limit_packets=1),))))
    slot = wire_bytes(100) * 8 * 10**12 // RATE
    for number in range(4):
        node.receive(number, 1, order(5, op=4, passes=2))
    out = node.advance(10**12)
    # One is on the line, one waits, two are lost; the survivors take turns.
    stats = node.tm.queue(-1, 0).stats
    assert (stats.enqueued, stats.dropped) == (4, 2)
    assert [(each.port, each.ps) for each in out] == [(5, 3 * slot), (5, 4 * slot)]
    assert node.switch.stats.recirculations == 6


def test_recirculation_without_rate_takes_no_time_and_passes_are_bounded(queued: MakeQueued) -> None:
    node = queued(TmConfig(), max_passes=5)
    node.receive(9, 1, order(5, op=4, passes=4))
    node.receive(9, 1, order(6, op=4, passes=4))
    node.receive(9, 1, order(7, op=4, passes=5))
    # Each packet has five passes of its own.
    assert [(each.ps, each.port) for each in node.advance(9)] == [(9, 5), (9, 6)]
    assert node.switch.stats.looped == 1


def test_resubmission_never_queues(queued: MakeQueued) -> None:
    node = queued()
    node.receive(0, 1, order(5, op=5, passes=3))
    assert [report(each.frame)[:4] for each in node.advance(10**12)] == [(0, 0, 0, 0)]
    assert (node.switch.stats.passes, node.tm.queue(5, 0).stats.enqueued) == (4, 1)


def test_what_egress_drops_takes_no_time_on_the_line(queued: MakeQueued) -> None:
    node = queued()
    for op in (6, 6, 0):
        node.receive(0, 1, order(5, op=op))
    assert [each.ps for each in node.advance(10**12)] == [wire_bytes(100) * 8 * 10**12 // RATE]


def test_without_limits_the_same_packets_leave_as_without_a_traffic_manager(
    queued: MakeQueued, switch: MakeSwitch
) -> None:
    draw = random.Random(4)
    frames = [order(draw.randrange(9), draw.randrange(8), op, draw.randrange(4)) for op in range(7) for _ in range(20)]
    plain, node = switch(), queued(TmConfig())
    for frame in frames:
        expected = plain.process_one(1, frame)
        node.receive(0, 1, frame)
        got = [(each.port, each.frame) for each in node.advance(0)]
        # A second replica finds the first one before it, which a switch without queues cannot know.
        assert sorted((port, f[:4], f[REPORT:]) for port, f in got) == sorted(
            (port, f[:4], f[REPORT:]) for port, f in expected
        )
    assert node.switch.stats == plain.stats


def test_every_copy_leaves_or_is_dropped_or_waits(queued: MakeQueued) -> None:
    draw = random.Random(1)
    config = TmConfig.uniform(
        rate_bps=RATE,
        queue=QueueConfig(limit_bytes=400),
        buffer_bytes=1500,
        recirculation_bps=RATE,
        weights={0: 2, 1: 1},
    )
    node = queued(config)
    out = []
    for number in range(400):
        frame = order(
            draw.randrange(4), draw.randrange(8), draw.randrange(7), draw.randrange(4), draw.randrange(60, 300)
        )
        node.receive(number * 40 * US, 1, frame)
        out += node.advance(number * 40 * US)
    stats, queues = node.switch.stats, [(port, queue) for port, _, queue in node.tm.queues()]
    waiting = sum(len(queue) for port, queue in queues if port >= 0)
    lost = sum(queue.stats.dropped for port, queue in queues if port >= 0)
    assert waiting
    assert lost
    # Each pass puts one copy into a queue, and each clone one more; multicast makes replicas of it instead.
    multicast = stats.replicas - stats.clones
    passes = stats.passes - stats.resubmissions - multicast // 3
    assert passes + stats.replicas == len(out) + stats.dropped + stats.recirculations + lost + waiting
    line = node.tm.queue(-1, 0)
    assert stats.recirculations == line.stats.enqueued + line.stats.dropped
    assert stats.packets_out == len(out)
    assert node.tm.held_bytes == sum(queue.bytes for _, queue in queues) <= 1500


def test_a_frame_from_the_past_is_refused(queued: MakeQueued) -> None:
    node = queued()
    node.advance(100)
    with pytest.raises(OfframpError, match="a frame arrives at 99 ps: the switch is at 100 ps"):
        node.receive(99, 1, order(5))


def test_a_paced_switch_gives_frames_when_the_line_has_sent_them_and_catches_up_when_called_late(engine: str) -> None:
    paced = PacedSwitch(PROGRAM, TmConfig.uniform(rate_bps=RATE), engine)
    assert paced.next_us is None
    paced.now_us = 50
    assert len(paced.process(PacketBatch.of([(1, order(5))] * 30))) == 0
    assert paced.next_us == 150  # 50 + 99.2, to a whole microsecond
    paced.now_us = 149
    assert len(paced.process(PacketBatch.empty())) == 0
    paced.now_us = 150
    assert len(paced.process(PacketBatch.empty())) == 1
    assert paced.next_us == 249
    paced.now_us = 50 + 1000
    late = paced.process(PacketBatch.empty())
    assert len(late) == 9  # all that 1000 us have room for, less the first
    assert [report(frame)[4] for frame in late.frames()] == [50 + 992 * n // 10 for n in range(1, 10)]
    assert paced.now_us == 1050
    paced.reset()
    assert paced.next_us is None
    assert len(paced.process_one(1, order(5))) == 0


@pytest.mark.parametrize("engine", ["python", "native"])
def test_a_port_whose_link_takes_no_more_keeps_its_frames_and_no_other_port_waits(engine: str) -> None:
    config = TmConfig.uniform(queues=1, queue=QueueConfig(limit_packets=4))
    switch = PacedSwitch(PROGRAM, config, engine)
    switch.now_us = 10
    switch.hold([5])
    out = switch.process(PacketBatch.of([(1, order(port)) for port in (5, 6, 5, 5, 5, 5, 5)]))
    assert out.ports.tolist() == [6]
    assert switch.next_us == 10 + HOLD_US
    switch.now_us = 10 + HOLD_US
    late = list(switch.process(PacketBatch.empty()))
    assert [port for port, _ in late] == [5] * 4  # what the queue holds; the others were dropped
    assert [report(frame)[2] for _, frame in late] == [0, 1, 2, 3]  # the depth that each found
    assert all(report(frame)[1] == HOLD_US for _, frame in late)


@pytest.mark.parametrize("engine", ["python", "native"])
def test_frames_of_one_batch_find_nothing_that_a_free_line_has_sent(engine: str) -> None:
    switch = PacedSwitch(PROGRAM, TmConfig.uniform(queues=1, queue=QueueConfig(limit_packets=2)), engine)
    for now_us in (3, 3, 4):  # twice at one time: the clock is coarse
        switch.now_us = now_us
        out = list(switch.process(PacketBatch.of([(1, order(5))] * 50)))
        assert [report(frame)[2] for _, frame in out] == [0] * 50
