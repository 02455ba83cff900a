# SPDX-License-Identifier: Apache-2.0
"""The cost of one decision of LEO's selector, and the three ways to solve the k-step program, in one run."""

from __future__ import annotations

import pytest

from offramp_sim.reproduce.leo.design import overheads

pytestmark = pytest.mark.bench


def test_a_decision_costs_less_than_the_thesis_allows() -> None:
    result = overheads(1.0, 0)
    for comparison in result.comparisons:
        print(f"{comparison.what}: {comparison.ours}")  # noqa: T201
    assert result.data["native_ns"] < 150
    assert result.data["python_ns"] < 1500
    assert result.data["native_ns"] * 1000 < min(result.data["highs_ms"].values()) * 1e6
