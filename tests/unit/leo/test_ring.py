"""Rings against a list: order, contents, room; streamed in pieces they mean the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.errors import OfframpError
from offramp.leo.runtime import ring
from offramp.leo.runtime.machine import machine
from offramp.leo.runtime.memory import make_ring, ring_size

SIZE = 4096
F = machine(ring.reserve, ring.publish_ring, ring.front, ring.pass_over, ring.give_back)


def put(words, content):
    place = F["reserve"](words, len(content))
    if place < 0:
        return False
    entry = words[ring.HEADER_WORDS + place // 8 :]
    entry[ring.LENGTH] = len(content)
    entry[5:].view(np.uint8)[: len(content)] = np.frombuffer(content, np.uint8)
    F["publish_ring"](words)
    return True


def take(words):
    place = F["front"](words)
    if place < 0:
        return None
    entry = words[ring.HEADER_WORDS + place // 8 :]
    content = entry[5:].view(np.uint8)[: entry[ring.LENGTH]].tobytes()
    F["pass_over"](words, place)
    F["give_back"](words)
    return content


def stream(source, target, most):
    """What TCP does: published bytes go over in pieces of any size, where there is room."""
    left = min(most, source[ring.HEAD] - source[ring.TAIL], SIZE - (target[ring.HEAD] - target[ring.TAIL]))
    out, into = (w[ring.HEADER_WORDS :].view(np.uint8) for w in (source, target))
    for _ in range(left):
        into[target[ring.HEAD] & SIZE - 1] = out[source[ring.TAIL] & SIZE - 1]
        source[ring.TAIL] += 1
        target[ring.HEAD] += 1


STEPS = st.lists(st.one_of(st.integers(0, 1200), st.just(-1), st.integers(-900, -2)), max_size=120)


@given(STEPS)
@settings(derandomize=True, deadline=None, max_examples=60)
def test_messages_come_out_as_they_went_in(steps):
    words, waiting, serial = make_ring(SIZE), [], 0
    for step in steps:
        if step >= 0:
            content = bytes([serial % 251]) * step
            serial += 1
            if put(words, content):
                waiting.append(content)
            else:
                assert sum(len(c) + 48 for c in waiting) + 2 * (step + 48) > SIZE
        else:
            assert take(words) == (waiting.pop(0) if waiting else None)
    assert [take(words) for _ in waiting] == waiting


@given(STEPS)
@settings(derandomize=True, deadline=None, max_examples=60)
def test_a_copied_stream_means_the_same(steps):
    near, far, waiting, serial = make_ring(SIZE), make_ring(SIZE), [], 0
    for step in steps:
        if step >= 0:
            content = bytes([serial % 251]) * step
            serial += 1
            if put(near, content):
                waiting.append(content)
        elif step == -1:
            found = take(far)
            assert found is None or found == waiting.pop(0)
        else:
            stream(near, far, -step)
    for _ in range(len(waiting)):
        stream(near, far, SIZE)
        assert take(far) == waiting.pop(0)
    stream(near, far, SIZE)
    assert take(far) is None


def test_sizes():
    with pytest.raises(OfframpError, match="ring of 5000 bytes: expected a power of two"):
        make_ring(5000)
    for stride, rows in ((8, 1), (256, 4096), (1 << 18, 64)):
        assert ring_size(stride, rows) >= 3 * (stride + 40)
