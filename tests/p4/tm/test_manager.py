# SPDX-License-Identifier: Apache-2.0
"""The traffic manager against closed forms and against the byte-by-byte oracle."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byte_scheduler import QUANTUM, Frame, simulate
from offramp_base.errors import OfframpError
from offramp_base.wire.ethernet import wire_bytes
from offramp_p4.tm import PortConfig, QueueConfig, TmConfig, TrafficManager

BYTE_PS = 1000
RATE = 8 * 10**9  # a byte in 1000 ps


def drive(tm: TrafficManager[Frame], frames: list[Frame]) -> list[Frame]:
    """Fate of ``frames``, as the oracle reports it, in order of their start."""
    started = []

    def serve(until_ps: int) -> None:
        while (taken := tm.dequeue(until_ps)) is not None:
            frame = taken.item
            assert (frame.port, frame.queue, frame.size) == (taken.port, taken.queue, taken.frame_bytes)
            frame.starts, frame.left = taken.start_ps // BYTE_PS, taken.depth
            frame.ends, rest = divmod(tm.transmit(taken, frame.size), BYTE_PS)
            assert not rest
            started.append(frame)

    for frame in frames:
        now_ps = frame.arrives * BYTE_PS
        serve(now_ps - 1)
        verdict = tm.enqueue(now_ps, frame.port, frame.queue, frame.size, frame)
        frame.dropped, frame.ahead = verdict is None, -1 if verdict is None else verdict
    serve(10**15)
    return started


def line(*queues: QueueConfig, rate: int | None = RATE, buffer: int | None = None) -> TmConfig:
    return TmConfig(default=PortConfig(rate, queues), buffer_bytes=buffer)


limits = {"limit_bytes": st.none() | st.integers(1, 6000), "limit_packets": st.none() | st.integers(1, 6)}
queue_configs = st.builds(QueueConfig, **limits, weight=st.none() | st.integers(1, 3)) | st.builds(
    QueueConfig, **limits, least_percent=st.integers(1, 24)
)


@st.composite
def loads(draw: st.DrawFn) -> tuple[list[QueueConfig], int | None, list[Frame]]:
    queues = draw(st.lists(queue_configs, min_size=1, max_size=4))
    buffer = draw(st.none() | st.integers(1000, 10_000))
    frames, now = [], 0
    for _ in range(draw(st.integers(1, 40))):
        now += draw(st.sampled_from([0, 0, 1, 84, 500, 3000]))
        size = draw(st.sampled_from([1, 60, 61, 500, 1514, 4000]))
        frames.append(Frame(now, draw(st.integers(0, 1)), draw(st.integers(0, len(queues) - 1)), size))
    return queues, buffer, frames


@pytest.mark.full
@settings(derandomize=True, max_examples=150, deadline=None)
@given(loads())
def test_agrees_with_the_byte_by_byte_oracle(load: tuple[list[QueueConfig], int | None, list[Frame]]) -> None:
    queues, buffer, frames = load
    expected = [replace(frame) for frame in frames]
    peak = simulate(expected, queues, buffer, ports=2)
    tm: TrafficManager[Frame] = TrafficManager(line(*queues, buffer=buffer))
    started = drive(tm, frames)
    assert frames == expected
    assert len(started) == sum(not frame.dropped for frame in frames)
    for port, number, queue in tm.queues():
        mine = [frame for frame in frames if (frame.port, frame.queue) == (port, number)]
        assert queue.stats.enqueued == queue.stats.dequeued == sum(not frame.dropped for frame in mine)
        assert queue.stats.dropped == sum(frame.dropped for frame in mine)
        assert queue.stats.dropped_bytes == sum(frame.size for frame in mine if frame.dropped)
        assert queue.stats.peak_bytes == peak.get((port, number), 0)
        order = [frame.arrives for frame in started if (frame.port, frame.queue) == (port, number)]
        assert order == sorted(order)
    assert tm.held_bytes == 0


def test_one_queue_at_150_percent_loses_a_third_and_waits_as_computed() -> None:
    unit = 440  # a frame takes three, one arrives every two
    size, limit, rounds = 3 * unit - 24, 5, 40
    tm: TrafficManager[Frame] = TrafficManager(line(QueueConfig(limit_packets=limit)))
    frames = [Frame(2 * unit * n, 0, 0, size) for n in range(3 * rounds)]
    started = drive(tm, frames)
    # Of the 3 R frames that arrive while 2 R are started, the limit stays and the others are lost.
    assert sum(frame.dropped for frame in frames) == rounds - limit
    assert [frame.starts for frame in started] == [3 * unit * n for n in range(2 * rounds + limit)]
    waits = [frame.starts - frame.arrives for frame in started]
    before_loss = next(n for n, frame in enumerate(frames) if frame.dropped)
    assert waits[:before_loss] == [unit * n for n in range(before_loss)]
    assert all((limit - 1) * 3 * unit < wait <= limit * 3 * unit for wait in waits[before_loss:])


def test_strict_priority_at_150_percent_gives_the_high_class_all_and_the_low_class_the_rest_to_the_byte() -> None:
    high, low = 1000, 1514
    period = 200 * (wire_bytes(high) * wire_bytes(low))  # of bytes on the line
    frames = [
        Frame(n * wire_bytes(size) * 4 // 3, 0, queue, size)
        for queue, size in ((7, high), (0, low))
        for n in range(period * 3 // 4 // wire_bytes(size) // 100)
    ]
    end = period // 100
    frames.sort(key=lambda frame: frame.arrives)
    tm: TrafficManager[Frame] = TrafficManager(line(*[QueueConfig()] * 7, QueueConfig()))
    started = drive(tm, frames)

    def sent(queue: int) -> int:
        """Bytes of the line that a queue has had by the end, the unfinished frame by what was sent of it."""
        return sum(min(f.ends, end) - f.starts for f in started if f.queue == queue and f.starts < end)

    offered = sum(wire_bytes(frame.size) for frame in frames if frame.queue == 7)
    late = [frame for frame in frames if frame.queue == 7 and frame.ends > end]
    assert offered == end * 3 // 4
    assert sent(7) == offered - sum(frame.ends - max(frame.starts, end) for frame in late)
    assert len(late) <= 1
    assert sent(7) + sent(0) == end
    assert not any(frame.dropped for frame in frames)
    # No preemption: a high frame waits for at most what was on the line, and for the high one before it.
    assert all(f.starts - f.arrives < wire_bytes(low) + wire_bytes(high) for f in started if f.queue == 7)


def test_weights_share_what_strict_queues_leave_within_one_frame() -> None:
    weights, size = (1, 2, 5), 700
    queues = [QueueConfig(weight=weight) for weight in weights] + [QueueConfig()]
    frames = [Frame(0, 0, queue, size) for _ in range(400) for queue in range(3)]
    frames += [Frame(2000 * n, 0, 3, 60) for n in range(400)]
    frames.sort(key=lambda frame: frame.arrives)
    started = drive(TrafficManager(line(*queues)), frames)
    assert all(f.starts - f.arrives < wire_bytes(size) for f in started if f.queue == 3)
    sent, rounds = [0, 0, 0], 0
    previous = 0
    for frame in (f for f in started if f.queue != 3):
        if previous == 2 and frame.queue == 0:  # a round is complete
            rounds += 1
            for number, weight in enumerate(weights):
                assert 0 <= rounds * weight * QUANTUM - sent[number] < wire_bytes(size)
        previous = frame.queue
        sent[frame.queue] += wire_bytes(size)
        if sent[2] == 400 * wire_bytes(size):
            break
    assert rounds > 30


@pytest.mark.parametrize("low", [60, 700, 1514])
@pytest.mark.parametrize("percent", [1, 5, 50, 98])
def test_a_strict_queue_keeps_its_share_within_a_frame_of_each(percent: int, low: int) -> None:
    high = 1000
    frames = [Frame(0, 0, queue, size) for _ in range(3000) for queue, size in ((0, low), (2, high))]
    started = drive(TrafficManager(line(QueueConfig(least_percent=percent), QueueConfig(), QueueConfig())), frames)
    sent = {0: 0, 2: 0}
    for frame in started:
        sent[frame.queue] += wire_bytes(frame.size)
        total = sent[0] + sent[2]
        if max(sent[0] / wire_bytes(low), sent[2] / wire_bytes(high)) >= 3000:
            break  # from here on one of them is alone
        assert abs(sent[0] - total * percent / 100) < wire_bytes(low) + wire_bytes(high)
    assert sent[0] > 0


def test_a_share_is_not_saved_up() -> None:
    """A sender that had nothing to send for long has no more of the line than one that always had."""
    frames = [Frame(0, 0, 1, 1000) for _ in range(200)]
    frames += [Frame(100 * wire_bytes(1000), 0, 0, 1000) for _ in range(100)]
    frames.sort(key=lambda frame: frame.arrives)
    started = drive(TrafficManager(line(QueueConfig(least_percent=10), QueueConfig())), frames)
    after = [frame.queue for frame in started if frame.starts > 100 * wire_bytes(1000)][:100]
    assert 9 <= after.count(0) <= 11


@pytest.mark.parametrize("rate", [1, 3, 7 * 10**6, 10**9 + 7, 4 * 10**11 + 1])
def test_a_busy_line_is_exact_to_the_picosecond(rate: int) -> None:
    tm: TrafficManager[int] = TrafficManager(line(QueueConfig(), rate=rate))
    for _ in range(1000):
        tm.enqueue(5, 0, 0, 61, 0)
    ends = []
    while (taken := tm.dequeue(10**30)) is not None:
        ends.append(tm.transmit(taken, 61))
    assert ends == [5 + n * wire_bytes(61) * 8 * 10**12 // rate for n in range(1, 1001)]


def test_a_line_without_rate_keeps_nothing() -> None:
    tm: TrafficManager[int] = TrafficManager(TmConfig())
    tm.enqueue(3, 9, 7, 100, 1)
    tm.enqueue(3, 9, 0, 100, 0)
    tm.enqueue(3, 1, 0, 100, 2)
    taken = []
    while (each := tm.dequeue(3)) is not None:
        taken.append(each.item)
        assert tm.transmit(each, 100) == 3
    assert taken == [2, 1, 0]


def test_a_skipped_frame_takes_no_time_and_one_that_grew_takes_its_own() -> None:
    tm: TrafficManager[int] = TrafficManager(line(QueueConfig()))
    for item in range(3):
        tm.enqueue(0, 0, 0, 100, item)
    first = tm.dequeue(0)
    assert first is not None
    tm.skip(first)
    second = tm.dequeue(0)
    assert second is not None
    assert tm.transmit(second, 200) == wire_bytes(200) * BYTE_PS
    assert tm.dequeue(wire_bytes(200) * BYTE_PS - 1) is None
    third = tm.dequeue(wire_bytes(200) * BYTE_PS)
    assert third is not None
    assert (third.item, third.depth) == (2, 0)


def test_a_priority_without_queue_is_counted() -> None:
    tm: TrafficManager[int] = TrafficManager(TmConfig.uniform(queues=2))
    assert tm.enqueue(0, 1, 2, 60, 0) is None
    assert (tm.misdirected, tm.next_ps) == (1, None)


def test_uniform_configuration() -> None:
    config = TmConfig.uniform(queues=3, rates={1: 5}, weights={0: 2}, queue=QueueConfig(limit_bytes=9), rate_bps=7)
    assert [queue.weight for queue in config.ports[1].queues] == [2, None, None]
    assert (config.ports[1].rate_bps, config.default.rate_bps) == (5, 7)
    assert all(queue.limit_bytes == 9 for queue in config.default.queues)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: QueueConfig(limit_bytes=0), "queue limit_bytes is 0: expected 1 up"),
        (lambda: QueueConfig(limit_packets=-1), "queue limit_packets is -1: expected 1 up"),
        (lambda: QueueConfig(ecn_bytes=-1), "queue ecn_bytes is -1: expected 0 up"),
        (lambda: QueueConfig(weight=0), "queue weight is 0: expected 1 up"),
        (lambda: PortConfig(rate_bps=0), "port rate_bps is 0: expected 1 up"),
        (lambda: PortConfig(queues=()), "port without queues: expected 1 up"),
        (lambda: TmConfig(buffer_bytes=0), "buffer_bytes is 0: expected 1 up"),
        (lambda: QueueConfig(least_percent=0), "queue least_percent is 0: expected 1 up"),
        (
            lambda: QueueConfig(least_percent=5, weight=1),
            "queue with a weight and a guaranteed share: expected one of them",
        ),
        (
            lambda: TmConfig.uniform(queues=2, shares={0: 50, 1: 50}),
            "queues are guaranteed 100 % of a port: expected less than 100",
        ),
        (lambda: TmConfig.uniform(queues=2, shares={2: 1}), "share of queue 2: expected a queue of 0..1"),
        (lambda: TmConfig.uniform(queues=2, weights={2: 1}), "weight of queue 2: expected a queue of 0..1"),
    ],
)
def test_golden_errors(make: object, message: str) -> None:
    with pytest.raises(OfframpError) as failure:
        make()  # type: ignore[operator]
    assert str(failure.value) == message
