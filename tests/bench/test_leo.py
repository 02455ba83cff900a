# SPDX-License-Identifier: Apache-2.0
"""The cost of one decision of LEO's selector, and the three ways to solve the k-step program, in one run."""

from __future__ import annotations

import pytest

from offramp_sim.reproduce.leo.design import overheads

pytestmark = pytest.mark.bench


def test_a_decision_costs_less_than_the_thesis_allows() -> None:
    found = overheads(1.0, 0)
    for comparison in found.comparisons:
        print(f"{comparison.what}: {comparison.ours}")  # noqa: T201
    assert found.data["native_ns"] < 150
    assert found.data["python_ns"] < 1500
    assert found.data["native_ns"] * 1000 < min(found.data["highs_ms"].values()) * 1e6
