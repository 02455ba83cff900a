# SPDX-License-Identifier: Apache-2.0
"""The demonstrator from the far end of its serial line: bits in, bits out."""

import random
import struct

import cocotb
from cocotb.triggers import ClockCycles, FallingEdge, Timer, with_timeout
from offramp_pynq.packets import answer, request
from offramp_pynq.registers import KVS_LOOKUP_REGS

from offramp.device import Status
from offramp.leo.functions import kvs
from offramp.leo.functions.reduce import ElementType
from offramp.leo.memory import HostMemory
from offramp_sim.rtl.bench import settings
from offramp_sim.rtl.models.clocking import PERIOD_NS, start
from rtl.reduce_cases import case

LINES, INPUTS = 64, 2
KVS, REDUCE, CONTROL = range(3)
TABLE, SET, GET = range(3)


class Serial:
    """8 data bits, no parity, one stop bit."""

    def __init__(self, dut, divisor):
        self.dut, self.bit_ns = dut, divisor * PERIOD_NS
        dut.rx.value = 1

    async def write(self, content):
        for byte in content:
            for bit in (0, *(byte >> place & 1 for place in range(8)), 1):
                self.dut.rx.value = bit
                await Timer(self.bit_ns, "ns")

    async def read(self, count):
        octets = bytearray()
        while len(octets) < count:
            if self.dut.tx.value == 1:
                await FallingEdge(self.dut.tx)
            await Timer(self.bit_ns * 3 // 2, "ns")
            byte = 0
            for place in range(8):
                byte |= int(self.dut.tx.value) << place
                await Timer(self.bit_ns, "ns")
            octets.append(byte)
        return bytes(octets)

    async def send(self, target, packet):
        for at in range(0, len(packet), 16):
            chunk = packet[at : at + 16]
            last = at + 16 >= len(packet)
            await self.write(bytes([target | last << 2 | (len(chunk) - 1) << 4]) + chunk.ljust(16, b"\0"))

    async def receive(self, source):
        packet = b""
        while True:
            frame = await with_timeout(cocotb.start_soon(self.read(17)), 4_000_000, "ns")
            assert frame[0] & 3 == source
            packet += frame[1:]
            if frame[0] & 4:
                return answer(packet, 16)

    async def control(self, what, place, content=b""):
        reading = cocotb.start_soon(self.receive(CONTROL))
        await self.send(CONTROL, request(struct.pack("<II", what, place), 9, [content] if content else [], 16))
        return await reading


@cocotb.test()
async def lookups_and_sums(dut):
    dice = random.Random(5)
    line = Serial(dut, settings()["divisor"])
    await start(dut)
    memory = HostMemory(LINES * kvs.LINE)
    index = kvs.KeyIndex(memory, LINES)
    keys = [dice.getrandbits(64) for _ in range(3)]
    for key in keys:
        index.insert(key, key >> 1 | 1)
    mask = KVS_LOOKUP_REGS["MASK"]
    assert (await line.control(SET, mask, struct.pack("<I", LINES - 1))).status == Status.OK
    assert (await line.control(GET, mask)).payload[:4] == struct.pack("<I", LINES - 1)
    assert (await line.control(4, 0)).status == Status.UNKNOWN_FUNCTION
    assert (await line.control(TABLE, LINES, bytes(64))).status == Status.OUT_OF_BOUNDS
    assert (await line.control(TABLE, 0, bytes(48))).status == Status.BAD_LENGTH
    assert (await line.control(SET, mask)).status == Status.BAD_LENGTH
    for number in range(LINES):
        content = memory.read(number * kvs.LINE, kvs.LINE)
        if any(content):
            assert (await line.control(TABLE, number, content)).status == Status.OK
    assert (await line.control(GET, mask)).payload[:4] == struct.pack("<I", LINES - 1)
    wanted = [*keys, 12345]
    packed = [b"".join(struct.pack("<Q", key) for key in wanted)]
    reading = cocotb.start_soon(line.receive(KVS))
    await line.send(KVS, request(struct.pack("<II", 0, len(wanted)), 77, packed, 16))
    got = await reading
    assert (got.status, got.number, got.count) == (Status.OK, 77, 4)
    assert got.payload == b"".join(struct.pack("<Q", index.lookup(key)) for key in wanted)
    for kind, number in ((0, 2), (1, 2), (2, 2), (2, 1), (3, 2), (0, 3)):
        chosen = case(dice, 0, kind, number, 5)
        reading = cocotb.start_soon(line.receive(REDUCE))
        await line.send(REDUCE, request(chosen.head, kind, chosen.parts, 16))
        got = await reading
        if kind == ElementType.BFLOAT16 or number > INPUTS:  # left out of the demonstrator
            assert (got.status, got.number) == (Status.UNKNOWN_FUNCTION, kind)
            continue
        assert (got.status, got.number) == (Status.OK, kind)
        assert got.payload[: len(chosen.expected)] == chosen.expected
    reading = cocotb.start_soon(line.receive(KVS))
    await line.send(KVS, request(struct.pack("<II", 3, 0), 78, [], 16))
    assert (await reading).status == Status.UNKNOWN_FUNCTION
    await ClockCycles(dut.clk, 5)
