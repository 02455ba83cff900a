# SPDX-License-Identifier: Apache-2.0
"""``ebs.lookup`` in machine code against the one in Python: answers, and what is left in the buckets."""

from __future__ import annotations

import random

import numpy as np
import pytest

from offramp.device import Status
from offramp.leo.devices.software import EBS_LAYOUT, Software
from offramp.leo.functions import ebs
from offramp.leo.native.call import Arguments

U64 = 2**64 - 1


def call(software: Software, message: bytes) -> tuple[int, bytes]:
    """As compiled loops call it."""
    function = software.compiled(ebs.NAME)
    arguments, answer = np.zeros(Arguments.WORDS, np.int64), np.zeros(32, np.uint8)
    asked = np.frombuffer(message + bytes(-len(message) % 8) or bytes(8), np.uint8)
    arguments[[Arguments.message, Arguments.message_bytes]] = asked.ctypes.data, len(message)
    arguments[[Arguments.reply, Arguments.reply_bytes]] = answer.ctypes.data, len(answer)
    arguments[Arguments.own] = function.context.ctypes.data
    native, *_ = function.keep
    status = native(arguments)
    return status, answer[: arguments[Arguments.reply_bytes]].tobytes() if status == Status.OK else b""


@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_model(seed: int) -> None:
    rng = random.Random(seed)
    pair = Software(), Software()
    for software in pair:
        tables = ebs.EbsTables(software.memory(ebs.NAME), ebs.TableLayout(*EBS_LAYOUT))
        drawn = random.Random(seed)
        for volume in range(0, 64, 3):
            blocks = drawn.randrange(1, 4 * ebs.SEGMENT)
            tables.add_volume(volume, blocks, *drawn.choices([0, 1, 4096, 2**20, 2**32 - 1], k=2))
            for segment in range(-(-blocks // ebs.SEGMENT)):
                if drawn.random() < 0.8:
                    number, place = drawn.randrange(2048), drawn.randrange(1, 2**64)
                    tables.map(volume, segment, drawn.randrange(2**32), number, place)
    seen = set()
    for _ in range(3000):
        start = rng.choice([rng.randrange(4 * ebs.SEGMENT), 0, U64, U64 - 8])
        tick = rng.choices([rng.randrange(100), rng.randrange(2**40), U64], [600, 399, 1])[0]
        count = rng.choice([0, 1, 1, 16, ebs.SEGMENT, 2**32 - 1])
        message = ebs.REQUEST.pack(rng.randrange(70), count, start, tick)
        status, answer = pair[0].call(ebs.NAME, message)
        assert (int(status), answer) == call(pair[1], message)
        seen.add(ebs.ANSWER.unpack(answer)[0])
    assert seen == {int(outcome) for outcome in ebs.EbsStatus}
    assert bytes(pair[0].memory(ebs.NAME).view) == bytes(pair[1].memory(ebs.NAME).view)


def test_other_lengths_are_no_requests() -> None:
    for length in (0, 8, 23, 25):
        assert call(Software(), bytes(length)) == (Status.BAD_LENGTH, b"")
