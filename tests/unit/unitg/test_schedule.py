# SPDX-License-Identifier: Apache-2.0
"""U2, U4 and U10: order, golden windows, uneven stages, the auto scheduler's borders."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.unitg.schedule import Op, PipelinePosition, automatic_microbatches, split_layers
from offramp.unitg.timetable import timetable
from offramp_base.errors import OfframpError

F, B = False, True


def test_forward_then_backward() -> None:
    assert PipelinePosition(1, 4, 3).order() == [Op(F, 0), Op(F, 1), Op(F, 2), Op(B, 0), Op(B, 1), Op(B, 2)]


def test_golden_windows() -> None:
    """Specification, section 3.3: P = M = 4, forward 1, backward 2."""
    table = timetable([1] * 4, [2] * 4, 4)
    assert table.makespan == 21
    assert [table.busy(stage) for stage in range(4)] == [12] * 4
    assert [table.windows(stage) for stage in range(4)] == [
        [(4, 13)],
        [(0, 1), (5, 11), (19, 21)],
        [(0, 2), (6, 9), (17, 21)],
        [(0, 3), (15, 21)],
    ]


@pytest.mark.parametrize(
    ("stages", "microbatches", "makespan", "bubble"),
    [(4, 4, 21, 42.9), (4, 2, 15, 60), (4, 1, 12, 75), (2, 2, 9, 33.3), (4, 8, 33, 27.3), (8, 4, 33, 63.6)],
)
def test_golden_makespans(stages: int, microbatches: int, makespan: float, bubble: float) -> None:
    table = timetable([1] * stages, [2] * stages, microbatches)
    assert table.makespan == makespan
    assert round(100 * table.bubble(), 1) == bubble


@settings(derandomize=True, deadline=None)
@given(st.integers(1, 8), st.integers(1, 16), st.integers(1, 9), st.integers(1, 9))
def test_equal_stages(stages: int, microbatches: int, forward: int, backward: int) -> None:
    table = timetable([forward] * stages, [backward] * stages, microbatches)
    assert table.bubble() == pytest.approx((stages - 1) / (microbatches + stages - 1))
    for stage in range(stages):
        assert [span.op for span in table.spans[stage]] == PipelinePosition(stage, stages, microbatches).order()
        assert table.live(stage) == microbatches
        idle = sum(end - start for start, end in table.windows(stage))
        assert idle == pytest.approx(table.makespan - table.busy(stage))


@settings(derandomize=True, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=6),
    st.integers(1, 6),
    st.sampled_from([0.0, 0.5, 3.0]),
)
def test_nothing_starts_before_its_input(stages: list[tuple[int, int]], microbatches: int, transfer: float) -> None:
    table = timetable([f for f, _ in stages], [b for _, b in stages], microbatches, transfer)
    at = [{span.op: span for span in stage} for stage in table.spans]
    for stage in range(len(stages) - 1):
        for m in range(microbatches):
            assert at[stage + 1][Op(F, m)].start >= at[stage][Op(F, m)].end + transfer
            assert at[stage][Op(B, m)].start >= at[stage + 1][Op(B, m)].end + transfer
    for spans in table.spans:
        assert all(a.end <= b.start for a, b in itertools.pairwise(spans))


def test_borders_of_bubbles() -> None:
    """Specification, section 3.6: the four lines of the border list."""
    for stages in (1, 2, 4):
        for stage in range(stages):
            place = PipelinePosition(stage, stages, 3)
            pauses = [op for op in place.order() if place.pauses_before(op)]
            resumes = [op for op in place.order() if place.resumes_after(op)]
            assert pauses == [Op(F, 0)] * (stage != 0) + [Op(B, 0)] * (stage != stages - 1)
            assert resumes == [Op(F, 2)] * (stage != stages - 1) + [Op(B, 2)] * (stage != 0)


@pytest.mark.parametrize(
    ("layers", "stages", "lengths"), [(8, 4, [2] * 4), (7, 3, [3, 2, 2]), (5, 1, [5]), (3, 3, [1] * 3)]
)
def test_layers_of_stages(layers: int, stages: int, lengths: list[int]) -> None:
    layers_by_stage = split_layers(layers, stages)
    assert [len(own) for own in layers_by_stage] == lengths
    assert [number for own in layers_by_stage for number in own] == list(range(1, layers + 1))


@pytest.mark.parametrize(
    ("vertices", "microbatches"),
    [(9_999, 16), (10_000, 8), (49_999, 8), (50_000, 4), (10**6, 4)],
)
def test_auto_scheduler(vertices: int, microbatches: int) -> None:
    assert automatic_microbatches(vertices, 64) == microbatches
    assert automatic_microbatches(vertices, 2) == 2


@pytest.mark.parametrize("numbers", [([], [], 1), ([1], [1], 0), ([1, 1], [1], 2), ([-1.0], [1], 1)])
def test_bad_pipelines(numbers: tuple[list[float], list[float], int]) -> None:
    with pytest.raises(OfframpError, match=r"^pipeline"):
        timetable(*numbers) if numbers[0] else timetable([1.0][:0], [], 1)
