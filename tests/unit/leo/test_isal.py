# SPDX-License-Identifier: Apache-2.0
"""``isal:``: ISA-L's compression against zlib's, both ways, and what is not a stream."""

from __future__ import annotations

import random
import time
import zlib

import pytest

from offramp.device import Status
from offramp.leo.devices import open_device
from offramp.leo.devices.isal import library
from offramp.leo.functions.compress import MOST, chunk
from offramp.leo.functions.digest import digest
from offramp_base.errors import OfframpError


@pytest.fixture(autouse=True)
def _isal():
    try:
        library()
    except OfframpError as error:
        pytest.skip(str(error))


def call(device, function, message):
    """The answer of a device; its status where it is none."""
    assert device.submit(function, 0, message)
    end = time.monotonic() + 30
    while not (done := device.poll()):
        assert time.monotonic() < end
        time.sleep(0.0005)
    return bytes(done[0].message) if done[0].status is Status.OK else done[0].status


MESSAGES = [b"", b"a", bytes(1 << 20), chunk(70_000, 1), random.Random(1).randbytes(100_001), b"ab" * 33_000]


@pytest.mark.parametrize("level", range(4))
def test_what_it_compresses_zlib_reads_and_the_other_way_round(level):
    device = open_device(f"isal:2,level={level}")
    for message in MESSAGES:
        packed = call(device, "compress", message)
        assert zlib.decompress(packed) == message
        assert call(device, "decompress", packed) == message
        for zlib_level in (0, 1, 9):
            packed = zlib.compress(message, zlib_level)
            assert call(device, "decompress", packed) == message
            assert call(device, "scrub", packed) == digest(message)
    device.close()


def test_what_is_no_stream_is_refused():
    device = open_device("isal:1")
    good = zlib.compress(chunk(5000, 2), 1)
    rng = random.Random(3)
    bad = [b"", b"x", good[:-1], good + b"x", good[:-4] + b"abcd", b"\x78\x20" + good[2:], good[2:]]
    bad += [zlib.compress(bytes(MOST + 1), 9)]
    for _ in range(300):
        content = bytearray(good)
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        bad.append(bytes(content))
    for message in bad:
        try:
            expected = zlib.decompress(message)
        except zlib.error:
            expected = None
        result = call(device, "decompress", message)
        right = expected is not None and len(expected) <= MOST and not _trails(message)
        assert result == (expected if right else Status.FAILED)
    assert call(device, "decompress", zlib.compress(bytes(MOST), 9)) == bytes(MOST)
    device.close()


def _trails(message):
    engine = zlib.decompressobj()
    engine.decompress(message)
    return bool(engine.unused_data)


@pytest.mark.parametrize("level", [-1, 4])
def test_a_level_that_is_none(level):
    with pytest.raises(OfframpError):
        open_device(f"isal:level={level}")
