# SPDX-License-Identifier: Apache-2.0
"""Sums against exact arithmetic, over links that lose, double and delay frames, and switches that are restarted."""

from __future__ import annotations

import numpy as np
import pytest

from allreduce_lab import Star, Tree, equal, lockstep, make
from allreduce_oracle import exact_sum, random_tensor
from offramp.switchgnn.leaf_spine import LeafSpine
from offramp_base.wire.batch import PacketBatch

pytestmark = pytest.mark.p4

TENSORS = [("float32", 300), ("int32", 700), ("float64", 200), ("int64", 130), ("float16", 65), ("uint8", 1)]
TENSORS += [("float32", 0), ("int32", 64)]


def check(run, seed: int, ranks: int, tensors=TENSORS, lanes: int = 64) -> None:
    rng = np.random.default_rng(seed)
    for dtype, count in tensors:
        given = random_tensor(rng, dtype, count, ranks)
        expected = exact_sum(given, lanes, 128)
        arrays = [array.copy() for array in given]
        run.all_reduce(arrays)
        assert all(equal(array, expected) for array in arrays), (dtype, count)


@pytest.mark.parametrize(("ranks", "trouble"), [(1, 0.0), (2, 0.0), (4, 0.1), (3, 0.3)])
def test_every_rank_has_the_exact_sum(switch, ranks: int, trouble: float) -> None:
    check(lockstep(Star(switch, ranks), ranks, trouble), ranks, ranks)


@pytest.mark.full
@pytest.mark.parametrize("seed", [1, 2])
def test_chunks_beyond_the_window_have_exponents_of_their_own(switch, seed: int) -> None:
    tensors = [("float32", 64 * 140 + 5), ("float64", 64 * 70 + 3)]
    check(lockstep(Star(switch, 2), seed, 0.05), seed, 2, tensors)


@pytest.mark.full
@pytest.mark.parametrize("segments", [4, pytest.param(32, marks=pytest.mark.slow)])
def test_packets_of_several_segments(segments: int) -> None:
    star = Star(make("v1model-native", segments), 4)
    check(lockstep(star, 1, 0.1, segments), 1, 4, [("float32", 20_000), ("int64", 3_000)], 64 * segments)


@pytest.mark.full
@pytest.mark.parametrize("at", [3, 9, 30])
def test_a_switch_restarted_in_the_middle_still_gives_the_exact_sum(switch, at: int) -> None:
    star, batches = Star(switch, 3), 0

    def process(batch: PacketBatch) -> PacketBatch:
        nonlocal batches
        batches += 1
        if batches == at:
            star.restart()
        return star.process(batch)

    check(lockstep(star, at, 0.1, process=process), at, 3, [("int32", 9000), ("float32", 9000)])
    assert batches > at


@pytest.mark.parametrize("target", ["v1model-native", "tna-native"])
@pytest.mark.parametrize(("racks", "trouble"), [((0, 0, 1, 1), 0.0), ((0, 0, 0, 1, 2), 0.1)])
def test_two_levels_of_switches(target: str, racks: tuple[int, ...], trouble: float) -> None:
    tree = Tree(lambda: make(target), LeafSpine(racks))
    check(lockstep(tree, 5, trouble), 5, len(racks), TENSORS[:5])


@pytest.mark.full
def test_infinities_and_nans_come_out_where_they_went_in(switch) -> None:
    rng = np.random.default_rng(3)
    given = random_tensor(rng, "float32", 64 * 135, 3)
    for place, values in {5: (np.inf, 1, 2), 70: (np.nan, 0, 0), 64 * 134: (np.inf, -np.inf, 0)}.items():
        for array, value in zip(given, values, strict=True):
            array[place] = value
    expected, arrays = exact_sum(given, 64, 128), [array.copy() for array in given]
    lockstep(Star(switch, 3), 3, 0.1).all_reduce(arrays)
    assert all(equal(array, expected) for array in arrays)
    assert np.isnan(expected[[70, 64 * 134]]).all()
    assert np.isposinf(expected[5])


def test_a_sum_beyond_float32_is_infinite_as_elsewhere(switch) -> None:
    arrays = [np.full(3, 3e38, np.float32) for _ in range(2)]
    lockstep(Star(switch, 2), 1).all_reduce(arrays)
    assert np.isposinf(arrays[0]).all()


def test_chunk_numbers_go_round(switch) -> None:
    last, chunks = 2**32 - 1 - 256 - 20, 600
    first = last - last % 256
    assert first + chunks > 2**32
    run = lockstep(Star(switch, 2), 4, 0.1, first=first)
    tags = switch.registers[next(name for name in switch.registers if name.endswith(".chunk"))]
    for slot in range(256, 512):  # a slot that is empty looks newer to a Tofino than the last 2**31 chunks
        tags.write(slot, last - 300)
    check(run, 4, 2, [("int32", 64 * chunks)])
