# SPDX-License-Identifier: Apache-2.0
"""HLS kernels in C simulation, bit-equal to the models; they cannot show what Vitis makes of them."""

from __future__ import annotations

import ctypes
import random as dice
import re
from typing import NamedTuple

import numpy as np
import pytest

from hls import SOURCES, kernels, pointer
from offramp.leo import dma
from offramp.leo.functions import ebs, kvs, reduce
from offramp.leo.functions.reduce import ElementType
from offramp.leo.memory import HostMemory
from offramp.sylvie import model, quantiser
from rtl import quantpack_cases, router
from rtl.copies import carry_out

pytestmark = [pytest.mark.hls, pytest.mark.timeout(600)]


class StreamEnds(NamedTuple):
    """Beats that a kernel gave since the last question, ends of packets among them, and whether the last was one."""

    beats: int
    ends: int
    closed: int


def ends() -> StreamEnds:
    """Where the kernels' TLAST stood, since an AXI DMA ends its transfer there and nowhere else."""
    counts = np.zeros(3, np.uint32)
    kernels().ends_csim(pointer(counts))
    return StreamEnds(*counts.tolist())


@pytest.fixture(autouse=True)
def _begin_anew() -> None:
    ends()


def transactions(few: int) -> pytest.MarkDecorator:
    """So many random transactions, and ten times as many in a slow test: 10,000 and more of each kernel."""
    return pytest.mark.parametrize("count", [few, pytest.param(10 * few, marks=pytest.mark.slow)])


@transactions(1000)
def test_kvs_lookup(count: int) -> None:
    random = np.random.default_rng(0)
    memory = HostMemory(256 * kvs.LINE)
    index = kvs.KeyIndex(memory, 256)
    known = random.integers(0, 2**64, 900, np.uint64)
    for key in known:
        index.insert(int(key), int(key) | 1)
    keys = np.where(
        random.random(count) < 0.7, random.choice(known, count), random.integers(0, 2**64, count, np.uint64)
    )
    keys[0] = 0  # free slots hold it too
    table = np.frombuffer(memory.view, np.uint64).copy()
    addresses = np.zeros(count, np.uint64)
    kernels().kvs_lookup_csim(pointer(table), 256, pointer(keys), pointer(addresses), count)
    assert ends() == (count, 1, True)
    assert addresses.tolist() == kvs.lookup(table.reshape(-1, kvs.SLOTS, 2), keys).tolist()
    assert 0.6 * count < np.count_nonzero(addresses) < 0.8 * count


@transactions(1000)
def test_ebs_lookup(count: int) -> None:
    random = np.random.default_rng(1)
    layout = ebs.TableLayout(8, 40, 30)
    memory = HostMemory(layout.size)
    tables = ebs.EbsTables(memory, layout)
    for volume, blocks in enumerate((5000, 1, 512, 513, 2048)):
        tables.add_volume(volume, blocks, rate=int(random.integers(0, 50)), burst=int(random.integers(0, 2**18)))
        for segment in range(-(-blocks // ebs.SEGMENT)):
            if random.random() < 0.8:
                address = int(random.integers(1, 2**64, dtype=np.uint64))
                tables.map(volume, segment, int(random.integers(2**32)), int(random.integers(30)), address)
    before = np.frombuffer(memory.view, np.uint8).copy()
    requests = bytearray()
    for number in range(count):
        far = random.random() < 0.1
        start = int(random.integers(2**64, dtype=np.uint64)) if far else int(random.integers(5500))
        blocks = int(random.choice([0, 1, 2, 16, 512, 513, 2**32 - 1], p=[0.05, 0.4, 0.2, 0.2, 0.05, 0.05, 0.05]))
        tick = (number * 10, 0, 2**64 - 1)[random.choice(3, p=[0.989, 0.01, 0.001])]
        requests += ebs.REQUEST.pack(int(random.integers(9)), blocks, start, tick)
    size = ebs.REQUEST.size
    expected = b"".join(tables.lookup(requests[at : at + size]) for at in range(0, len(requests), size))
    outcomes = {outcome for outcome, _, _ in ebs.ANSWER.iter_unpack(expected)}
    assert outcomes == set(ebs.EbsStatus)
    volumes = before[: layout.blocks_at].copy()
    entries = before[layout.blocks_at : layout.blocks_at + 8 * layout.entries].copy()
    addresses = before[layout.addresses_at : layout.addresses_at + 8 * layout.segments].copy()
    asked, answers = np.frombuffer(requests, np.uint8).copy(), np.zeros(count * ebs.ANSWER.size, np.uint8)
    kernels().ebs_lookup_csim(
        pointer(volumes), layout.volumes, pointer(entries), layout.entries, pointer(addresses), layout.segments,
        pointer(asked), pointer(answers), count,
    )  # fmt: skip
    assert ends() == (count, 1, True)
    assert answers.tobytes() == expected
    assert volumes.tobytes() == bytes(memory.view[: layout.blocks_at])


def special_floats(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Words of any kind: ordinary numbers, subnormal ones, infinities, NaNs, zeros of both signs."""
    kinds = random.integers(0, 6, shape)
    any_word = random.integers(0, 2**32, shape, np.uint32)
    plain = (random.normal(size=shape) * 10.0 ** random.integers(-3, 4, shape)).astype(np.float32).view(np.uint32)
    odd = random.choice(np.array([0, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC12345, 1, 0x80000001], np.uint32), shape)
    near = plain & np.uint32(0x7FFFFF) | np.uint32(0x3F800000)
    return np.select(
        [kinds < 2, kinds == 2, kinds == 3, kinds == 4], [plain, any_word & 0x807FFFFF, near, any_word], odd
    )


@transactions(250)
@pytest.mark.parametrize("kind", list(ElementType))
def test_reduce(kind: ElementType, count: int) -> None:
    random = np.random.default_rng(kind)
    for transaction in range(count):
        number, elements = int(random.integers(1, 9)), int(random.integers(0, 41))
        words = special_floats(random, (number, elements))
        width = reduce.DTYPE[kind].itemsize
        vectors = (words >> 16).astype("<u2") if width == 2 else words.view(reduce.DTYPE[kind])
        vectors = np.ascontiguousarray(vectors)
        if transaction % 3 == 0 and kind is ElementType.FIXED and elements:
            vectors[:, 0] = (2**31 - 1) * random.choice([1, -1])
        sums = np.zeros(elements, reduce.DTYPE[kind])
        kernels().reduce_csim(pointer(vectors), number, elements * width, kind, pointer(sums))
        beats = -(-elements * width // 64)
        assert ends() == (beats, beats > 0, beats > 0)
        assert sums.tobytes() == reduce.total(kind, vectors).tobytes()


@transactions(1000)
def test_p2p_dma(count: int) -> None:
    random = np.random.default_rng(3)
    sizes = (1000, 4096, 777)
    start = random.integers(0, 256, sum(sizes), np.uint8)
    parts = np.split(start.copy(), np.cumsum(sizes)[:-1])
    memories = [HostMemory(0, memoryview(part)) for part in parts]
    descriptors = []
    for number in range(count):
        source, destination = (int(random.integers(4 if random.random() < 0.05 else 3)) for _ in range(2))
        length = int(random.choice([0, 1, 63, 64, 65, 128, 200, 777, 2**32 - 1], p=[0.1] * 6 + [0.2, 0.1, 0.1]))
        opcode, spare = (1, 0) if random.random() < 0.95 else (int(random.integers(3)), int(random.integers(2)))
        places = [int(random.integers(0, 800)) if random.random() < 0.95 else 2**64 - 1 - int(random.integers(99))
                  for _ in range(2)]  # fmt: skip
        descriptors.append(dma.Descriptor(opcode, source, destination, spare, length, number, *places))
    expected = b"".join(carry_out(wanted, memories) for wanted in descriptors)
    statuses = {status for status, _, _ in dma.COMPLETION.iter_unpack(expected)}
    assert statuses == {0, 1, 3, 5}
    packed = np.frombuffer(b"".join(wanted.pack() for wanted in descriptors), np.uint8).copy()
    completions = np.zeros(dma.COMPLETION.size * count, np.uint8)
    limits = np.array(sizes, np.uint64)
    simulate = kernels().p2p_dma_csim
    simulate.restype = ctypes.c_bool
    inside = simulate(pointer(start), pointer(limits), pointer(packed), pointer(completions), count)
    assert inside
    assert ends() == (count, 1, True)
    assert completions.tobytes() == expected
    assert start.tobytes() == b"".join(part.tobytes() for part in parts)


@transactions(250)
@pytest.mark.parametrize("hardware", [*router.Model, 3])
def test_path_router(hardware: int, count: int) -> None:
    random = np.random.default_rng(hardware)
    packets = np.stack(
        [random.integers(4, size=count), random.integers(4, size=count), random.integers(1, 9, count)], 1
    )
    packets = packets.astype(np.uint32)
    answers, leaving = np.zeros((int(packets[:, 2].sum()), 3), np.uint32), ctypes.c_uint32()
    refused = kernels().path_router_csim(hardware, pointer(packets), count, pointer(answers), ctypes.byref(leaving))
    ways = [router.route(hardware, int(port), int(destination)) for port, destination, _ in packets]
    assert refused == ways.count(None)
    assert ends() == (leaving.value, len(ways) - refused, leaving.value > 0)
    answers = answers[: leaving.value]
    assert (answers[1:][np.diff(answers[:, 0].astype(int)) == 0][:, 1] < count).all()
    for port in router.Port:
        mine = answers[answers[:, 0] == port]
        beats = [(packet, beat) for packet, beat in mine[:, 1:].tolist()]
        whole = [beat for packet in dict.fromkeys(mine[:, 1].tolist()) for beat in range(packets[packet, 2])]
        assert [beat for _, beat in beats] == whole  # packets are whole
        order = list(dict.fromkeys(mine[:, 1].tolist()))
        assert sorted(order) == [number for number, way in enumerate(ways) if way is port]
        for source in router.Port:  # and in order from each port
            sent = [packet for packet in order if packets[packet, 0] == source]
            assert sent == sorted(sent)


@transactions(125)
@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize("bits", quantiser.BITS)
def test_quantise_and_back(bits: int, compact: bool, count: int) -> None:
    random = np.random.default_rng(bits)
    done = 0
    while done < count:
        columns, rows = int(random.choice([1, 2, 15, 16, 17, 31, 33, 64, 100, 512])), int(random.integers(1, 9))
        scales = 10.0 ** random.integers(-39, 37, (rows, 1)).astype(np.float64)
        x = (random.normal(size=(rows, columns)) * scales + random.normal(size=(rows, 1))).astype(np.float32)
        x[random.random(x.shape) < 0.05] = 0
        if random.random() < 0.2:
            x[0] = x[0, 0]
        if random.random() < 0.1:
            x[-1, -1] = random.choice([np.nan, np.inf, -np.inf, 3e38, -0.0])
        numbers = random.integers(0, 2**31, rows).astype(np.uint64)
        seed = int(random.integers(2**64, dtype=np.uint64))
        least, greatest, wrong = model.bounds(x, compact)
        with np.errstate(invalid="ignore", over="ignore"):
            code = model.codes(x, numbers.astype(np.int64), bits, seed, least, greatest)
        code[wrong] = 0
        packed = np.zeros((rows, quantiser.row_bytes(columns, bits)), np.uint8)
        bounds, bad = np.zeros((rows, 2), np.uint32), np.zeros(rows, np.uint8)
        kernels().quantise_csim(
            pointer(numbers), pointer(x), ctypes.c_uint64(seed), columns, bits, compact, rows,
            pointer(packed), pointer(bounds), pointer(bad),
        )  # fmt: skip
        good = ~wrong
        lines = -(-quantiser.row_bytes(columns, bits) // 64)
        assert ends() == (rows * (lines + 1), rows + 1, True)  # packets of codes, and one of bounds
        assert (bad == wrong).all()
        assert bounds[good].tolist() == np.stack([least, greatest], 1).view(np.uint32)[good].tolist()
        assert packed.tolist() == model.pack(code, bits).tolist()
        values = np.zeros((int(good.sum()), columns), np.float32)
        kept, kept_bounds = np.ascontiguousarray(packed[good]), np.ascontiguousarray(bounds[good])
        kernels().dequantise_csim(pointer(kept_bounds), pointer(kept), columns, bits, len(values), pointer(values))
        assert values.tobytes() == model.values(code[good], bits, least[good], greatest[good]).tobytes()
        assert ends() == (len(values) * -(-columns // 16), len(values), len(values) > 0)
        done += rows


def test_every_stream_ends_packets_and_every_memory_has_a_depth() -> None:
    """What an AXI DMA and Vitis's co-simulation ask for, by the sources."""
    for path in SOURCES.glob("*/*.cpp"):
        text = path.read_text("utf-8")
        for port in re.findall(r"interface axis port = (\w+)", text):
            assert re.search(rf"hls::stream<(?:Beat|Routed|Item<.*>)> &?{port}\b", text), (path.name, port)
        for pragma in re.findall(r"interface m_axi .*", text):
            assert "depth = kSimulatedLines" in pragma, (path.name, pragma)


def test_quantise_makes_of_the_rtls_requests_what_the_rtl_must() -> None:
    chosen = dice.Random(4)
    for _ in range(60):
        wanted = quantpack_cases.case(chosen, chosen.choice((1, 8, 33, 100)), chosen.randrange(9), odd=0.2)
        rows, columns = wanted.x.shape
        packed, bounds = np.zeros_like(wanted.packed), np.zeros_like(wanted.bounds)
        bad, numbers = np.zeros(rows, np.uint8), wanted.numbers.astype(np.uint64)
        kernels().quantise_csim(
            pointer(numbers), pointer(wanted.x), ctypes.c_uint64(wanted.seed), columns, wanted.bits, wanted.compact,
            rows, pointer(packed), pointer(bounds), pointer(bad),
        )  # fmt: skip
        assert (bad == wanted.wrong).all()
        assert packed.tolist() == wanted.packed.tolist()
        assert bounds[~wanted.wrong].tolist() == wanted.bounds[~wanted.wrong].tolist()
        values = np.zeros_like(wanted.values)
        kernels().dequantise_csim(pointer(wanted.bounds), pointer(packed), columns, wanted.bits, rows, pointer(values))
        assert values.tobytes() == wanted.values.tobytes()
