# SPDX-License-Identifier: Apache-2.0
"""The packet generator: what each trigger makes, when, where it comes in, and with which header."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

import offramp_p4
from offramp_base.wire.batch import PacketBatch
from offramp_p4 import PlainSwitch
from offramp_p4.frontend import load_text
from offramp_p4.queued import QueuedSwitch
from offramp_p4.state.match import StateError
from offramp_p4.tm import TmConfig
from offramp_p4.tna.generated import MOST_GENERATED
from offramp_p4.tna.generator import APPS, BUFFER_BYTES, App, PacketGenerator, Trigger
from tna_programs import make, packet, tna

pytestmark = pytest.mark.p4

# Whatever comes in at port 68 goes out at port 9, but for recirculated packets with their mark in `a`.
PROGRAM = """
    if (ig.ingress_port == 68 && hdr.h.a != 0xAB) { tm.ucast_egress_port = 9; }
    else if (hdr.h.b == 1 && ig.ingress_port != 68) { tm.ucast_egress_port = 68; }
    else { tm.ucast_egress_port = 3; }
    tm.bypass_egress = 1;
"""
TWO_PIPES = tna(PROGRAM.replace("ig.ingress_port == 68", "ig.ingress_port[6:0] == 68")).replace(
    "Switch(pipe) main;", "Pipeline(IP(), I(), ID(), EP(), E(), ED()) other;\nSwitch(pipe, other) main;"
)
PAYLOAD = bytes(range(100, 140))


def switch(text: str = "") -> PlainSwitch:
    return make(load_text(text or tna(PROGRAM), "prog.p4"))


def generator(s: PlainSwitch, *pipes: int) -> PacketGenerator:
    assert s.generator is not None
    s.generator.generating |= {128 * pipe + 68 for pipe in pipes or (0,)}
    s.generator.fill(32, PAYLOAD)
    return s.generator


def leaving(s: PlainSwitch, now_us: int) -> list[tuple[int, bytes]]:
    """Frames that leave by a time without any packet coming in."""
    s.now_us = now_us
    return list(s.process(PacketBatch.empty()))


def app(trigger: Trigger, **options: int) -> App:
    return App(trigger, length=len(PAYLOAD), offset=32, **options)  # type: ignore[arg-type]


def header(pipe: int, number: int, note: int, sequence: int) -> bytes:
    return bytes([pipe << 3 | number]) + note.to_bytes(3, "big") + sequence.to_bytes(2, "big")


def test_a_one_shot_timer_makes_batches_once() -> None:
    s = switch()
    g = generator(s)
    g.configure(5, app(Trigger.ONE_SHOT, timer_ns=7_500, batches=2, packets=3))
    assert s.next_us is None
    g.enable(5, now_ns=1_000)
    assert s.next_us == 8
    assert leaving(s, 7) == []
    expected = [(9, header(0, 5, batch, i) + PAYLOAD) for batch in range(2) for i in range(3)]
    assert leaving(s, 8) == expected
    assert leaving(s, 1000) == []
    assert [(c.triggers, c.batches, c.packets) for c in g.counts(5)] == [(1, 2, 6)]
    assert g.enabled(5)
    g.enable(5, now_ns=1_000_000)  # it is on already
    assert leaving(s, 2000) == []
    g.enable(5, enabled=False, now_ns=2_000_000)
    g.enable(5, now_ns=2_000_000)
    assert leaving(s, 2008) == expected


def test_a_periodic_timer_and_the_gaps_between_packets_and_batches() -> None:
    s = switch()
    g = generator(s)
    g.configure(
        0, app(Trigger.PERIODIC, timer_ns=100_000, batches=2, packets=2, batch_gap_ns=30_000, packet_gap_ns=10_000)
    )
    g.enable(0, now_ns=0)
    times: list[int] = []
    for now_us in range(0, 400, 5):
        times += [now_us] * len(leaving(s, now_us))
    assert times == [100, 110, 130, 140, 200, 210, 230, 240, 300, 310, 330, 340]
    g.change(0, batch_gap_ns=5_000)  # shorter than a batch
    assert not g.enabled(0)
    g.enable(0, now_ns=400_000)
    assert [len(leaving(s, now_us)) for now_us in (499, 500, 510, 520, 530, 540)] == [0, 1, 1, 1, 1, 0]
    g.enable(0, enabled=False, now_ns=540_000)
    assert leaving(s, 10_000) == []


def test_packets_see_the_time_at_which_they_were_made() -> None:
    s = switch(tna(PROGRAM + "hdr.h.w = (bit<32>) ig.ingress_mac_tstamp;"))
    g = generator(s)
    g.configure(0, app(Trigger.PERIODIC, timer_ns=1_000_000))
    g.enable(0, now_ns=0)
    assert [int.from_bytes(frame[4:8], "big") for _, frame in leaving(s, 3_500)] == [1_000_000, 2_000_000, 3_000_000]
    assert s.now_us == 3_500


def test_every_pipe_has_its_own() -> None:
    s = switch(TWO_PIPES)
    g = generator(s, 0, 1)
    g.configure(2, app(Trigger.ONE_SHOT, timer_ns=0))
    g.enable(2, now_ns=0)
    assert [frame[:6] for _, frame in leaving(s, 0)] == [header(0, 2, 0, 0), header(1, 2, 0, 0)]
    assert [c.packets for c in g.counts(2)] == [1, 1]


def test_only_ports_that_let_packets_in() -> None:
    s = switch()
    g = generator(s)
    g.generating.clear()
    g.configure(2, app(Trigger.ONE_SHOT))
    g.enable(2, now_ns=0)
    assert leaving(s, 0) == []


def test_ports_of_a_batch() -> None:
    s = switch(tna("tm.ucast_egress_port = 9; tm.bypass_egress = 1; hdr.h.c = (bit<16>) ig.ingress_port;"))
    g = generator(s)
    g.configure(2, App(source_port=10, counts_ports=True, packets=3, batches=2))
    g.enable(2, now_ns=0)
    assert [frame[3] for _, frame in leaving(s, 0)] == [10, 11, 12, 10, 11, 12]


def test_a_port_that_goes_down_triggers_once() -> None:
    s = switch(TWO_PIPES)
    g = generator(s, 0, 1)
    g.configure(1, app(Trigger.PORT_DOWN, packets=2))
    g.enable(1, now_ns=0)
    g.set_link(200, up=False, now_ns=0)  # not watched
    g.set_link(200, up=True, now_ns=0)
    assert leaving(s, 5) == []
    g.watch(200)
    for _ in range(2):
        g.set_link(200, up=False, now_ns=6_000)
        g.set_link(200, up=True, now_ns=6_000)
    assert leaving(s, 6) == [(9, header(1, 1, 200, i) + PAYLOAD) for i in range(2)]
    g.watch(200)
    g.set_link(200, up=False, now_ns=8_000)
    assert len(leaving(s, 8)) == 2
    assert [c.triggers for c in g.counts(1)] == [0, 2]


def test_a_recirculated_packet_triggers_by_its_first_bytes() -> None:
    s = switch()
    g = generator(s)
    g.configure(7, app(Trigger.RECIRCULATION, pattern=0xAB000000, mask=0xFF000000, packets=2))
    g.enable(7, now_ns=0)
    wanted = packet(a=0xAB, b=1, c=0x1234, w=5)
    assert s.process_one(0, wanted) == [(3, wanted)]  # the port does not compare yet
    g.matching.add(68)
    out = s.process_one(0, wanted)
    assert out == [(3, wanted), *((9, header(0, 7, 0x011234, i) + PAYLOAD) for i in range(2))]
    assert s.process_one(0, packet(a=0xAC, b=1)) == [(9, packet(a=0xAC, b=1))]
    assert s.process_one(0, packet(a=0xAB)) == [(3, packet(a=0xAB))]
    assert [c.triggers for c in g.counts(7)] == [1]


def test_what_is_due_at_once_is_bounded() -> None:
    s = switch()
    g = generator(s)
    g.configure(0, app(Trigger.PERIODIC, timer_ns=1))
    g.enable(0, now_ns=0)
    assert 0 < len(leaving(s, 1_000_000)) <= MOST_GENERATED
    assert s.next_us is not None
    assert s.next_us < 10_000
    s.reset()
    assert s.next_us is None
    assert leaving(s, 1_000_001) == []


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"offset": 8}, "begins at a multiple of 16"),
        ({"offset": BUFFER_BYTES - 16, "length": 17}, "the buffer has 16384"),
        ({"batches": 0}, "0 batches"),
        ({"source_port": 127, "counts_ports": True, "packets": 2}, "ports 127 to 128"),
        ({"trigger": Trigger.PERIODIC}, "a periodic timer of 0 ns"),
    ],
)
def test_what_the_chip_cannot_do(options: dict[str, int], what: str) -> None:
    g = PacketGenerator(1)
    with pytest.raises(StateError, match=what):
        g.configure(0, App(**options))  # type: ignore[arg-type]
    assert g.app(0) == App()


def test_applications_and_chips_that_there_are_not() -> None:
    with pytest.raises(StateError, match=f"no application {APPS}"):
        PacketGenerator(1).configure(APPS, App())
    assert make(load_text(tna(arch="#include <t2na.p4>"))).generator is None


def switches() -> list[PlainSwitch]:
    program = load_text(TWO_PIPES, "prog.p4")
    return [offramp_p4.make_switch(program, engine) for engine in ("python", "native")]


def configure(g: PacketGenerator, rng: Random) -> None:
    g.generating |= {68, 196}
    g.matching |= {68}
    g.fill(32, PAYLOAD)
    for number, trigger in enumerate((Trigger.ONE_SHOT, Trigger.PERIODIC, Trigger.RECIRCULATION, Trigger.PORT_DOWN)):
        options = {name: rng.randrange(1, 4) for name in ("batches", "packets")}
        options |= {name: rng.randrange(5_000) for name in ("batch_gap_ns", "packet_gap_ns")}
        g.configure(
            number, app(trigger, timer_ns=rng.randrange(1_000, 50_000), pattern=0xAB010000, mask=0xFFFE0000, **options)
        )
        g.enable(number, now_ns=0)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(5))
def test_both_engines_alike(seed: int) -> None:
    results = []
    for s in switches():
        rng = Random(seed)
        assert s.generator is not None
        configure(s.generator, rng)
        out = []
        for _ in range(60):
            s.now_us += rng.randrange(8)
            port = rng.choice((1, 2, 130))
            s.generator.watch(port)
            s.generator.set_link(port, up=rng.random() < 0.5, now_ns=s.now_us * 1000)
            frames = [
                (port, packet(rng.choice((0xAB, 1)), rng.randrange(3), rng.getrandbits(16)))
                for _ in range(rng.randrange(4))
            ]
            out.append(list(s.process(PacketBatch.of(frames))))
        results.append((out, [s.generator.counts(i) for i in range(APPS)], s.stats))
    assert results[0] == results[1]
    assert all(counts[0].triggers for counts in results[0][1][:3])


@pytest.mark.full
@pytest.mark.parametrize("seed", range(3))
def test_both_engines_alike_behind_a_traffic_manager(seed: int) -> None:
    results = []
    for s in switches():
        rng = Random(seed)
        assert s.generator is not None
        configure(s.generator, rng)
        queued = QueuedSwitch(s, TmConfig())
        out, now_ps = [], 0
        for _ in range(40):
            times = now_ps + np.cumsum([rng.randrange(1_000_000) for _ in range(3)])
            frames = [(1, packet(rng.choice((0xAB, 1)), rng.randrange(3))) for _ in times]
            queued.receive_batch(times, PacketBatch.of(frames))
            now_ps = int(times[-1]) + rng.randrange(3_000_000)
            out.append([(each.ps, each.port, each.frame) for each in queued.advance(now_ps)])
        results.append((out, [s.generator.counts(i) for i in range(APPS)]))
    assert results[0] == results[1]
    assert all(counts[0].triggers for counts in results[0][1][:3])


@pytest.mark.full
def test_a_paced_switch_is_called_when_a_packet_is_due() -> None:
    from offramp_p4.paced import PacedSwitch

    s = PacedSwitch(load_text(tna(PROGRAM), "prog.p4"), TmConfig())
    assert s.generator is not None
    s.generator.generating.add(68)
    s.generator.configure(0, App(timer_ns=20_000))
    s.generator.enable(0, now_ns=0)
    assert s.next_us == 20
    s.now_us = 20
    assert len(s.process(PacketBatch.empty())) == 1
