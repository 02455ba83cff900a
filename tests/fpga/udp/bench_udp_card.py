# SPDX-License-Identifier: Apache-2.0
"""The whole card at its RGMII pins, with frames as hosts send them, and as they should not.

Cases that know no wire drive the card at a CMAC's user interface, too.
"""

import random
import struct
import zlib

import cocotb
from cocotb.triggers import ClockCycles, with_timeout
from cocotb.utils import get_sim_time
from offramp_pynq.packets import answer, request
from offramp_pynq.registers import KVS_LOOKUP_REGS, QUANTPACK_REGS, QUANTPACK_REGS_VERSION

from offramp.device import Status
from offramp.fpga.card import CardEngine
from offramp.fpga.udp import ControlRequest, Counter, DatagramStatus, DatagramType, PacketTarget
from offramp.leo.functions import ebs, kvs
from offramp.leo.memory import HostMemory
from offramp_sim.rtl.bench import report, settings
from rtl import ethernet as eth
from rtl import quantpack_cases as cases
from rtl.cmac import CmacPins
from rtl.ethernet import Pins, message, opened, udp_frame

SESSION = 0x12345678


class Host:
    """A host that waits for each answer."""

    def __init__(self, pins):
        self.pins, self.sequence = pins, 0

    async def ask(self, content, port=40000):
        self.pins.send(udp_frame(content, port))
        return opened(await with_timeout(self.pins.next(), 200, "us"))

    async def open(self, session=SESSION, port=40000):
        return (await self.ask(message(DatagramType.OPEN, session), port))[0]

    async def request(self, target, packet):
        head, reply = await self.ask(message(DatagramType.REQUEST, SESSION, self.sequence, packet, target))
        assert (head["kind"], head["outcome"], head["sequence"]) == (
            DatagramType.REQUEST,
            DatagramStatus.DONE,
            self.sequence,
        )
        self.sequence += 1
        return answer(reply, 16)

    async def control(self, what, place=0, content=b""):
        return await self.request(
            PacketTarget.CONTROL, request(struct.pack("<II", what, place), 1, [content] * bool(content), 16)
        )

    async def counters(self):
        reply = await self.control(ControlRequest.COUNT)
        assert reply.status == Status.OK
        return struct.unpack("<16I", reply.payload)

    async def table(self, lines, keys, dice):
        memory = HostMemory(lines * kvs.LINE)
        index = kvs.KeyIndex(memory, lines)
        for key in keys:
            index.insert(key, dice.getrandbits(63) + 1)
        assert (
            await self.control(ControlRequest.SET, KVS_LOOKUP_REGS["MASK"], struct.pack("<I", lines - 1))
        ).status == Status.OK
        for line in range(lines):
            content = memory.read(line * kvs.LINE, kvs.LINE)
            if any(content):
                assert (await self.control(ControlRequest.TABLE, line, content)).status == Status.OK
        return index


def lookup(number, keys):
    return request(struct.pack("<II", 0, len(keys)), number, [b"".join(struct.pack("<Q", key) for key in keys)], 16)


async def card(dut):
    if hasattr(dut, "usr_clk"):
        pins = CmacPins(dut, settings().get("clock_ns", 4))
    else:
        pins = Pins(dut, settings().get("clock_ns", 40))
    await pins.reset()
    return pins


@cocotb.test()
async def addresses_and_echo(dut):
    pins = await card(dut)
    ask = struct.pack(">HHBBH6sI6sI", 1, 0x800, 6, 4, 1, eth.HOST, eth.HOST_IP, bytes(6), eth.ADDRESS)
    pins.send(eth.ethernet(ask, 0x0806, b"\xff" * 6))
    frame = await with_timeout(pins.next(), 20, "us")
    expected = struct.pack(">HHBBH6sI6sI", 1, 0x800, 6, 4, 2, eth.CARD, eth.ADDRESS, eth.HOST, eth.HOST_IP)
    assert frame == eth.ethernet(expected, 0x0806, eth.HOST, eth.CARD)
    dice = random.Random(1)
    for size in (0, 1, 17, 18, 19, 22, 23, 64, 999, 1472):
        content = dice.randbytes(size)
        head = struct.pack(">BBHHH", 8, 0, 0, 77, size)
        echo = head[:2] + struct.pack(">H", eth.checksum(head + content)) + head[4:] + content
        pins.send(eth.ethernet(eth.ipv4(echo, 1)))
        frame = await with_timeout(pins.next(), 60, "us")
        assert frame[:12] == eth.HOST + eth.CARD
        assert eth.checksum(frame[14:34]) == 0
        assert struct.unpack_from(">II", frame, 26) == (eth.ADDRESS, eth.HOST_IP)
        reply = frame[34 : 34 + len(echo)]
        assert reply[:2] == b"\0\0"
        assert reply[4:] == echo[4:]
        assert eth.checksum(reply) == 0


@cocotb.test()
async def sessions(dut):
    """One host at a time: another one is told so, until the first one goes."""
    pins = await card(dut)
    host = Host(pins)
    head, _ = await host.ask(message(DatagramType.REQUEST, SESSION, 0, bytes(32)))
    assert head["outcome"] == DatagramStatus.NO_SESSION
    head = await host.open()
    assert (head["outcome"], head["window"], head["session"], head["lines"]) == (DatagramStatus.DONE, 8, SESSION, 64)
    assert head["cycles"] == 25_000_000
    assert (await host.counters())[Counter.STRANGER] == 1
    assert (await host.open())["outcome"] == DatagramStatus.DONE  # asked twice
    assert (await host.open(SESSION + 1))["outcome"] == DatagramStatus.BUSY
    assert (await host.open(SESSION, 40001))["outcome"] == DatagramStatus.BUSY
    head, _ = await host.ask(message(DatagramType.CLOSE, SESSION), 40001)
    assert head["outcome"] == DatagramStatus.NO_SESSION
    for what in (ControlRequest.LINE, 9):
        assert (await host.control(what)).status == Status.UNKNOWN_FUNCTION
    head, _ = await host.ask(message(DatagramType.CLOSE, SESSION))
    assert head["outcome"] == DatagramStatus.DONE
    assert (await host.open(SESSION + 1))["outcome"] == DatagramStatus.DONE
    # Numbers begin anew; after its patience the card takes another host.
    head, reply = await host.ask(
        message(DatagramType.REQUEST, SESSION + 1, 0, request(struct.pack("<II", 3, 0), 1, [], 16), 2)
    )
    assert head["outcome"] == DatagramStatus.DONE
    assert len(reply) == 80
    await ClockCycles(dut.clk, settings().get("patience", 2000) + 1000)
    assert (await host.open(SESSION + 2, 40001))["outcome"] == DatagramStatus.DONE


@cocotb.test()
async def overtaken(dut):
    """An OPEN that arrives behind the CLOSE of its session keeps nobody out, whether the card knew it or not."""
    pins = await card(dut)
    host = Host(pins)
    assert (await host.ask(message(DatagramType.CLOSE, SESSION)))[0]["outcome"] == DatagramStatus.NO_SESSION
    assert (await host.open())["outcome"] == DatagramStatus.NO_SESSION
    assert (await host.open(SESSION + 1, 40001))["outcome"] == DatagramStatus.DONE
    assert (await host.open())["outcome"] == DatagramStatus.NO_SESSION  # still
    assert (await host.ask(message(DatagramType.CLOSE, SESSION + 1), 40001))[0]["outcome"] == DatagramStatus.DONE
    assert (await host.open(SESSION + 1, 40001))["outcome"] == DatagramStatus.NO_SESSION
    assert (await host.open(SESSION + 2))["outcome"] == DatagramStatus.DONE
    # A stranger's CLOSE changes nothing for whose session it is.
    assert (await host.ask(message(DatagramType.CLOSE, SESSION + 2), 40001))[0]["outcome"] == DatagramStatus.NO_SESSION
    assert (await host.open(SESSION + 2))["outcome"] == DatagramStatus.DONE
    assert (await host.open(SESSION + 3, 40001))["outcome"] == DatagramStatus.BUSY


@cocotb.test()
async def lookups(dut):
    pins = await card(dut)
    host, dice = Host(pins), random.Random(2)
    await host.open()
    keys = [dice.getrandbits(64) for _ in range(20)]
    index = await host.table(64, keys, dice)
    reply = await host.control(ControlRequest.GET, KVS_LOOKUP_REGS["MASK"])
    assert reply.payload[:4] == struct.pack("<I", 63)
    for count in (1, 2, 3, 8, 178):
        wanted = [dice.choice((*keys, 99)) for _ in range(count)]
        reply = await host.request(PacketTarget.KVS, lookup(count, wanted))
        assert (reply.status, reply.number, reply.count) == (Status.OK, count, count)
        assert struct.unpack_from(f"<{count}Q", reply.payload) == tuple(map(index.lookup, wanted))
    vectors = [struct.pack("<5i", *range(at, at + 5)) for at in (3, 40)]
    reply = await host.request(PacketTarget.REDUCE, request(struct.pack("<BBHI", 0, 2, 0, 5), 6, vectors, 16))
    assert (reply.status, reply.number) == (Status.OK, 6)
    assert struct.unpack_from("<5i", reply.payload) == (43, 45, 47, 49, 51)


@cocotb.test()
async def volumes(dut):
    """Lines of ebs_lookup's tables are written and read, and none outside; without volumes there is nothing to find."""
    pins = await card(dut)
    host, dice = Host(pins), random.Random(5)
    await host.open()
    tables, line = 1 << 30, dice.randbytes(128)
    assert (await host.control(ControlRequest.GET, CardEngine.EBS_LINES << 8)).payload[:4] == struct.pack("<I", 64)
    assert (await host.control(ControlRequest.TABLE, tables | 62, line)).status == Status.OK
    for place in (62, 63):
        assert (await host.control(ControlRequest.LINE, tables | place)).payload == line[64 * (place - 62) :][:64]
    for place in (tables | 64, 63, 3 << 30 | 63):
        reply = await host.control(ControlRequest.LINE, place)
        assert (reply.status, reply.payload) == (Status.OUT_OF_BOUNDS, b"")
    assert (await host.control(ControlRequest.TABLE, tables | 63, line)).status == Status.OUT_OF_BOUNDS
    assert (await host.control(ControlRequest.LINE, tables | 63)).payload == line[
        :64
    ]  # whole lines before the fault are there
    packet = request(struct.pack("<II", 0, 3), 9, [ebs.REQUEST.pack(0, 1, 0, 0)], 16)
    reply = await host.request(PacketTarget.EBS, packet)
    assert (reply.status, reply.number) == (Status.OK, 9)
    assert reply.payload == ebs.ANSWER.pack(ebs.EbsStatus.NO_VOLUME, 0, 0)


WAYS = {
    PacketTarget.QUANTISE: (cases.quantise_request, cases.quantise_payload),
    PacketTarget.DEQUANTISE: (cases.dequantise_request, cases.dequantise_payload),
}
ROW_BEAT = 32


async def quantpack_register(host, name):
    reply = await host.control(ControlRequest.GET, CardEngine.QUANTPACK << 8 | QUANTPACK_REGS[name])
    return struct.unpack_from("<I", reply.payload)[0]


async def expect_rows(host, target, wanted):
    """A request for rows, whose answer has to be the model's to the bit."""
    ask, payload = WAYS[target]
    status = wanted.status if target == PacketTarget.QUANTISE else Status.OK
    reply = await host.request(target, ask(wanted, host.sequence, ROW_BEAT))
    assert (reply.status, reply.number) == (status, host.sequence - 1)
    assert reply.count == (len(wanted.x) if status == Status.OK else 0)
    assert reply.payload == payload(wanted, ROW_BEAT), (target, wanted.bits, wanted.compact, wanted.x.shape)


@cocotb.test()
async def quantised_rows(dut):
    """Codes and values of quantpack, of one row as long as fits and of many; look-ups and sums go on."""
    pins = await card(dut)
    host, dice = Host(pins), random.Random(6)
    await host.open()
    names = ("MAGIC", "VERSION", "COLUMNS", "LANES")
    assert [await quantpack_register(host, name) for name in names] == [
        0x4F465250, QUANTPACK_REGS_VERSION, 512, ROW_BEAT,
    ]  # fmt: skip
    shapes = [(0, 5), (1, 1), (1, 344), (34, 8), (4, 80), (5, 56), (19, 9)]
    shapes += [(dice.randrange(1, 6), dice.randrange(1, 56)) for _ in range(settings().get("requests", 20))]
    failed = 0
    for count, columns in shapes:
        wanted = cases.case(dice, columns, count, odd=0.15)
        failed += wanted.status != Status.OK
        for target in WAYS:
            await expect_rows(host, target, wanted)
    assert (await host.request(PacketTarget.KVS, lookup(4, [9, 9]))).status == Status.OK
    counts = [await quantpack_register(host, name) for name in ("QUANTISED", "DEQUANTISED", "FAULTS", "STATUS")]
    assert counts == [len(shapes) - failed, len(shapes), failed, 0]
    report(requests=len(shapes), failed=failed)


@cocotb.test()
async def refused_rows(dut):
    """Requests that quantpack refuses are answered so; its next one is right. Answers too long for a frame are cut."""
    pins = await card(dut)
    host, dice = Host(pins), random.Random(7)
    await host.open()
    good = cases.case(dice, 37, 5, 4)
    faults = 0
    for target, (ask, _) in WAYS.items():
        whole = ask(good, 7, ROW_BEAT)
        bad = [
            (b"\x03" + whole[1:], Status.UNKNOWN_FUNCTION), (whole[:1] + b"\x02" + whole[2:], Status.UNKNOWN_FUNCTION),
            (whole[:2] + bytes(2) + whole[4:], Status.BAD_LENGTH),
            (whole[:2] + b"\x01\x02" + whole[4:], Status.OUT_OF_BOUNDS),
            (whole[:4] + b"\4" + whole[5:], Status.BAD_LENGTH), (whole[:4] + b"\6" + whole[5:], Status.BAD_LENGTH),
            (whole[:-1], Status.BAD_LENGTH), (whole + bytes(ROW_BEAT), Status.BAD_LENGTH),
            (whole[:16], Status.BAD_LENGTH), (whole[:24], Status.BAD_LENGTH), (whole[:32], Status.BAD_LENGTH),
            (whole[:40], Status.BAD_LENGTH), (whole[:80], Status.BAD_LENGTH),
        ]  # fmt: skip
        for packet, status in bad:
            reply = await host.request(target, packet)
            assert (reply.status, reply.count) == (status, 0), (target, len(packet), status)
            await expect_rows(host, target, good)
        faults += len(bad)
    for count, columns in ((5, 256), (2, 177), (1, 353)):
        long = cases.case(dice, columns, count, 1)
        reply = await host.request(PacketTarget.DEQUANTISE, cases.dequantise_request(long, 9, ROW_BEAT))
        assert (reply.status, reply.count, reply.number) == (Status.OUT_OF_BOUNDS, 0, 9)
        assert reply.payload == cases.dequantise_payload(long, ROW_BEAT)[: 44 * ROW_BEAT]
        await expect_rows(host, PacketTarget.DEQUANTISE, good)
    await expect_rows(host, PacketTarget.DEQUANTISE, cases.case(dice, 352, 1, 8))
    before = await host.counters()
    for target in (PacketTarget.EBS, 6, 7, 0x84):  # what this card lacks
        pins.send(udp_frame(message(DatagramType.REQUEST, SESSION, host.sequence, whole, target)))
    await pins.source.wait()
    after = await host.counters()
    assert after[Counter.MALFORMED] - before[Counter.MALFORMED] == 4
    assert after[Counter.EXECUTED] - before[Counter.EXECUTED] == 1
    control = CardEngine.QUANTPACK << 8 | QUANTPACK_REGS["CONTROL"]
    assert (await host.control(ControlRequest.SET, control, struct.pack("<I", 1))).status == Status.OK
    for target in WAYS:
        await expect_rows(host, target, good)
    assert await quantpack_register(host, "FAULTS") == faults
    assert await quantpack_register(host, "STATUS") == 0


@cocotb.test()
async def bad_frames(dut):
    """Each is counted as what it is, answered by nothing, and changes nothing."""
    pins = await card(dut)
    host, dice = Host(pins), random.Random(3)
    await host.open()
    index = await host.table(64, [5, 6], dice)
    good = udp_frame(message(DatagramType.REQUEST, SESSION, host.sequence + 1, lookup(1, [5])))
    payload = good[42:]
    fcs = struct.pack("<I", zlib.crc32(good))
    pre = b"\x55" * 7 + b"\xd5"

    def flipped(at, frame=good):
        return frame[:at] + bytes([frame[at] ^ 0x10]) + frame[at + 1 :]

    def checked(frame):
        return pre + frame + struct.pack("<I", zlib.crc32(frame))

    def packet(at, value):
        """The good frame's IP packet with a changed header whose sum is right."""
        head = bytearray(good[14:34])
        head[at : at + len(value)] = value
        head[10:12] = b"\0\0"
        head[10:12] = struct.pack(">H", eth.checksum(bytes(head)))
        return checked(good[:14] + bytes(head) + good[34:])

    def udp(**changes):
        return checked(eth.ethernet(eth.ipv4(eth.datagram(payload, **changes), 17)))

    def layer(at, value):
        return checked(udp_frame(payload[:at] + value + payload[at + len(value) :]))

    no_sum = good[:40] + b"\0\0" + good[42:]
    long = good + bytes(1515 - len(good))
    bad = {
        Counter.CORRUPT: [pre + flipped(at) + fcs for at in (0, 13, 30, 50, 80)]
        + [pre + good + b"1234", pre + good[:-4] + fcs, b"\x12" * 80, (pre + good + fcs, 30)],
        Counter.RUNT: [checked(good[:59]), checked(good[:20]), pre + b"12", pre, checked(b"")],
        Counter.JUMBO: [checked(long), checked(good + bytes(3000)), checked(good + bytes(9000))],
        Counter.MISADDRESSED: [
            checked(flipped(5)), packet(16, b"\xc0\xa8\x01\x33"), udp(to_port=9), checked(b"\xff" * 6 + good[6:]),
            checked(eth.ethernet(struct.pack(">HHBBH6sI6sI", 1, 0x800, 6, 4, 1, eth.HOST, 9, bytes(6), 10), 0x806)),
        ],
        Counter.UNKNOWN: [
            packet(9, b"\x06"), checked(good[:12] + b"\x86\xdd" + good[14:]),
            checked(good[:12] + b"\x81\x00" + good[14:]),
            checked(eth.ethernet(eth.ipv4(b"\0\0\xff\xff" + bytes(30), 1))),
        ],
        Counter.FRAGMENT: [packet(6, b"\x20\x00"), packet(6, b"\x00\x10"), packet(6, b"\x3f\xff")],
        Counter.BAD_HEADER: [
            checked(flipped(22)), packet(0, b"\x46"), packet(0, b"\x65"), packet(2, b"\x05\xdc"),
            packet(2, b"\x00\x15"),
            checked(good[:38] + b"\x00\x20" + good[40:]),
        ],
        Counter.BAD_CHECKSUM: [
            checked(flipped(44)), checked(flipped(len(good) - 1)), checked(flipped(40)), checked(no_sum),
            checked(eth.ethernet(eth.ipv4(b"\x08\x00\x12\x34" + bytes(30), 1))),
        ],
        Counter.MALFORMED: [
            layer(0, b"\0"), layer(2, b"\x09"), *(layer(3, bytes([target])) for target in (3, 4, 5, 6, 0x84)),
            checked(udp_frame(payload[:22])), checked(udp_frame(payload[:37])), checked(udp_frame(b"OF")),
            checked(udp_frame(message(DatagramType.REQUEST, SESSION, 90, bytes(1441)))),
            checked(udp_frame(message(DatagramType.OPEN, 5, 0, b"1"))),
        ],
    }  # fmt: skip
    before = await host.counters()
    wrong = [(counter, wire) for counter, wires in bad.items() for wire in wires]
    dice.shuffle(wrong)
    for _, wire in wrong:
        wire, at = wire if isinstance(wire, tuple) else (wire, None)
        pins.send_raw(wire, None if at is None else [int(place == at) for place in range(len(wire))])
    await pins.source.wait()
    after = await host.counters()
    assert not pins.frames
    changes = {counter: after[counter] - before[counter] for counter in Counter}
    expected = dict.fromkeys(Counter, 0) | {counter: len(wires) for counter, wires in bad.items()}
    expected[Counter.ACCEPTED] = len(bad[Counter.MALFORMED]) + 1
    expected[Counter.EXECUTED] = expected[Counter.REPLIED] = 1
    assert changes == expected, {c.name: (changes[c], expected[c]) for c in Counter if changes[c] != expected[c]}
    for tail in (0, 1, 7, 8, 9, 500):  # the bytes behind a datagram are nobody's
        keys = [5, 6, *range(7, 7 + tail % 3)]
        wanted = message(DatagramType.REQUEST, SESSION, host.sequence, lookup(3, keys), PacketTarget.KVS)
        pins.send(udp_frame(wanted) + dice.randbytes(tail))
        head, reply = opened(await with_timeout(pins.next(), 200, "us"))
        assert (head["outcome"], head["sequence"]) == (DatagramStatus.DONE, host.sequence)
        host.sequence += 1
        assert answer(reply, 16).payload == struct.pack(f"<{len(keys)}Q", *map(index.lookup, keys)).ljust(
            -(-len(keys) // 2) * 16, b"\0"
        )
    report(bad=len(wrong))


@cocotb.test()
async def old_and_early_numbers(dut):
    """A number is carried out once; its answer is given again as long as its place holds it."""
    pins = await card(dut)
    host = Host(pins)
    await host.open()
    seen = {}
    for number in range(20):
        packet = message(DatagramType.REQUEST, SESSION, number, request(struct.pack("<II", 3, 0), number, [], 16), 2)
        seen[number] = await host.ask(packet)
        again = await host.ask(packet)
        assert again == seen[number]
    before = await host_counters(host, 20)
    old = message(DatagramType.REQUEST, SESSION, 3, request(struct.pack("<II", 3, 0), 3, [], 16), 2)
    pins.send(udp_frame(old))
    after = await host_counters(host, 21)
    assert after[Counter.STALE] - before[Counter.STALE] == 1
    assert after[Counter.DUPLICATE] == 20
    assert not pins.frames


async def host_counters(host, number):
    host.sequence = number
    return await host.counters()


@cocotb.test()
async def line_rate(dut):
    """Requests of 64 to 1,400 bytes without a pause on the wire, in cycles of the PHY's clock for each.

    A window of requests is sent back to back, and each answer is followed by the next request at once.
    """
    pins = await card(dut)
    host, dice = Host(pins), random.Random(4)
    await host.open()
    keys = [dice.getrandbits(64) for _ in range(20)]
    index = await host.table(64, keys, dice)
    cycles_by_size = {}
    for size in settings()["sizes"]:
        count = (size - 16) // 8
        number, requests = host.sequence, 24
        asked, frames = {}, []
        for at in range(requests):
            wanted = [dice.choice((*keys, 99)) for _ in range(count)]
            asked[number + at] = wanted
            packet = message(DatagramType.REQUEST, SESSION, number + at, lookup(at, wanted))
            frames.append(udp_frame(packet))
        pins.gaps.clear()
        for frame in frames[:8]:
            pins.send(frame)
        times = []
        for at in range(requests):
            head, packet = opened(await with_timeout(pins.next(), 400, "us"))
            times.append(get_sim_time("ns"))
            if at + 8 < requests:
                pins.send(frames[at + 8])
            got = answer(packet, 16)
            assert got.status == Status.OK
            wanted = tuple(map(index.lookup, asked.pop(head["sequence"])))
            assert struct.unpack_from(f"<{count}Q", got.payload) == wanted
        host.sequence += requests
        # Between the third answer and the last, when the window is full.
        cycles = (times[-1] - times[2]) / 8 / (requests - 3)
        wire = len(frames[0]) + 4 + 8 + 12
        back = len(opened_frame(count)) + 4 + 8 + 12
        cycles_by_size[size] = {"cycles": cycles, "wire": wire, "answer": back, "least_gap": min(pins.gaps)}
    report(sizes=cycles_by_size)


def opened_frame(count):
    """As long as the card's frame with so many addresses."""
    return bytes(64 + 16 * (-(-count // 2) + 1))
