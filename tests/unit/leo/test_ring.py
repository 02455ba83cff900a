# SPDX-License-Identifier: Apache-2.0
"""Rings against a list: order, contents, room; streamed in pieces they mean the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.leo.native.machine import machine
from offramp.leo.native.ring import pack_info, ring_size
from offramp_base.errors import OfframpError
from offramp_base.native import ring
from offramp_base.native.ring_end import make_end, ring_words

SIZE = 4096
F = machine(ring.reserve, ring.publish_ring, ring.front, ring.pass_over, ring.give_back)


def put(end, content):
    place = F["reserve"](end.words, len(content))
    if place < 0:
        return False
    entry = end.content[place // 8 :]
    entry[ring.MessageHeader.length] = len(content)
    entry[5:].view(np.uint8)[: len(content)] = np.frombuffer(content, np.uint8)
    F["publish_ring"](end.words)
    return True


def take(end):
    place = F["front"](end.words)
    if place < 0:
        return None
    content = end.content[place // 8 + 5 :].view(np.uint8)[: end.words[ring.RingEnd.front]].tobytes()
    F["pass_over"](end.words)
    F["give_back"](end.words)
    return content


def pair(size=SIZE, longest=None):
    """Producer and consumer of one ring, and the memory that they share."""
    words = np.zeros(ring_words(size), np.int64)
    return make_end(size, words), make_end(size, words, longest), words


def stream(source, target, most):
    """Deliver as TCP does: published bytes go over in pieces of any size, where there is room."""
    left = min(most, source.head[0] - source.tail[0], SIZE - (target.head[0] - target.tail[0]))
    out, into = (end.content.view(np.uint8) for end in (source, target))
    for _ in range(left):
        into[target.head[0] & SIZE - 1] = out[source.tail[0] & SIZE - 1]
        source.tail[0] += 1
        target.head[0] += 1


STEPS = st.lists(st.one_of(st.integers(0, 1200), st.just(-1), st.integers(-900, -2)), max_size=120)


@given(STEPS)
@settings(derandomize=True, deadline=None, max_examples=60)
def test_messages_come_out_as_they_went_in(steps):
    (near, far, _), waiting, serial = pair(), [], 0
    for step in steps:
        if step >= 0:
            content = bytes([serial % 251]) * step
            serial += 1
            if put(near, content):
                waiting.append(content)
            else:
                assert sum(len(c) + 48 for c in waiting) + 2 * (step + 48) > SIZE
        else:
            assert take(far) == (waiting.pop(0) if waiting else None)
    assert [take(far) for _ in waiting] == waiting


@given(STEPS)
@settings(derandomize=True, deadline=None, max_examples=60)
def test_a_copied_stream_means_the_same(steps):
    near, far, waiting, serial = make_end(SIZE), make_end(SIZE), [], 0
    for step in steps:
        if step >= 0:
            content = bytes([serial % 251]) * step
            serial += 1
            if put(near, content):
                waiting.append(content)
        elif step == -1:
            entry = take(far)
            assert entry is None or entry == waiting.pop(0)
        else:
            stream(near, far, -step)
    for _ in range(len(waiting)):
        stream(near, far, SIZE)
        assert take(far) == waiting.pop(0)
    stream(near, far, SIZE)
    assert take(far) is None


def test_sizes():
    with pytest.raises(OfframpError, match="ring of 5000 bytes: expected a power of two"):
        make_end(5000)
    for stride, rows in ((8, 1), (256, 4096), (1 << 18, 64)):
        assert ring_size(stride, rows) >= 3 * (stride + 40)


def test_a_stream_may_say_that_the_next_entry_is_at_the_beginning():
    """A word of -1, as the format has it."""
    _, far, _ = pair()
    far.words[ring.RingEnd.position] = SIZE - 48
    far.content[(SIZE - 48) // 8] = -1
    far.content[ring.MessageHeader.length] = 3
    far.content[5:6].view(np.uint8)[:3] = list(b"abc")
    far.head[0] = SIZE + 48
    assert take(far) == b"abc"
    assert far.tail[0] == SIZE + 48


def test_an_entry_says_what_it_is_in_fields_of_their_own():
    packed = pack_info(0x1234, 0x56, 0x78, 0x1A, 0x2B, 0x3C)
    assert packed == 0x3C_2B_1A_78_56_1234
