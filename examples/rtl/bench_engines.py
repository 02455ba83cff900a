# SPDX-License-Identifier: Apache-2.0
"""One test per engine of ``fpga/rtl``, each against the engine's model, with random stalls everywhere; see ``run.py``.

Inputs of a channel that is not valid have no value: X with Icarus, random bits with Verilator.

Streams and registers are cocotbext-axi's. Its memories expect AXI IDs, which the engines do not have, so memory is
:class:`offramp_sim.rtl.models.memory.AxiMemory`.
"""

import random
import struct

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, with_timeout
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource
from offramp_pynq import packets, registers

from offramp import Status
from offramp.leo import dma
from offramp.leo.functions import ebs, kvs
from offramp.leo.functions import reduce as sums
from offramp.leo.memory import HostMemory
from offramp.sylvie import model
from offramp_sim.rtl.models.memory import AxiMemory
from offramp_sim.rtl.models.streams import forget_while_idle

BASE = 0x1_0000_0000
dice = random.Random(1)


def stalls(share=0.3):
    """Cycles in which a stream pauses."""
    while True:
        yield dice.random() < share


class Engine:
    """An engine's registers and streams, driven at random."""

    def __init__(self, dut):
        self.dut = dut
        self.bus = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)
        self.offsets = getattr(registers, f"{dut._name.upper()}_REGS")

    def source(self, name="s_axis"):
        """A driver of a stream that is idle now and then."""
        driver = AxiStreamSource(AxiStreamBus.from_prefix(self.dut, name), self.dut.clk, self.dut.rst)
        driver.set_pause_generator(stalls())
        forget_while_idle(self.dut, f"{name}_t")
        return driver

    def memory(self, name, size, **options):
        """Memory that stalls now and then, behind a port."""
        return AxiMemory(self.dut, name, size, stall=0.3, **options)

    def sink(self, name="m_axis"):
        """A receiver of a stream that is not ready now and then."""
        driver = AxiStreamSink(AxiStreamBus.from_prefix(self.dut, name), self.dut.clk, self.dut.rst)
        driver.set_pause_generator(stalls())
        return driver

    async def start(self, **values):
        """Reset, then set registers; inputs have no value before."""
        Clock(self.dut.clk, 4, unit="ns").start()
        self.dut.rst.value = 1
        await ClockCycles(self.dut.clk, 4)
        self.dut.rst.value = 0
        for name, value in values.items():
            await self.bus.write_dword(self.offsets[name], value)

    async def read(self, name):
        """A register's value."""
        return await self.bus.read_dword(self.offsets[name])


def packet(head, number, contents, beat):
    """A request: a header's beat, then what it speaks of."""
    return AxiStreamFrame(packets.request(head, number, contents, beat))


async def answer(sink, number, beat, status=Status.OK):
    """The content of the next answer, whose completion has to be as said."""
    reply = packets.answer(bytes((await with_timeout(sink.recv(), 100, "us")).tdata), beat)
    assert (reply.status, reply.number) == (status, number)
    return reply.payload


@cocotb.test()
async def reduce(dut):
    engine, beat = Engine(dut), len(dut.s_axis_tkeep)
    source, sink = engine.source(), engine.sink()
    await engine.start()
    for number in range(40):
        kind = sums.ElementType(dice.randrange(4))
        count = dice.randrange(1, 30)
        words = np.frombuffer(dice.randbytes(4 * count * dice.randrange(1, 9)), np.uint32).reshape(-1, count)
        words = words & 0x807FFFFF | 0x3F800000  # near 1, where sums of floats round
        vectors = (words >> 16 if kind == sums.ElementType.BFLOAT16 else words).astype(np.uint32)
        vectors = vectors.astype("<u2") if kind == sums.ElementType.BFLOAT16 else vectors.view(sums.DTYPE[kind])
        parts = [vector.tobytes() for vector in vectors]
        await source.send(packet(sums.HEADER.pack(kind, len(vectors), 0, count), number, parts, beat))
        expected = sums.total(kind, vectors).tobytes()
        assert (await answer(sink, number, beat))[: len(expected)] == expected
    assert await engine.read("SUMS") == 40


@cocotb.test()
async def kvs_lookup(dut):
    engine, beat, buckets = Engine(dut), len(dut.s_axis_tkeep), 32
    source, sink = engine.source(), engine.sink()
    table = HostMemory(buckets * kvs.LINE)
    index = kvs.KeyIndex(table, buckets)
    known = [dice.getrandbits(63) for _ in range(80)]
    for key in known:
        index.insert(key, dice.getrandbits(63) + 1)
    ports = [engine.memory(f"m_axi_{n}", table.size, base=BASE, latency=dice.randrange(1, 20), seed=n) for n in (0, 1)]
    for port in ports:
        port.content[:] = table.read(0, table.size)
    await engine.start(BASE_LOW=0, BASE_HIGH=BASE >> 32, MASK=buckets - 1)
    for number in range(30):
        keys = [dice.choice(known) if dice.random() < 0.7 else dice.getrandbits(64) for _ in range(dice.randrange(20))]
        content = struct.pack(f"<{len(keys)}Q", *keys)
        await source.send(packet(struct.pack("<II", 0, len(keys)), number, [content], beat))
        expected = struct.pack(f"<{len(keys)}Q", *map(index.lookup, keys))
        assert (await answer(sink, number, beat))[: len(expected)] == expected
    assert not any(port.violations for port in ports)


@cocotb.test()
async def ebs_lookup(dut):
    engine, beat, layout = Engine(dut), len(dut.s_axis_tkeep), ebs.TableLayout(8, 40, 30)
    source, sink = engine.source(), engine.sink()
    memory = HostMemory(layout.size)
    tables = ebs.EbsTables(memory, layout)
    for volume, blocks in enumerate((5000, 1, 512, 513, 2048)):
        tables.add_volume(volume, blocks, rate=dice.randrange(50), burst=dice.randrange(2**18))
        for segment in range(-(-blocks // ebs.SEGMENT)):
            tables.map(volume, segment, dice.getrandbits(32), dice.randrange(30), dice.getrandbits(63) + 1)
    shared = bytearray(memory.view)
    names = ("volumes", "entries", "addresses")
    ports = [
        engine.memory(f"m_axi_{name}", 0, base=BASE, latency=7, seed=n, content=shared) for n, name in enumerate(names)
    ]
    places = {"VOLUMES": layout.volumes, "ENTRIES": layout.blocks_at, "ADDRESSES": layout.addresses_at}
    await engine.start(BASE_LOW=0, BASE_HIGH=BASE >> 32, SEGMENTS=layout.segments, **places)
    for number in range(30):
        reads = [
            ebs.REQUEST.pack(dice.randrange(6), dice.choice((0, 1, 2, 16, 513)), dice.randrange(5200), 20 * number)
            for _ in range(dice.randrange(1, 9))
        ]
        await source.send(packet(struct.pack("<II", 0, 3 * len(reads)), number, [b"".join(reads)], beat))
        expected = b"".join(map(tables.lookup, reads))
        assert (await answer(sink, number, beat))[: len(expected)] == expected
    assert shared == bytes(memory.view)  # token buckets are written back
    assert not any(port.violations for port in ports)


@cocotb.test()
async def p2p_dma(dut):
    engine, beat, size = Engine(dut), len(dut.s_axis_tkeep), 4096
    source, sink = engine.source(), engine.sink()
    memories = [
        engine.memory(f"m_axi_{name}", size, latency=5, seed=n) for n, name in enumerate(("host", "acc", "nic"))
    ]
    models = []
    for memory in memories:
        memory.content[:] = dice.randbytes(size)
        models.append(bytearray(memory.content))
    limits = {f"{name}_LOW": size for name in ("HOST", "ACCELERATOR", "NIC")}
    await engine.start(**limits)
    for number in range(30):
        length = dice.choice((0, 1, beat, dice.randrange(600)))
        (one, other), places = dice.sample(range(3), 2), [dice.randrange(size - length) for _ in range(2)]
        wanted = dma.Descriptor(dma.COPY, one, other, 0, length, number, *places)
        await source.send(AxiStreamFrame(wanted.pack().ljust(beat, b"\0")))
        models[other][places[1] : places[1] + length] = models[one][places[0] : places[0] + length]
        frame = await with_timeout(sink.recv(), 100, "us")
        assert bytes(frame.tdata[:16]) == dma.COMPLETION.pack(Status.OK, length, number)
    assert [bytes(memory.content) for memory in memories] == models


@cocotb.test()
async def path_router(dut):
    """The direct model: the processor's first endpoint reaches the accelerator, the second one the NIC, and back."""
    engine, names = Engine(dut), ("ep0", "ep1", "acc", "nic")
    ways = {("ep0", 1): "acc", ("acc", 0): "ep0", ("ep1", 2): "nic", ("nic", 0): "ep1"}
    sources = {name: engine.source(f"s_axis_{name}") for name in names}
    sinks = {name: engine.sink(f"m_axis_{name}") for name in names}
    await engine.start(MODEL=0)
    sent = {name: [] for name in names}
    for _ in range(60):
        (name, destination), target = dice.choice(list(ways.items()))
        content = dice.randbytes(dice.randrange(1, 100))
        sent[target].append(content)
        await sources[name].send(AxiStreamFrame(content, tdest=destination))
    for name, contents in sent.items():
        for content in contents:
            assert bytes((await with_timeout(sinks[name].recv(), 100, "us")).tdata) == content
    assert await engine.read("REFUSED") == 0


@cocotb.test()
async def quantpack(dut):
    """Codes and bounds of one row at a time, then its values again."""
    engine, beat = Engine(dut), len(dut.s_axis_values_tkeep)
    there, codes_out = engine.source("s_axis_values"), engine.sink("m_axis_codes")
    back, values_out = engine.source("s_axis_codes"), engine.sink("m_axis_values")
    await engine.start()
    head = struct.Struct("<BBHIQQ")
    for number in range(20):
        bits, columns, seed = dice.choice((1, 2, 4, 8)), dice.randrange(1, 100), dice.getrandbits(64)
        x = np.random.default_rng(number).normal(size=(1, columns)).astype(np.float32)
        begin = head.pack(bits, 0, columns, 1, number, seed).ljust(beat, b"\0")
        await there.send(AxiStreamFrame(begin + struct.pack("<Q", number).ljust(beat, b"\0") + x.tobytes()))
        least, greatest, _ = model.bounds(x, False)
        codes = model.codes(x, np.array([number]), bits, seed, least, greatest)
        packed = model.pack(codes, bits).tobytes()
        ends = struct.pack("<ff", least[0], greatest[0]).ljust(beat, b"\0")
        whole = packed.ljust(-(-len(packed) // beat) * beat, b"\0")
        assert await answer(codes_out, number, beat) == whole + ends
        await back.send(AxiStreamFrame(head.pack(bits, 0, columns, 1, number, 0).ljust(beat, b"\0") + ends + packed))
        values = model.values(codes, bits, least, greatest).tobytes()
        assert (await answer(values_out, number, beat))[: len(values)] == values
