# SPDX-License-Identifier: Apache-2.0
"""The card at a CMAC's user interface: more than it can take, and frames with faults between those that it answers."""

import random
import struct

import cocotb
from bench_udp_card import SESSION, Host, lookup
from cocotb.triggers import ClockCycles, with_timeout
from cocotb.utils import get_sim_time
from offramp_pynq.packets import answer, request

from offramp.device import Status
from offramp.fpga.udp import Counter, DatagramType, PacketTarget
from offramp_sim.rtl.bench import report, settings
from offramp_sim.rtl.models.streams import pauses
from rtl import ethernet as eth
from rtl.cmac import CmacPins
from rtl.ethernet import message, opened, udp_frame


def ping(number, size=18):
    """An echo request whose content is its number, 60 bytes at least."""
    content = struct.pack("<I", number) * (size // 4) + bytes(size % 4)
    head = struct.pack(">BBHHH", 8, 0, 0, 77, number & 0xFFFF)
    return eth.ethernet(eth.ipv4(head[:2] + struct.pack(">H", eth.checksum(head + content)) + head[4:] + content, 1))


def answered(frame):
    """The number of an answer to a ping, every byte of which has to be right."""
    number = struct.unpack_from("<I", frame, 42)[0]
    asked = ping(number, struct.unpack_from(">H", frame, 16)[0] - 28)
    assert frame[:12] == eth.HOST + eth.CARD
    assert eth.checksum(frame[14:34]) == 0
    assert frame[26:34] == asked[30:34] + asked[26:30]
    assert (frame[34:36], frame[38:]) == (b"\0\0", asked[38:])
    size = struct.unpack_from(">H", frame, 16)[0]
    assert eth.checksum(frame[34 : 14 + size]) == 0
    return number


async def table(dut, **options):
    """A card whose session is open, with an index; numbers of requests go on from the host's."""
    pins = CmacPins(dut, settings().get("clock_ns", 4), **options)
    await pins.reset()
    host, dice = Host(pins), random.Random(8)
    await host.open()
    keys = [dice.getrandbits(64) for _ in range(20)]
    return pins, host, keys, await host.table(64, keys, dice)


async def right_answers(host, keys, index):
    """A look-up and a sum."""
    reply = await host.request(PacketTarget.KVS, lookup(1, [keys[0], 99, keys[1]]))
    assert struct.unpack_from("<3Q", reply.payload) == (index.lookup(keys[0]), 0, index.lookup(keys[1]))
    vectors = [struct.pack("<5i", *range(at, at + 5)) for at in (3, 40)]
    reply = await host.request(PacketTarget.REDUCE, request(struct.pack("<BBHI", 0, 2, 0, 5), 6, vectors, 16))
    assert struct.unpack_from("<5i", reply.payload) == (43, 45, 47, 49, 51)


async def changes(host, before):
    after = await host.counters()
    return {counter: after[counter] - before[counter] for counter in Counter if after[counter] != before[counter]}


@cocotb.test()
async def overload(dut):
    """The shortest frames without a pause: every answer is right, in order and was asked for; the rest is counted."""
    chosen = settings()
    pins, host, keys, index = await table(dut, paced=chosen["paced"], pause=pauses(4, chosen["pause"]))
    before = await host.counters()
    sizes = (18,) if chosen["short"] else (18, 22, 100, 400, 1472)
    dice = random.Random(5)
    for number in range(chosen["frames"]):
        pins.send(ping(number, dice.choice(sizes)))
    await pins.sent()
    await ClockCycles(dut.clk, 8_000)
    numbers = [answered(frame) for frame in pins.frames]
    pins.frames.clear()
    assert numbers == sorted(set(numbers))
    counted = await changes(host, before)
    assert counted[Counter.OVERFLOW] == chosen["frames"] - len(numbers) > chosen["frames"] // 4
    assert counted[Counter.ACCEPTED] == len(numbers) + 1
    assert counted.keys() == {Counter.OVERFLOW, Counter.ACCEPTED, Counter.EXECUTED, Counter.REPLIED}
    await right_answers(host, keys, index)
    report(answered=len(numbers), sent=chosen["frames"])


@cocotb.test()
async def faults_between_answers(dut):
    """Bad, short, long and severed frames at random between pings and requests; each is counted as what it is."""
    chosen = settings()
    pins, host, keys, index = await table(dut, idle=pauses(1, 0.2), pause=pauses(2, 0.3))
    before, dice = await host.counters(), random.Random(chosen["seed"])
    expected, pings, asked = dict.fromkeys(Counter, 0), [], 0
    good = udp_frame(message(DatagramType.REQUEST, SESSION, host.sequence, lookup(1, [keys[0]])))
    for number in range(chosen["frames"]):
        kind = dice.choice(("ping", "ping", "request", Counter.CORRUPT, Counter.RUNT, Counter.JUMBO, "severed"))
        if kind == "ping":
            pings.append(number)
            pins.send(ping(number, dice.choice((18, 19, 400, 1472))))
            expected[Counter.ACCEPTED] += 1
            expected[Counter.REPLIED] += 1
        elif kind == Counter.CORRUPT:
            pins.send(dice.choice((good, ping(number), ping(number, 1000))), bad=True)
        elif kind == Counter.RUNT:
            pins.send(good[: dice.choice((1, 14, 42, 59))], bad=dice.random() < 0.5)
        elif kind == Counter.JUMBO:
            pins.send(good + bytes(dice.choice((1515, 1536, 9000)) - len(good)), bad=dice.random() < 0.5)
        elif kind == "severed":
            pins.send(ping(number, 1000), cut_at=64 * dice.randint(1, 15))
        else:
            await pins.sent()
            await ClockCycles(dut.clk, 1000)
            assert [answered(frame) for frame in pins.frames] == pings
            pings.clear()
            pins.frames.clear()
            await right_answers(host, keys, index)
            asked += 2
        expected[Counter.CORRUPT if kind == "severed" else kind if isinstance(kind, Counter) else Counter.STALE] += 1
    await pins.sent()
    await ClockCycles(dut.clk, 1000)
    assert [answered(frame) for frame in pins.frames] == pings
    pins.frames.clear()
    expected[Counter.STALE] = 0
    for counter in (Counter.ACCEPTED, Counter.REPLIED, Counter.EXECUTED):
        expected[counter] += asked + 1
    counted = await changes(host, before)
    assert counted == {counter: count for counter, count in expected.items() if count}


@cocotb.test()
async def engine_rate(dut):
    """Look-ups of 64 to 1,400 bytes, a window of eight at a time: cycles of the engines' clock for each."""
    pins, host, keys, index = await table(dut)
    dice, cycles, clock_ns = random.Random(4), {}, settings().get("clock_ns", 4)
    for size in (64, 256, 512, 1024, 1400):
        count = (size - 16) // 8
        number, requests = host.sequence, 32
        asked, frames, times = {}, [], []
        for at in range(requests):
            asked[number + at] = [dice.choice((*keys, 99)) for _ in range(count)]
            frames.append(
                udp_frame(message(DatagramType.REQUEST, SESSION, number + at, lookup(at, asked[number + at])))
            )
        for frame in frames[:8]:
            pins.send(frame)
        for at in range(requests):
            head, packet = opened(await with_timeout(pins.next(), 50, "us"))
            times.append(get_sim_time("ns"))
            if at + 8 < requests:
                pins.send(frames[at + 8])
            got = answer(packet, 16)
            assert got.status == Status.OK
            wanted = tuple(map(index.lookup, asked.pop(head["sequence"])))
            assert struct.unpack_from(f"<{count}Q", got.payload) == wanted
        host.sequence += requests
        cycles[size] = (times[-1] - times[7]) / clock_ns / (requests - 8)
    report(cycles=cycles)
