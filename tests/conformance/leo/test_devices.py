# SPDX-License-Identifier: Apache-2.0
"""Duties of every device (:mod:`offramp.device`), whatever is behind it. A kind that is missing here skips."""

from __future__ import annotations

import struct
import time
import zlib

import numpy as np
import pytest

from leo_devices import DEVICES, opened
from offramp.device import Status
from offramp.leo.functions import compress, ebs, kvs, reduce
from offramp_base.errors import OfframpError


@pytest.fixture(params=DEVICES, ids=lambda text: text.replace(":", "-"))
def device(request):
    with opened(request.param) as opened_device:
        yield opened_device


def needs(device, function):
    if function not in device.functions:
        pytest.skip(f"{device.name} has no {function}")


def finish(device, count, limit_s=30.0):
    """So many completions, by number."""
    completions = {}
    limit = time.monotonic() + limit_s
    while len(completions) < count:
        for completion in device.poll():
            assert completion.request not in completions
            completions[completion.request] = completion
        assert time.monotonic() < limit, f"{count - len(completions)} have not ended"
        time.sleep(1e-4)
    return completions


def ask(device, function, *messages):
    """Answers, in the order of the messages."""
    sent = done = 0
    completions = {}
    while done < len(messages):
        while sent < len(messages) and device.submit(function, sent, messages[sent]):
            sent += 1
        completions |= finish(device, sent - done)
        done = sent
    return [(completions[i].status, completions[i].message) for i in range(len(messages))]


def test_it_says_what_it_is(device):
    assert device.name
    assert device.kind in {"cpu", "fpga", "nic", "gpu"}
    assert device.depth >= 1
    assert device.functions


def test_kvs_lookup(device):
    needs(device, kvs.NAME)
    memory = device.memory(kvs.NAME)
    rng = np.random.default_rng(1)
    keys = rng.integers(1, 2**62, 40).tolist()
    index = kvs.KeyIndex(memory, 1 << (memory.size // kvs.LINE).bit_length() - 1)
    for i, key in enumerate(keys[:32]):
        index.insert(key, 64 * (i + 1))
    answers = ask(device, kvs.NAME, *(struct.pack("<Q", key) for key in keys))
    assert answers == [(Status.OK, struct.pack("<Q", 64 * (i + 1) if i < 32 else 0)) for i in range(40)]
    assert ask(device, kvs.NAME, b"short") == [(Status.BAD_LENGTH, b"")]


def test_ebs_lookup(device):
    needs(device, ebs.NAME)
    from offramp.leo.devices.software import EBS_LAYOUT

    tables = ebs.EbsTables(device.memory(ebs.NAME), ebs.TableLayout(*EBS_LAYOUT))
    tables.add_volume(3, 1024, 1000, 1 << 20)
    tables.map(3, 1, 7, 5, 1 << 30)
    requests = [(3, 16, 520, 0), (3, 1, 0, 0), (4, 1, 0, 0), (3, 257, 512, 0)]
    answers = [ebs.ANSWER.unpack(a) for _, a in ask(device, ebs.NAME, *(ebs.REQUEST.pack(*r) for r in requests))]
    outcomes = [ebs.EbsStatus(a[0]).name for a in answers]
    assert outcomes == ["FOUND", "UNMAPPED", "NO_VOLUME", "WAIT"]
    assert answers[0][1:] == (7, (1 << 30) + 8 * 4096)


@pytest.mark.parametrize("kind", list(reduce.ElementType))
def test_reduce_is_the_models_to_the_bit(device, kind):
    needs(device, reduce.NAME)
    rng = np.random.default_rng(int(kind))
    raw = rng.integers(-(2**31), 2**31, (5, 64)).astype(np.int32)
    dtype = reduce.DTYPE[kind]
    vectors = raw.astype(np.uint32).astype(dtype) if dtype.itemsize == 2 else raw.view(dtype)
    message = reduce.request(kind, vectors)
    assert ask(device, reduce.NAME, message) == [(Status.OK, reduce.answer(message))]
    nine = reduce.HEADER.pack(kind, reduce.MOST + 1, 0, 0)
    assert ask(device, reduce.NAME, nine) == [(Status.BAD_LENGTH, b"")]


def test_compression_comes_back(device):
    needs(device, compress.COMPRESS)
    needs(device, compress.DECOMPRESS)
    content = b"".join(struct.pack("<I", i * i) for i in range(5000))
    ((status, packed),) = ask(device, compress.COMPRESS, content)
    assert status is Status.OK
    assert zlib.decompress(packed) == content
    assert ask(device, compress.DECOMPRESS, packed) == [(Status.OK, content)]
    assert ask(device, compress.DECOMPRESS, b"no zlib") == [(Status.FAILED, b"")]


def test_an_unknown_function_is_an_answer(device):
    assert ask(device, "nothing", b"x") == [(Status.UNKNOWN_FUNCTION, b"")]


def test_a_message_may_be_reused_and_a_full_queue_takes_nothing(device):
    """The sum of one vector is itself."""
    buffer = bytearray(reduce.request(reduce.ElementType.INT32, np.zeros((1, 2), np.int32)))
    at = len(buffer) - 8
    sent = 0
    for i in range(device.depth):
        struct.pack_into("<Q", buffer, at, i)
        sent += device.submit(reduce.NAME, i, buffer)
    assert sent >= 1
    buffer[at:] = b"overlaid"
    completions = finish(device, sent)
    assert [completions[i].message for i in range(sent)] == [struct.pack("<Q", i) for i in range(sent)]


def test_a_reset_aborts_everything_once_and_tables_stay(device):
    function = device.functions[0]
    sent = 0
    while sent < 8 and device.submit(function, sent, bytes(8)):
        sent += 1
    device.reset()
    completions = finish(device, sent)
    assert set(completions) == set(range(sent))
    assert all(c.message == b"" for c in completions.values() if c.status is Status.ABORTED)
    assert device.submit(function, 99, bytes(8))
    assert finish(device, 1)[99].status is not Status.ABORTED


def test_a_closed_device_takes_nothing(device):
    device.close()
    device.close()
    with pytest.raises(OfframpError):
        device.submit(device.functions[0], 1, b"")


def test_memory_has_bounds(device):
    tables = [f for f in device.functions if f in (kvs.NAME, ebs.NAME)]
    if not tables:
        pytest.skip(f"{device.name} has no function with tables")
    memory = device.memory(tables[0])
    with pytest.raises(OfframpError):
        memory.read(memory.size - 4, 8)
    with pytest.raises(OfframpError):
        memory.write(-1, b"x")
    with pytest.raises(OfframpError):
        device.memory("nothing")
