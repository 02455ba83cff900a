# SPDX-License-Identifier: Apache-2.0
"""Messages: round trips, sizes to the byte (S18), a change of width in flight (S16), refusals with `out` as it was."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offramp.sylvie import model
from offramp.sylvie.message import Label, MessageLayout, message_bytes, read_label
from offramp.sylvie.widths import BASES, candidates, joint_widths
from offramp_base.errors import OfframpError

LABEL = Label(epoch=7, layer=2, direction=0, src=3, dst=1)


def example(seed: int, rows: int, columns: int, base: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows + 5, columns)).astype(np.float32)
    return x, rng.permutation(rows + 5)[:rows], joint_widths(rng.random(rows), base)


@pytest.mark.parametrize("rows", [[0, 5], [-1, 0], [-6, 1]])
def test_rows_outside_are_refused_and_nothing_is_written(rows: list[int]) -> None:
    x = np.ones((5, 3), np.float32)
    layout = MessageLayout(np.array([2, 2], np.uint8), 3, 2)
    message = layout.encode(x, np.array([0, 4]), LABEL, 1)
    out = np.full((5, 3), 7, np.float32)
    with pytest.raises(OfframpError, match=r"^rows: expected numbers from 0 to 4$"):
        layout.decode(message, LABEL, out, np.array(rows))
    assert (out == 7).all()
    layout.decode(message, LABEL, out, np.array([0, 4]))
    assert (out[[0, 4]] == 1).all()


@given(
    base=st.sampled_from(BASES),
    rows=st.integers(0, 40),
    columns=st.integers(1, 70),
    compact=st.booleans(),
    add=st.booleans(),
    seed=st.integers(0, 99),
)
def test_round_trip_in_order_of_the_rows(base, rows, columns, compact, add, seed):
    x, chosen, widths = example(seed, rows, columns, base)
    layout = MessageLayout(widths, columns, base, compact=compact)
    message = layout.encode(x, chosen, LABEL, seed)
    assert len(message) == layout.size == message_bytes(layout.counts, columns, base, compact=compact)
    assert read_label(message) == (LABEL, base)
    to = np.random.default_rng(seed + 1).permutation(rows + 9)[:rows]
    out = np.full((rows + 9, columns), np.float32(2))
    layout.decode(message, LABEL, out, to, add=add)
    expected = np.full_like(out, 2)
    for bits in set(widths.tolist()):
        at = np.flatnonzero(widths == bits)
        values = x[chosen[at]]
        if bits != 32:
            least, greatest, _ = model.bounds(values, compact)
            codes = model.codes(values, chosen[at], bits, seed, least, greatest)
            values = model.values(codes, bits, least, greatest)
        expected[to[at]] = expected[to[at]] + values if add else values
    assert out.tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    ("bits", "compact", "ratio"),
    [(1, True, 28.4), (2, True, 15.1), (4, True, 7.8), (8, True, 3.9), (1, False, 25.6)],
)
def test_bytes_of_a_row_of_256(bits, compact, ratio):
    empty, one = (
        message_bytes([count, *[0] * (len(candidates(bits)) - 1)], 256, bits, compact=compact) for count in (0, 1)
    )
    assert 256 * 4 / (one - empty) == pytest.approx(ratio, abs=0.06)


def test_one_bit_at_128_columns_is_twenty_times_smaller_with_all_metadata():
    for compact in (False, True):
        layout = MessageLayout(np.ones(200, np.uint8), 128, 1, compact=compact)
        assert 200 * 128 * 4 / layout.size >= 20


def test_golden_bytes():
    layout = MessageLayout(np.array([4, 2], np.uint8), 3, 2)
    x = np.array([[0, 15, 15], [3, 3, 0]], np.float32)
    head = "53594c5600000007000200020003000100000300" + "00000001" * 2 + "00000000"
    bounds = np.array([0, 3, 0, 15], "<f4").tobytes().hex()  # the row of 2 bits comes first
    assert layout.encode(x, None, LABEL, 0).tobytes().hex() == head + bounds + "0f" + "f00f"


def test_a_message_goes_by_the_base_that_it_carries():
    x, chosen, _ = example(1, 30, 16, 1)
    p = np.random.default_rng(4).random(30)
    tables = {base: MessageLayout(joint_widths(p, base), 16, base) for base in BASES}
    message = tables[2].encode(x, chosen, LABEL, 5)  # sent at 2 bits; by now the epoch's base is 4
    out = np.zeros_like(x)
    with pytest.raises(OfframpError, match="expected base width 4, got 2"):
        tables[4].decode(message, LABEL, out, chosen)
    label, base = read_label(message)
    tables[base].decode(message, label, out, chosen)
    assert np.abs(out[chosen] - x[chosen]).max() < np.ptp(x, axis=1).max() / 3


def refused(message: np.ndarray, layout: MessageLayout, label: Label = LABEL) -> str:
    out = np.full((30, 16), np.float32(4))
    with pytest.raises(OfframpError) as error:
        layout.decode(message, label, out, None)
    assert (out == 4).all()
    text = str(error.value)
    assert "\n" not in text
    return text


def test_wrong_messages_are_refused_with_one_line():
    x, _, widths = example(2, 25, 16, 1)
    x = x[:30]
    widths = np.resize(widths, 30)
    layout = MessageLayout(widths, 16, 1)
    message = layout.encode(x, None, LABEL, 0)
    assert refused(message, layout, LABEL._replace(epoch=8)) == (
        "expected features of layer 2, epoch 8, from rank 3 to rank 1, "
        "got features of layer 2, epoch 7, from rank 3 to rank 1"
    )
    assert "gradients of layer 2" in refused(message, layout, LABEL._replace(direction=1))
    assert "bytes, got" in refused(message[:-1], layout)
    assert "bytes, got" in refused(np.append(message, np.uint8(0)), layout)
    assert "got 19 bytes" in refused(message[:19], layout)
    assert "cut off in its header" in refused(message[:25], layout)
    assert refused(np.zeros(200, np.uint8), layout) == "message: not one of Sylvie's boundary rows"
    assert "not those of the receiver's table" in refused(message, MessageLayout(np.full(30, 2, np.uint8), 16, 1))
    assert "not those of the receiver's table" in refused(message, MessageLayout(widths, 16, 1, compact=True))
    damaged = message.copy()
    damaged[layout.header + 3] = damaged[layout.header + 2] = 0xFF
    assert "bounds that are not numbers" in refused(damaged, layout)


def test_random_bytes_never_get_through():
    layout = MessageLayout(np.full(30, 2, np.uint8), 16, 2)
    rng = np.random.default_rng(0)
    good = layout.encode(rng.normal(size=(30, 16)).astype(np.float32), None, LABEL, 0)
    for _ in range(300):
        message = good.copy()
        at = rng.integers(0, layout.header)
        message[at] ^= rng.integers(1, 256)
        refused(message, layout)
        refused(rng.integers(0, 256, rng.integers(0, 300)).astype(np.uint8), layout)


@pytest.mark.parametrize("base", BASES)
def test_workers_without_common_rows(base):
    nothing = np.zeros((0, 8), np.float32)
    layout = MessageLayout(np.zeros(0, np.uint8), 8, base)
    message = layout.encode(nothing, None, LABEL, 0)
    assert len(message) == layout.size == layout.header
    layout.decode(message, LABEL, nothing, None)


def test_layouts_that_cannot_be():
    with pytest.raises(OfframpError, match="width 1: expected one of 2, 4, 8 with base 2"):
        MessageLayout(np.array([1, 2], np.uint8), 4, 2)
    with pytest.raises(OfframpError, match="columns 0"):
        MessageLayout(np.array([1], np.uint8), 0, 1)
    with pytest.raises(OfframpError, match="x: expected 1 rows of 4 columns, got 2 of 4"):
        MessageLayout(np.array([1], np.uint8), 4, 1).encode(np.zeros((2, 4), np.float32), None, LABEL, 0)


def test_a_count_for_each_width_is_needed() -> None:
    assert message_bytes((1, 0, 0), 8, 2) > message_bytes((0, 0, 0), 8, 2)
    for counts in ((1,), (1,) * 4):
        with pytest.raises(ValueError, match="argument"):
            message_bytes(counts, 8, 2)
