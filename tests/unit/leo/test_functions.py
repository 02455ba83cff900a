# SPDX-License-Identifier: Apache-2.0
"""The models of LEO's device functions: against other implementations, by brute force, with bad input."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.leo.functions import compress, ebs, kvs, reduce
from offramp.leo.functions.crc import CRC32, CRC32C, crc
from offramp.leo.functions.reduce import ElementType
from offramp.leo.memory import HostMemory
from offramp_base.errors import OfframpError

SEEDED = settings(max_examples=40, deadline=None, derandomize=True)


def bitwise_crc(polynomial: int, content: bytes) -> int:
    register = 0xFFFFFFFF
    for byte in content:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (polynomial if register & 1 else 0)
    return register ^ 0xFFFFFFFF


def test_crc_is_the_usual_one() -> None:
    assert bitwise_crc(CRC32C, b"123456789") == 0xE3069283
    keys = np.random.default_rng(0).integers(0, 2**64, 50, np.uint64)
    assert crc(CRC32, keys).tolist() == [zlib.crc32(struct.pack("<Q", key)) for key in keys]
    assert crc(CRC32C, keys).tolist() == [bitwise_crc(CRC32C, struct.pack("<Q", key)) for key in keys]


@pytest.mark.full
@SEEDED
@given(st.lists(st.tuples(st.sampled_from("iir"), st.integers(0, 60)), max_size=200), st.sampled_from([1, 4, 16]))
def test_index_is_a_dictionary(steps: list[tuple[str, int]], buckets: int) -> None:
    memory = HostMemory(buckets * kvs.LINE)
    index, known = kvs.KeyIndex(memory, buckets), {}
    for number, (step, key) in enumerate(steps, start=1):
        if step == "r":
            assert index.remove(key) == (known.pop(key, None) is not None)
            continue
        before = bytes(memory.view)
        if key in known or index.room(key):
            index.insert(key, number)
            known[key] = number
        else:
            with pytest.raises(OfframpError, match="no room"):
                index.insert(key, number)
            assert bytes(memory.view) == before
    keys = np.arange(61, dtype=np.uint64)
    table = np.frombuffer(memory.view, np.uint64).reshape(buckets, kvs.SLOTS, 2)
    assert kvs.lookup(table, keys).tolist() == [known.get(int(key), 0) for key in keys]
    assert [index.lookup(int(key)) for key in keys] == [known.get(int(key), 0) for key in keys]
    assert index.keys == len(known)


def test_index_fills_beyond_nine_tenths() -> None:
    index = kvs.KeyIndex(HostMemory(64 * kvs.LINE), 64)
    keys = np.random.default_rng(1).integers(0, 2**64, 256, np.uint64)
    fitting = [int(key) for key in keys if index.room(int(key)) and index.insert(int(key), 1) is None]
    assert 0.9 * 256 < index.keys == len(fitting) <= 256


def test_a_key_can_be_found_while_others_move() -> None:
    class Watched(HostMemory):
        def write(self, offset: int, content: bytes) -> None:
            super().write(offset, content)
            table = np.frombuffer(self.view, np.uint64).reshape(-1, kvs.SLOTS, 2)
            assert (kvs.lookup(table, np.array(known, np.uint64)) == 7).all()

    known: list[int] = []
    index = kvs.KeyIndex(Watched(16 * kvs.LINE), 16)
    for key in range(58):
        index.insert(key, 7)
        known.append(key)


@pytest.mark.parametrize("kind", list(ElementType))
def test_reduce(kind: ElementType) -> None:
    random = np.random.default_rng(2)
    for number in range(1, 9):
        if kind in (ElementType.INT32, ElementType.FIXED):
            vectors = random.integers(-(2**31), 2**31, (number, 33)).astype(np.int32)
            exact = vectors.astype(object).sum(axis=0)
            if kind is ElementType.INT32:
                expected = [(int(x) + 2**31) % 2**32 - 2**31 for x in exact]
            else:
                expected = [min(max(int(x), -(2**31)), 2**31 - 1) for x in exact]
        else:
            floats = random.normal(size=(number, 33)).astype(np.float32)
            if kind is ElementType.BFLOAT16:
                vectors = (floats.view(np.uint32) >> 16).astype(np.uint16)
                floats = (vectors.astype(np.uint32) << 16).view(np.float32)
            else:
                vectors = floats
            rows = list(floats)
            while len(rows) > 1:
                rows = [a + b for a, b in zip(rows[::2], [*rows[1::2], np.float32(-0.0)], strict=False)]
            expected = rows[0].tolist()
            if kind is ElementType.BFLOAT16:
                import torch

                expected = torch.from_numpy(rows[0]).bfloat16().view(torch.int16).numpy().view(np.uint16).tolist()
        total = np.frombuffer(reduce.answer(reduce.request(kind, vectors)), reduce.DTYPE[kind])
        assert total.tolist() == expected


def test_reduce_of_special_numbers() -> None:
    def add(*bits: int) -> int:
        return int(reduce.total(ElementType.FLOAT32, np.array([bits], np.uint32).view(np.float32).T).view(np.uint32)[0])

    assert add(0x80000000) == 0x80000000  # -0.0 alone stays
    assert add(0x80000000, 0) == 0
    assert add(0x7F800000, 0xFF800000) == reduce.NAN
    assert add(0xFFC12345, 0x3F800000) == reduce.NAN
    assert add(1, 1) == 2  # subnormal
    assert add(0x7F7FFFFF, 0x7F7FFFFF) == 0x7F800000
    biggest = np.array([[0x7F7F], [0x7F7F]], np.uint16)
    assert reduce.total(ElementType.BFLOAT16, biggest).tolist() == [0x7F80]


@pytest.mark.parametrize(
    "message", [b"", b"\4\1\0\0" + bytes(4), b"\0\0\0\0\0\0\0\0", b"\0\1\0\0\1\0\0\0", b"\0\11\0\0" + bytes(4)]
)
def test_reduce_refuses(message: bytes) -> None:
    with pytest.raises(OfframpError, match=r"^reduce: "):
        reduce.answer(message)


def tables() -> ebs.EbsTables:
    layout = ebs.TableLayout(4, 8, 6)
    filled = ebs.EbsTables(HostMemory(layout.size), layout)
    filled.add_volume(1, 1024, rate=4096, burst=8 * 4096)
    filled.add_volume(2, 600, rate=0, burst=0)
    filled.map(1, 0, server=3, number=0, address=0x10000)
    filled.map(1, 1, server=4, number=5, address=0x900000)
    return filled


def read(filled: ebs.EbsTables, volume: int, start: int, blocks: int, tick: int = 0) -> tuple[ebs.EbsStatus, int, int]:
    outcome, server, address = ebs.ANSWER.unpack(filled.lookup(ebs.REQUEST.pack(volume, blocks, start, tick)))
    return ebs.EbsStatus(outcome), server, address


def test_block_look_ups() -> None:
    filled = tables()
    assert read(filled, 1, 3, 1) == (ebs.EbsStatus.FOUND, 3, 0x10000 + 3 * 4096)
    assert read(filled, 1, 1023, 1) == (ebs.EbsStatus.FOUND, 4, 0x900000 + 511 * 4096)
    assert read(filled, 1, 510, 4)[0] is ebs.EbsStatus.SPLIT
    assert read(filled, 1, 1023, 2)[0] is ebs.EbsStatus.OUT_OF_RANGE
    assert read(filled, 1, 0, 0)[0] is ebs.EbsStatus.OUT_OF_RANGE
    assert read(filled, 1, 2**64 - 1, 2)[0] is ebs.EbsStatus.OUT_OF_RANGE
    assert read(filled, 2, 0, 1)[0] is ebs.EbsStatus.UNMAPPED
    assert read(filled, 0, 0, 1)[0] is ebs.EbsStatus.NO_VOLUME
    assert read(filled, 9, 0, 1)[0] is ebs.EbsStatus.NO_VOLUME


def test_the_bucket_of_a_volume() -> None:
    filled = tables()
    assert read(filled, 1, 0, 8)[0] is ebs.EbsStatus.FOUND  # the whole burst
    assert read(filled, 1, 0, 1)[0] is ebs.EbsStatus.WAIT
    assert read(filled, 1, 0, 1, tick=1)[0] is ebs.EbsStatus.FOUND
    assert read(filled, 1, 0, 1, tick=0)[0] is ebs.EbsStatus.WAIT  # time does not go back
    assert read(filled, 1, 0, 9, tick=10**6)[0] is ebs.EbsStatus.WAIT  # more than a burst never goes
    assert read(filled, 1, 0, 8, tick=2**64 - 1)[0] is ebs.EbsStatus.FOUND


def test_tables_refuse() -> None:
    filled = tables()
    for call in (
        lambda: filled.add_volume(1, 1, 0, 0),
        lambda: filled.add_volume(0, 512 * 9, 0, 0),
        lambda: filled.map(1, 2, 0, 0, 1),
        lambda: filled.map(0, 0, 0, 0, 1),
        lambda: filled.map(1, 0, 0, 6, 1),
        lambda: filled.map(1, 0, 0, 0, 0),
        lambda: filled.lookup(b"short"),
    ):
        with pytest.raises(OfframpError, match=r"^ebs"):
            call()


def test_compression() -> None:
    content = b"offramp" * 1000
    assert compress.decompress(compress.compress(content)) == content
    assert compress.decompress(zlib.compress(content, 9)) == content
    for bad in (b"", b"garbage", compress.compress(content)[:-1], compress.compress(content) + b"x"):
        with pytest.raises(OfframpError, match=r"^decompress: "):
            compress.decompress(bad)
    with pytest.raises(OfframpError, match="hold over"):
        compress.decompress(zlib.compress(bytes(compress.MOST + 1)))
