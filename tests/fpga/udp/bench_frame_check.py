# SPDX-License-Identifier: Apache-2.0
"""``frame_check`` by itself: random frames of random lengths, beside a reading of IPv4 and UDP by their headers."""

import random
import struct
from enum import IntEnum

import cocotb
from cocotb.triggers import FallingEdge

from offramp.fpga.udp import PORT, Counter
from offramp_sim.rtl.bench import report, settings
from offramp_sim.rtl.models.clocking import start
from offramp_sim.rtl.models.streams import pauses
from rtl import ethernet as eth
from rtl.coverage import Coverage

BEAT = 16


class FrameKind(IntEnum):
    """``out_kind``."""

    DROP = 0
    ECHO = 2
    MESSAGE = 3


def judged(frame: bytes) -> tuple[Counter, FrameKind, bytes]:
    """What is counted of a frame with a right check sequence, what it is, and what of it leaves.

    Only frames from :func:`drawn` are judged: for this card, whole, without options and fragments.
    """
    total, protocol = struct.unpack_from(">H", frame, 16)[0], frame[23]
    if total < 28 or 14 + total > len(frame):
        return Counter.BAD_HEADER, FrameKind.DROP, frame
    packet = frame[14 : 14 + total]
    payload = packet[20:]
    if protocol == 1:
        good = not eth.checksum(payload)
        return (Counter.ACCEPTED, FrameKind.ECHO, frame) if good else (Counter.BAD_CHECKSUM, FrameKind.DROP, frame)
    _, port, length, check = struct.unpack_from(">4H", payload)
    if length != len(payload):
        return Counter.BAD_HEADER, FrameKind.DROP, frame
    if not check or eth.checksum(packet[12:20] + struct.pack(">HH", 17, length) + payload):
        return Counter.BAD_CHECKSUM, FrameKind.DROP, frame
    if port != PORT:
        return Counter.MISADDRESSED, FrameKind.DROP, frame
    return Counter.ACCEPTED, FrameKind.MESSAGE, frame[: 14 + total if total > 34 else 64]  # four beats at least


def drawn(dice: random.Random) -> bytes:
    """A frame with a datagram or an echo request, any padding or trailer, and now and then a wrong length."""
    content = dice.randbytes(dice.choice((*range(40), dice.randrange(1473))))
    if dice.random() < 0.2:
        head = struct.pack(">BBHHH", 8, 0, 0, 77, 1)
        check = struct.pack(">H", eth.checksum(head + content))
        packet = bytearray(eth.ipv4(head[:2] + check + head[4:] + content, 1))
    else:
        port = PORT if dice.random() < 0.9 else PORT + 1
        packet = bytearray(eth.ipv4(eth.datagram(content, to_port=port), 17))
    if dice.random() < 0.15:  # the packet's length or the datagram's, wrong by a little
        at = dice.choice((2, 24))
        value = struct.unpack_from(">H", packet, at)[0] + dice.choice((-17, -1, 1, 2, 16))
        packet[at : at + 2] = struct.pack(">H", max(value, 0))
        packet[10:12] = b"\0\0"
        packet[10:12] = struct.pack(">H", eth.checksum(bytes(packet[:20])))
    if dice.random() < 0.1:
        packet[dice.randrange(28, len(packet)) if len(packet) > 28 else 26] ^= 0x40
    room = 1500 - len(packet)
    tail = min(room, dice.choice((0, 0, *range(1, 40), dice.randrange(1473))))
    return eth.ethernet(bytes(packet) + dice.randbytes(tail))


@cocotb.test()
async def random_lengths(dut):
    chosen = settings()
    dice, idle = random.Random(chosen["seed"]), pauses(chosen["seed"], 0.2)
    counters = (Counter.ACCEPTED, Counter.MISADDRESSED, Counter.BAD_HEADER, Counter.BAD_CHECKSUM)
    coverage = Coverage(outcome=counters, kind=FrameKind, tail=("none", "in the last beat", "beats"))
    dut.in_valid.value = 0
    dut.in_fault.value = 0
    dut.mac.value = int.from_bytes(eth.CARD, "little")
    dut.address.value = int.from_bytes(eth.ADDRESS.to_bytes(4, "big"), "little")
    await start(dut)
    outcomes, leaving = [], bytearray()

    def look():
        if dut.out_valid.value != 1:
            return
        last, count = int(dut.out_last.value), int(dut.out_count.value) + 1
        assert last or count == BEAT
        leaving.extend(int(dut.out_data.value).to_bytes(BEAT, "little")[:count])
        if last:
            outcomes.append((int(dut.out_events.value), int(dut.out_kind.value), bytes(leaving)))
            leaving.clear()
        else:
            assert dut.out_events.value == 0

    frames = [drawn(dice) for _ in range(chosen["frames"])]
    for frame in frames:
        for at in range(0, len(frame), BEAT):
            beat = frame[at : at + BEAT]
            while next(idle):
                dut.in_valid.value = 0
                dut.in_last.value = dice.randrange(2)
                await FallingEdge(dut.clk)
                look()
            dut.in_data.value = int.from_bytes(beat + dice.randbytes(BEAT - len(beat)), "little")
            dut.in_count.value, dut.in_last.value = len(beat) - 1, at + BEAT >= len(frame)
            dut.in_valid.value = 1
            await FallingEdge(dut.clk)
            look()
    dut.in_valid.value = 0
    for _ in range(10):  # until the last one is judged
        await FallingEdge(dut.clk)
        look()
    assert len(outcomes) == len(frames)
    for frame, (events, kind, content) in zip(frames, outcomes, strict=True):
        counter, expected, wanted = judged(frame)
        assert (events, kind) == (1 << counter, expected), (counter, expected, len(frame))
        if kind == FrameKind.MESSAGE:
            assert content == wanted, len(frame)
        tail = len(frame) - 14 - struct.unpack_from(">H", frame, 16)[0]
        coverage.hit(outcome=counter, kind=FrameKind(kind))
        coverage.hit(tail="none" if tail <= 0 else "in the last beat" if tail < BEAT else "beats")
    coverage.check()
    report(frames=len(frames))
