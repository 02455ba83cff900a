# SPDX-License-Identifier: Apache-2.0
"""Co-simulation: an HLS kernel takes what its RTL namesake takes at its AXI ports, and both must give the same.

The RTL's streams stall at random, its memories are AXI4; the kernel is the same C++ that Vitis compiles, with vendor
headers. Compared are the answers' bytes, the ends of packets, and all memory afterwards. No model is asked.
"""

import ctypes
import random

import bench_ebs_lookup
import bench_kvs_lookup
import bench_p2p_dma
import bench_path_router
import bench_quantpack
import bench_reduce_streams
import cocotb
import numpy as np
from cocotb.triggers import ClockCycles, with_timeout
from cocotbext.axi import AxiStreamFrame

from hls import kernels, pointer
from offramp.leo import dma
from offramp.leo.functions import ebs
from offramp_sim.rtl.bench import report
from offramp_sim.rtl.models.clocking import start
from rtl import quantpack_cases, reduce_cases

SEED = 12
STALLS = {"idle": 0.3, "pause": 0.3}
MEMORY = {"latency": 9, "stall": 0.2}


def ends():
    """Beats that the kernel gave since the last question, ends of packets, and whether the last was one."""
    counts = np.zeros(3, np.uint32)
    kernels().ends_csim(pointer(counts))
    return tuple(counts.tolist())


@cocotb.test()
async def kvs_lookup(dut):
    bench = bench_kvs_lookup.Bench(dut, SEED, **STALLS, **MEMORY)
    await bench.start()
    table = np.ascontiguousarray(bench.table)
    for number in range(12):
        keys = bench.keys(bench.dice.choice((1, 3, 8, 40)))
        await bench.send(bench.packet(keys, number))
        got = await bench.receive()
        asked, addresses = np.array(keys, np.uint64), np.zeros(len(keys), np.uint64)
        kernels().kvs_lookup_csim(pointer(table), len(table), pointer(asked), pointer(addresses), len(keys))
        assert got.payload[: 8 * len(keys)] == addresses.tobytes()
        assert (ends(), got.count) == ((len(keys), 1, 1), len(keys))
    bench.check_bounds()
    report(compared=number + 1)


@cocotb.test()
async def ebs_lookup(dut):
    bench = bench_ebs_lookup.Bench(dut, SEED, **STALLS, **MEMORY)
    await bench.start()
    layout = bench_ebs_lookup.LAYOUT
    content = np.frombuffer(bytes(bench.content), np.uint8)
    blocks, addresses_at = layout.blocks_at, layout.addresses_at
    volumes = content[:blocks].copy()
    entries = content[blocks : blocks + 8 * layout.entries].copy()
    addresses = content[addresses_at : addresses_at + 8 * layout.segments].copy()
    for number in range(12):
        reads = bench.reads(bench.dice.choice((1, 2, 9, 25)))
        await bench.send(bench.packet(reads, number))
        got = await bench.receive()
        asked = np.frombuffer(b"".join(reads), np.uint8).copy()
        answers = np.zeros(len(reads) * ebs.ANSWER.size, np.uint8)
        kernels().ebs_lookup_csim(
            pointer(volumes), layout.volumes, pointer(entries), layout.entries, pointer(addresses), layout.segments,
            pointer(asked), pointer(answers), len(reads),
        )  # fmt: skip
        assert got.payload[: len(answers)] == answers.tobytes()
        assert (ends(), got.count) == ((len(reads), 1, 1), 2 * len(reads))
        assert bytes(bench.content[:blocks]) == volumes.tobytes()
    report(compared=number + 1)


@cocotb.test()
async def reduce_streams(dut):
    bench = bench_reduce_streams.Bench(dut, SEED, **STALLS)
    await start(dut)
    for number in range(20):
        wanted = reduce_cases.case(bench.dice, 90)
        bench.streams.send_case(wanted, number)
        got = await bench.receive()
        vectors = np.ascontiguousarray(wanted.vectors)
        sums = np.zeros(vectors.shape[1], vectors.dtype)
        kernels().reduce_csim(pointer(vectors), len(vectors), sums.nbytes, int(wanted.kind), pointer(sums))
        assert got.payload[: sums.nbytes] == sums.tobytes(), (wanted.kind, vectors.shape)
        beats = -(-sums.nbytes // 64)
        assert (ends(), got.count) == ((beats, beats > 0, beats > 0), len(sums))
    report(compared=number + 1)


@cocotb.test()
async def p2p_dma(dut):
    bench = bench_p2p_dma.Bench(dut, SEED, 2048, **STALLS, **MEMORY)
    await bench.start()
    memories = np.frombuffer(b"".join(memory.content for memory in bench.memories), np.uint8).copy()
    limits = np.full(3, bench.size, np.uint64)
    descriptors = []
    for number in range(60):
        length = bench_p2p_dma.some_length(bench.dice, bench.lanes, bench.size // 4)
        places = [bench_p2p_dma.some_place(bench.dice, bench.size) for _ in range(2)]
        ways = [bench.dice.randrange(3) for _ in range(2)]
        descriptors.append(bench.copy(number, length, *places, ways))
        bench.send(descriptors[-1])
    got = b"".join([await bench.receive() for _ in descriptors])
    packed = np.frombuffer(b"".join(each.pack() for each in descriptors), np.uint8).copy()
    completions = np.zeros(dma.COMPLETION.size * len(descriptors), np.uint8)
    kernels().p2p_dma_csim.restype = ctypes.c_bool
    assert kernels().p2p_dma_csim(
        pointer(memories), pointer(limits), pointer(packed), pointer(completions), len(descriptors)
    )
    assert ends() == (len(descriptors), 1, 1)
    assert got == completions.tobytes()
    assert b"".join(bytes(memory.content) for memory in bench.memories) == memories.tobytes()
    report(compared=len(descriptors))


@cocotb.test()
async def path_router(dut):
    router, dice = bench_path_router.Router(dut, **STALLS), random.Random(SEED)
    await start(dut)
    compared = 0
    for model in (0, 1, 2, 3):
        await router.choose(model)
        before = await router.registers.read_dword(bench_path_router.REFUSED)
        packets = np.array([[dice.randrange(4), dice.randrange(4), dice.randrange(1, 6)] for _ in range(40)], np.uint32)
        for number, (port, destination, beats) in enumerate(packets.tolist()):
            content = b"".join(number.to_bytes(4, "little") + beat.to_bytes(60, "little") for beat in range(beats))
            router.sources[port].send_nowait(AxiStreamFrame(content, tdest=destination))
        await router.drained()
        await ClockCycles(dut.clk, 400)
        answers, leaving = np.zeros((int(packets[:, 2].sum()), 3), np.uint32), ctypes.c_uint32()
        refused = kernels().path_router_csim(
            model, pointer(packets), len(packets), pointer(answers), ctypes.byref(leaving)
        )
        gone = answers[: leaving.value]
        for port, each in enumerate(router.sinks):
            frames = []
            while not each.empty():
                frames.append(bytes((await each.recv()).tdata))
            by_rtl, by_kernel = ({place: [] for place in range(4)} for _ in range(2))
            for frame in frames:  # turns differ, and the order of each source's packets does not
                number = int.from_bytes(frame[:4], "little")
                by_rtl[packets[number, 0]] += [(number, beat) for beat in range(len(frame) // 64)]
            for number, beat in gone[gone[:, 0] == port][:, 1:].tolist():
                by_kernel[packets[number, 0]].append((number, beat))
            assert by_rtl == by_kernel, (model, port)
        assert ends() == (leaving.value, len(packets) - refused, leaving.value > 0)
        assert await router.registers.read_dword(bench_path_router.REFUSED) - before == refused
        compared += len(packets)
    report(compared=compared)


@cocotb.test()
async def quantpack(dut):
    bench = bench_quantpack.Bench(dut, SEED, **STALLS)
    await start(dut)
    there, back = bench.ways
    for number in range(12):
        wanted = quantpack_cases.case(bench.dice, bench.columns(60, 100), bench.dice.randrange(1, 12), odd=0.1)
        rows, columns = wanted.x.shape
        packed, bounds = np.zeros_like(wanted.packed), np.zeros_like(wanted.bounds)
        bad, numbers = np.zeros(rows, np.uint8), wanted.numbers.astype(np.uint64)
        kernels().quantise_csim(
            pointer(numbers), pointer(wanted.x), ctypes.c_uint64(wanted.seed), columns, wanted.bits, wanted.compact,
            rows, pointer(packed), pointer(bounds), pointer(bad),
        )  # fmt: skip
        values = np.zeros_like(wanted.values)
        kernels().dequantise_csim(
            pointer(wanted.bounds), pointer(wanted.packed), columns, wanted.bits, rows, pointer(values)
        )
        bounds[bad.astype(bool)] = quantpack_cases.NAN
        given = wanted._replace(packed=packed, bounds=bounds, values=values, wrong=bad.astype(bool))
        for way in (there, back):
            await way.send(way.packet(wanted, number))
        for way in (there, back):
            got = await with_timeout(way.receive(), 1, "ms")
            assert got.payload == way.payload(given, way.beat), (way.way, wanted.bits, columns, rows)
            assert got.status == (given.status if way is there else 0)
    report(compared=number + 1)
