# SPDX-License-Identifier: Apache-2.0
"""The event-driven network against closed forms; determinism; conservation."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from both_engines import MakeSwitch
from offramp_base.errors import OfframpError
from offramp_base.wire.ethernet import wire_bytes
from offramp_p4.frontend import load_text
from offramp_p4.tm import QueueConfig, TmConfig
from offramp_sim.net import NetworkHost, PacketNetwork, bursts, constant_rate, poisson
from p4_programs import program

GBIT = 10**9
MS = 10**9
FORWARD = "sm.egress_spec = 2; sm.priority = (bit<3>)hdr.h.a;"
PROGRAM = load_text(program(FORWARD))
Star = Callable[..., tuple[PacketNetwork, NetworkHost, NetworkHost, "Sink"]]


class Sink:
    """Remembers when which frame came."""

    def __init__(self) -> None:
        self.got: list[tuple[int, bytes]] = []

    def __call__(self, host: NetworkHost, port: int, frame: bytes) -> None:
        self.got.append((host.network.now_ps, frame))


@pytest.fixture
def star(make_switch: MakeSwitch) -> Star:
    """Two senders, a switch, a sink on port 2; 1 Gbit/s and 500 ns everywhere, loss on the way to the sink."""

    def make(
        seed: int = 0, config: TmConfig | None = None, loss: float = 0.0
    ) -> tuple[PacketNetwork, NetworkHost, NetworkHost, Sink]:
        network, sink = PacketNetwork(seed), Sink()
        network.add_switch("s", make_switch(PROGRAM), config)
        a, b = network.add_host("a"), network.add_host("b")
        network.add_host("sink", sink)
        network.connect("a", 0, "s", 0, GBIT, 500)
        network.connect("b", 0, "s", 1, GBIT, 500)
        network.connect("s", 2, "sink", 0, GBIT, 500, loss)
        return network, a, b, sink

    return make


def test_a_frame_takes_two_lines_and_two_delays(star: Star) -> None:
    network, a, _, sink = star()
    a.send(bytes(100))
    network.run()
    assert sink.got == [(2 * (wire_bytes(100) * 8000 + 500_000), bytes(100))]


def test_strict_priority_at_150_percent_through_a_p4_switch(star: Star) -> None:
    network, a, b, sink = star(config=TmConfig.uniform(queue=QueueConfig(limit_packets=20)))
    high, low = b"\7" + bytes(999), bytes(1514)
    span = 20 * MS
    a.source(constant_rate(high, GBIT * 3 // 4, stop_ps=span))
    b.source(constant_rate(low, GBIT * 3 // 4, stop_ps=span))
    network.run()
    queues = network.nodes["s"].tm
    assert queues.queue(2, 7).stats.dropped == 0
    assert sum(frame == high for _, frame in sink.got) == a.sent
    assert queues.queue(2, 0).stats.dropped > 0
    # From the first frame to the last the line never stops, so what is not high is low, to the byte.
    busy = [(at - 500_000, frame) for at, frame in sink.got]
    starts = [end - wire_bytes(len(frame)) * 8000 for end, frame in busy]
    last = max(n for n, (_, frame) in enumerate(busy) if frame == high)
    assert all(end == start for (end, _), start in zip(busy[:last], starts[1 : last + 1], strict=True))
    # The high class has its rate: each frame leaves at most one low frame after it would have left alone.
    alone = [n * wire_bytes(1000) * 8 * 10**12 // (GBIT * 3 // 4) for n in range(a.sent)]
    arrival = 2 * wire_bytes(1000) * 8000 + 500_000
    late = [at - ready - arrival for (at, _), ready in zip([g for g in busy if g[1] == high], alone, strict=True)]
    assert all(0 <= each <= wire_bytes(1514) * 8000 for each in late)


@pytest.mark.full
def test_poisson_arrivals_at_half_load_wait_as_an_m_d_1_queue_does() -> None:
    network = PacketNetwork(3)
    a, _ = network.add_host("a"), network.add_host("b")
    link, _ = network.connect("a", 0, "b", 0, GBIT, 0)
    series = network.watch("a", 0)
    load, span = 0.5, 400 * MS
    a.source(poisson(bytes(1000), GBIT // 2, network.random("source"), stop_ps=span))
    network.run(span)
    assert link.utilisation(span) == pytest.approx(load, rel=0.02)
    assert series.mean_packets(span) == pytest.approx(load**2 / (2 * (1 - load)), rel=0.05)  # Pollaczek-Khinchine


def test_sources_have_their_rates() -> None:
    times = [at for at, _ in constant_rate(bytes(60), 7, stop_ps=10**17)]
    assert times == [n * 84 * 8 * 10**12 // 7 for n in range(len(times))]
    assert len(times) == math.ceil(10**17 * 7 / (84 * 8 * 10**12))
    network = PacketNetwork(8)
    many = list(bursts(bytes(980), GBIT, network.random("x"), mean_frames=4, stop_ps=200 * MS))
    assert len(many) == pytest.approx(0.2 * GBIT / 8000 / (1004 / 1000), rel=0.05)
    assert len({at for at, _ in many}) == pytest.approx(len(many) / 4, rel=0.05)
    assert [at for at, _ in many] == sorted(at for at, _ in many)


def run(star: Star, seed: int, extra_host: bool = False) -> list[tuple[int, bytes]]:
    network, a, b, sink = star(seed, TmConfig.uniform(queue=QueueConfig(limit_packets=8), weights={0: 1, 1: 3}), 0.1)
    if extra_host:
        other = network.add_host("other")
        network.connect("other", 0, "s", 3, GBIT, 5, 0.5)
        other.source(poisson(b"\0" * 60, 1000, network.random("other"), start_ps=2 * MS, stop_ps=2 * MS + 1))
    for name, host, head in (("a", a, b"\0"), ("b", b, b"\1")):
        host.source(poisson(head + bytes(700), GBIT * 3 // 4, network.random(name), stop_ps=2 * MS))
    network.run()
    return sink.got


def test_the_seed_decides_everything(star: Star) -> None:
    assert run(star, 1) == run(star, 1)
    assert run(star, 1) != run(star, 2)
    assert run(star, 1) == run(star, 1, extra_host=True)  # what others draw changes nothing


def test_losses_are_counted_and_every_frame_is_somewhere() -> None:
    network, sink = PacketNetwork(5), Sink()
    a = network.add_host("a")
    network.add_host("b", sink)
    there, back = network.connect("a", 0, "b", 0, GBIT, 2000, 0.2)
    a.source(constant_rate(bytes(100), GBIT))
    for stop in range(1, 20):
        network.run(stop * 10**8)
        assert a.sent == there.stats.sent + len(a.tm.queue(0, 0))
        assert there.stats.in_flight == there.stats.sent - there.stats.lost - len(sink.got)
    assert 0 < there.stats.in_flight < 5
    n = there.stats.sent
    assert abs(there.stats.lost - 0.2 * n) < 4 * math.sqrt(n * 0.2 * 0.8)
    assert back.stats.sent == 0


def test_handlers_answer_and_ports_without_links_are_counted() -> None:
    network = PacketNetwork()
    network.add_host("echo", lambda host, port, frame: host.send(frame[::-1], port))
    sink = Sink()
    a = network.add_host("a", sink)
    network.connect("a", 0, "echo", 4, GBIT, 0)
    network.at(7000, lambda: a.send(b"ping" * 20))
    a.send(b"lost", port=9)
    assert network.run() > 0
    assert sink.got == [(7000 + 2 * wire_bytes(80) * 8000, b"gnip" * 20)]
    assert network.unconnected["a"] == 1


def test_a_port_that_becomes_busy_does_not_disturb_another() -> None:
    network, sink = PacketNetwork(), Sink()
    a = network.add_host("a")
    network.add_host("b", sink)
    for port in (0, 1):
        network.connect("a", port, "b", port, GBIT, 0)
    for _ in range(3):
        a.send(bytes(100))
    network.at(5000, lambda: a.send(bytes(60), port=1))
    network.run()
    slot, short = wire_bytes(100) * 8000, wire_bytes(60) * 8000
    assert [at for at, _ in sink.got] == [5000 + short, slot, 2 * slot, 3 * slot]


def test_the_slower_of_link_and_port_counts(star: Star) -> None:
    network, a, _, sink = star(config=TmConfig.uniform(rates={2: GBIT // 10}))
    for _ in range(2):
        a.send(bytes(100))
    network.run()
    assert sink.got[1][0] - sink.got[0][0] == wire_bytes(100) * 80_000


def test_queue_depths_over_time(star: Star) -> None:
    network, a, b, _ = star()
    series = network.watch("s", 2)
    for host in (a, b):
        host.send(bytes(100))
    network.run()
    slot, arrival = wire_bytes(100) * 8000, wire_bytes(100) * 8000 + 500_000
    times, packets, sizes = series.arrays()
    assert times.tolist() == [arrival] * 3 + [arrival + slot]
    assert packets.tolist() == [1, 2, 1, 0]
    assert sizes.tolist() == [100, 200, 100, 0]
    assert series.mean_packets(arrival + 2 * slot) == slot / (arrival + 2 * slot)


def test_golden_errors(star: Star) -> None:
    network, *_ = star()
    for call, message in [
        (lambda: network.add_host("s"), "node 's' exists already"),
        (lambda: network.connect("a", 1, "x", 0, 1, 0), "no node 'x': there are s, a, b, sink"),
        (lambda: network.connect("a", 1, "s", 2, 1, 0), "port 2 of s is connected already"),
        (lambda: network.connect("a", 1, "a", 1, 1, 0), "port 1 of a is connected already"),
        (lambda: network.connect("a", 1, "s", 3, 0, 0), "rate_bps is 0: expected 1 up"),
        (lambda: network.connect("a", 1, "s", 3, 1, -1), "delay_ns is -1: expected 0 up"),
        (lambda: network.connect("a", 1, "s", 3, 1, 0, 1.5), "loss is 1.5: expected 0..1"),
        (lambda: network.watch("x", 1), "no node 'x': there are s, a, b, sink"),
        (lambda: network.at(-1, list), "an event at -1 ps: it is 0 ps already"),
        (lambda: next(constant_rate(b"", 0)), "rate_bps is 0: expected 1 up"),
        (lambda: bursts(b"", 1, network.random(""), mean_frames=0.5), "mean_frames is 0.5: expected 1 up"),
    ]:
        with pytest.raises(OfframpError) as failure:
            call()
        assert str(failure.value) == message
