# SPDX-License-Identifier: Apache-2.0
"""Requests of every function with the answers of the Python models, seeded."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np

from nic_agent import Vector
from offramp.device import Status
from offramp.leo.functions import ebs, features, kvs, reduce, sylvie
from offramp.leo.memory import HostMemory
from offramp.nic.wire import NicFunction
from offramp_base.errors import OfframpError

SPECIAL = np.array(
    [0, 1, 2**31 - 1, 2**31, 2**32 - 1, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0x00000001, 0x80000001],
    np.uint32,
)


def all_vectors(seed: int) -> Iterator[Vector]:
    """Those of all functions."""
    rng = np.random.default_rng(seed)
    yield from kvs_vectors(rng)
    yield from ebs_vectors(rng)
    yield from reduce_vectors(rng)
    yield from sylvie_vectors(rng)
    yield from feature_vectors(rng)
    yield Vector(NicFunction.ECHO, Status.OK, b"abc", b"abc")
    yield Vector(NicFunction.ECHO, Status.OK, b"")
    yield Vector(NicFunction.COMPRESS, Status.UNKNOWN_FUNCTION, b"")  # which needs a device of DPDK's


def kvs_vectors(rng: np.random.Generator, buckets: int = 16) -> Iterator[Vector]:
    memory = HostMemory(buckets * kvs.LINE)
    index = kvs.KeyIndex(memory, buckets)
    keys = rng.integers(0, 2**64, 50, dtype=np.uint64).tolist()
    for key in [0, 2**64 - 1, *keys[:40]]:
        index.insert(key, int(rng.integers(1, 2**63)))
    index.remove(keys[3])
    table = memory.read(0, memory.size)
    for key in [0, 2**64 - 1, *keys]:
        answer = struct.pack("<Q", index.lookup(key))
        message = struct.pack("<Q", key)
        yield Vector(NicFunction.KVS_LOOKUP, Status.OK, message, answer, table, table, (buckets, 0, 0, 0))
    for message in (b"", bytes(7), bytes(9)):
        yield Vector(NicFunction.KVS_LOOKUP, Status.BAD_LENGTH, message, b"", table, table, (buckets, 0, 0, 0))
    yield Vector(NicFunction.KVS_LOOKUP, Status.OUT_OF_BOUNDS, bytes(8))


def ebs_vectors(rng: np.random.Generator) -> Iterator[Vector]:
    layout = ebs.TableLayout(5, 40, 30)
    memory = HostMemory(layout.size)
    tables = ebs.EbsTables(memory, layout)
    for volume, blocks in enumerate((1, 512, 513, 6000)):
        tables.add_volume(volume, blocks, int(rng.integers(0, 5000)), int(rng.integers(0, 2**32)))
        for segment in range(0, -(-blocks // 512), 2):
            tables.map(volume, segment, int(rng.integers(2**32)), int(rng.integers(30)), int(rng.integers(1, 2**63)))
    sizes = (0, layout.volumes, layout.entries, layout.segments)
    for _ in range(200):
        before = memory.read(0, memory.size)
        blocks = int(rng.choice([0, 1, 2, 511, 512, 513, 2**32 - 1]))
        start = (0, 1, 511, 512, 1023, 5999, 2**64 - 1, int(rng.integers(6000)))[rng.integers(8)]
        message = ebs.REQUEST.pack(int(rng.integers(6)), blocks, start, (0, 5, 10**6, 2**64 - 1)[rng.integers(4)])
        answer = tables.lookup(message)
        yield Vector(NicFunction.EBS_LOOKUP, Status.OK, message, answer, before, memory.read(0, memory.size), sizes)
    table = memory.read(0, memory.size)
    yield Vector(NicFunction.EBS_LOOKUP, Status.BAD_LENGTH, bytes(23), b"", table, table, sizes)


def feature_vectors(rng: np.random.Generator, shape: tuple[int, int] = (30, 20)) -> Iterator[Vector]:
    x = rng.standard_normal(shape).astype(np.float32)
    table, sizes = x.tobytes(), (0, *shape, 0)
    for _ in range(40):
        rows = rng.integers(0, shape[0], int(rng.integers(0, 50)))
        columns = None if rng.random() < 0.2 else np.sort(rng.choice(shape[1], int(rng.integers(1, 20)), replace=False))
        message = features.request(rows, columns)
        yield Vector(NicFunction.FEATURES_SELECT, Status.OK, message, features.answer(x, message), table, table, sizes)
    good = features.request(np.arange(3), np.arange(2))
    for message in (b"", good[:7], good[:-1], good + bytes(4), struct.pack("<II", 2**32 - 1, 2**32 - 1)):
        yield Vector(NicFunction.FEATURES_SELECT, Status.BAD_LENGTH, message, b"", table, table, sizes)
    for rows, columns in (
        (np.array([1, 30]), np.arange(2)),
        (np.arange(2), np.array([20])),
        (np.array([2**32 - 1]), None),
    ):
        message = features.request(rows, columns)
        yield Vector(NicFunction.FEATURES_SELECT, Status.OUT_OF_BOUNDS, message, b"", table, table, sizes)


def reduce_vectors(rng: np.random.Generator) -> Iterator[Vector]:
    for kind in reduce.ElementType:
        for count in (0, 1, 7, 16, 33, 130):
            vectors = int(rng.integers(1, 9))
            words = rng.integers(0, 2**32, (vectors, count), dtype=np.uint32)
            words = np.where(rng.random(words.shape) < 0.3, rng.choice(SPECIAL, words.shape), words)
            if kind is reduce.ElementType.FLOAT32 and count == 33:  # sums that round, without specials
                words = rng.standard_normal((vectors, count)).astype(np.float32).view(np.uint32)
            x = words.astype(np.uint32).view(np.uint16)[:, ::2] if kind is reduce.ElementType.BFLOAT16 else words
            message = reduce.request(kind, np.ascontiguousarray(x).view(reduce.DTYPE[kind]))
            yield Vector(NicFunction.REDUCE, Status.OK, message, reduce.answer(message))
    good = reduce.request(reduce.ElementType.INT32, np.zeros((2, 3), np.int32))
    for bad in (
        b"",
        good[:-1],
        good + b"\0",
        b"\4" + good[1:],
        good[:1] + b"\0" + good[2:],
        good[:2] + b"\1" + good[3:],
    ):
        yield Vector(NicFunction.REDUCE, Status.BAD_LENGTH, bad)


def sylvie_vectors(rng: np.random.Generator) -> Iterator[Vector]:
    for bits in sylvie.BITS:
        for compact in (False, True):
            for rows, columns in ((1, 1), (3, 31), (5, 32), (4, 33), (2, 100)):
                x = (rng.standard_normal((rows, columns)) * 10.0 ** rng.integers(-30, 30)).astype(np.float32)
                x[0] = x[0, 0]  # a constant row
                numbers = rng.integers(0, 2**40, rows)
                seed = int(rng.integers(0, 2**64, dtype=np.uint64))
                message = sylvie.quantise_request(x, numbers, bits, seed, compact=compact)
                answer = sylvie.quantise(message)
                yield Vector(NicFunction.QUANTISE, Status.OK, message, answer)
                back = sylvie.dequantise_request(answer, rows, columns, bits)
                yield Vector(NicFunction.DEQUANTISE, Status.OK, back, sylvie.dequantise(back))
    for value in (np.nan, np.inf, np.float32(3e38)):
        x = np.array([[1.0, value, -3e38]], np.float32)
        message = sylvie.quantise_request(x, np.zeros(1, np.int64), 4, 1)
        yield _refused(NicFunction.QUANTISE, Status.FAILED, message)
    good = sylvie.quantise_request(np.ones((2, 3), np.float32), np.arange(2), 4, 1)
    for bad in (b"", good[:-1], good + b"\0", b"\3" + good[1:], good[:1] + b"\2" + good[2:]):
        yield _refused(NicFunction.QUANTISE, Status.BAD_LENGTH, bad)


def _refused(function: NicFunction, status: Status, message: bytes) -> Vector:
    """Whether the model refuses it, too."""
    try:
        sylvie.quantise(message)
    except OfframpError:
        return Vector(function, status, message)
    raise AssertionError("the model takes it")
