# SPDX-License-Identifier: Apache-2.0
"""The run-time system's own functions against plain Python."""

from __future__ import annotations

import ctypes
import random
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp_base.native.arrays import address
from offramp_base.native.compiler import MachineCode
from offramp_base.native.llvm import AliasTags, ll
from offramp_base.native.lowering import RuntimeLibrary
from offramp_base.native.records import offset
from offramp_p4.native.runtime import bits, checksums, division, hashtable, meters, randomness
from offramp_p4.native.runtime import context as at
from offramp_p4.native.state.context import SwitchContext
from offramp_p4.native.state.hashtable import HashTable, as_words
from offramp_p4.state import MeterCell
from offramp_p4.v1model import hashing

FUNCTIONS = [
    bits.copy_bits,
    bits.clear_tail,
    checksums.crc16,
    checksums.crc32,
    checksums.csum16,
    checksums.xor16,
    checksums.identity,
    division.divide,
    hashtable.lookup,
    meters.execute_meter,
    randomness.draw_between,
]


@cache
def code() -> MachineCode:
    module = ll.Module("test")
    library = RuntimeLibrary(module, AliasTags(module))
    for function in FUNCTIONS:
        library.function(function, exported=True)
    return MachineCode(str(module))


def call(function: Any, *args: int) -> int:
    result = None if function.__annotations__["return"] == "None" else ctypes.c_int64
    native = code().function(f"rt.{function.__name__}", result, *[ctypes.c_int64] * len(args))
    return native(*args)


def context(seed: int = 0) -> SwitchContext:
    return SwitchContext(at.SwitchMemory.WORDS + at.TableRecord.WORDS, 64, seed=seed, drop_port=511, max_passes=1)


@pytest.mark.full
@settings(max_examples=100, deadline=None, derandomize=True)
@given(data=st.binary(max_size=80))
@pytest.mark.parametrize("name", ["crc16", "crc32", "csum16", "xor16", "identity"])
def test_algorithms(name: str, data: bytes) -> None:
    raw = np.frombuffer(data + b"\xff", np.uint8)
    assert call(getattr(checksums, name), context().pointer, address(raw), len(data)) & 0xFFFFFFFFFFFFFFFF == getattr(
        hashing, name, hashing.ALGORITHMS[name]
    )(data)


@pytest.mark.full
@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.binary(min_size=1, max_size=24), st.binary(min_size=1, max_size=24), st.data())
def test_copying_bits(into: bytes, source: bytes, data: st.DataObject) -> None:
    to = data.draw(st.integers(0, 8 * len(into)))
    start = data.draw(st.integers(0, 8 * len(source)))
    count = data.draw(st.integers(0, min(8 * len(into) - to, 8 * len(source) - start)))
    digits = list(f"{int.from_bytes(into, 'big'):0{8 * len(into)}b}")
    digits[to : to + count] = f"{int.from_bytes(source, 'big'):0{8 * len(source)}b}"[start : start + count]
    raw, given_ = np.frombuffer(into, np.uint8).copy(), np.frombuffer(source, np.uint8)
    call(bits.copy_bits, address(raw), to, address(given_), start, count)
    assert raw.tobytes() == int("".join(digits), 2).to_bytes(len(into), "big")


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.binary(min_size=1, max_size=9), st.data())
def test_clearing_the_tail(before: bytes, data: st.DataObject) -> None:
    count = data.draw(st.integers(0, 8 * len(before)))
    raw = np.frombuffer(before + b"\xee", np.uint8).copy()
    call(bits.clear_tail, address(raw), count, len(before))
    kept = int.from_bytes(before, "big") >> (8 * len(before) - count) << (8 * len(before) - count)
    assert raw.tobytes() == kept.to_bytes(len(before), "big") + b"\xee"


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.integers(1, 4), st.data())
def test_long_division(words: int, data: st.DataObject) -> None:
    top = (1 << 64 * words) - 1
    number, divisor = data.draw(st.integers(0, top)), data.draw(st.integers(1, top) | st.integers(1, 9))
    slots = [as_words([n], words).copy() for n in (number, divisor, 0)]
    call(division.divide, *map(address, slots), words)
    assert [int.from_bytes(s.tobytes(), "little") for s in slots] == [number // divisor, divisor, number % divisor]


@pytest.mark.parametrize("words", [1, 2, 5])
def test_hash_table_is_a_dictionary(words: int) -> None:
    rng = random.Random(words)
    ctx = context()
    table, expected = HashTable(ctx, at.SwitchMemory.WORDS, words), dict[int, int]()
    keys = [rng.getrandbits(64 * words) for _ in range(300)]
    for step in range(3000):
        key = rng.choice(keys)
        if rng.random() < 0.6:
            number = rng.randrange(1, 1 << 40)
            table.insert(as_words([key], words), np.array([number]))
            expected[key] = number
        else:
            table.remove(as_words([key], words)[0])
            expected.pop(key, None)
        if step % 50 == 0:
            slots, mask = (
                int(ctx.words[at.SwitchMemory.WORDS + offset(at.TableRecord.slots)]),
                int(ctx.words[at.SwitchMemory.WORDS + at.TableRecord.mask]),
            )
            for k in keys:
                assert call(hashtable.lookup, slots, mask, address(as_words([k], words)), words) == expected.get(k, 0)
    assert mask < 4 * len(keys)  # slots of removed keys are used again


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.integers(0, 2**70), st.lists(st.tuples(st.integers(0, 2**61), st.integers(0, 2**62)), max_size=30))
def test_random_numbers_are_python_s(seed: int, ranges: list[tuple[int, int]]) -> None:
    ctx, python = context(seed), random.Random(seed)
    for low, size in ranges:
        assert call(randomness.draw_between, ctx.pointer, low, low + size) == python.randint(low, low + size)


RATES = st.tuples(st.floats(0, 1e9), st.integers(0, 10**6))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.sampled_from([0, 1, 2]), RATES, RATES, st.lists(st.tuples(st.integers(0, 10**7), st.integers(1, 2000))))
def test_meters(
    buckets: int, committed: tuple[float, int], peak: tuple[float, int], packets: list[tuple[int, int]]
) -> None:
    from offramp_p4.native.state.arrays import NativeMeterCell

    ctx, row = context(), np.zeros(at.Meter.WORDS, np.int64)
    cell, native = MeterCell(), NativeMeterCell(row)
    for each in (cell, native):
        each.configure((committed, peak)[:buckets], 5)
    now_us = 5
    for pause_us, amount in packets:
        now_us += pause_us
        ctx.words[at.SwitchMemory.now_us] = now_us
        assert call(meters.execute_meter, ctx.pointer, address(row), amount) == cell.execute(amount, now_us)
        assert (list(native.levels), native.last_us) == (cell.levels, cell.last_us)
