# SPDX-License-Identifier: Apache-2.0
"""The specification's makespans and iteration times (sections 2 and 12). Blind to what its own simulator leaves out."""

from __future__ import annotations

import pytest

from mini_pipeline import mini, run

POLICIES = ("fair", "fifo", "lina", "dp-first", "pp-first", "ep-first", "type", "ep-pp-dp", "hermod")


@pytest.mark.parametrize("policy", POLICIES)
def test_without_communication_an_iteration_is_the_pipeline_alone(policy: str) -> None:
    assert run(mini(4, 2, 8, 0, 0, 0, 0), policy).iteration_ends == (132, 264, 396)


@pytest.mark.parametrize(
    ("ep", "policy", "ends"),
    [
        (0, "fair", (19.5, 40.5)),
        (0, "fifo", (19.5, 40.5)),
        (0, "dp-first", (20.5, 42.5)),
        (0, "pp-first", (19.0, 39.5)),
        (0, "hermod", (19.0, 39.5)),
        (0.25, "fair", (22.5, 46.5)),
        (0.25, "dp-first", (23.5, 48.5)),
        (0.25, "hermod", (22.0, 45.5)),
    ],
)
def test_two_stages_end_when_the_specification_says(ep: float, policy: str, ends: tuple[float, float]) -> None:
    assert run(mini(2, 1, 2, 0.5, 1, 0.5, ep), policy, 2).iteration_ends == pytest.approx(ends, abs=1e-9)


@pytest.mark.parametrize(
    ("sizes", "fair", "gains"),
    [
        ((2, 8, 4, 0), 196, {"fifo": 0.970, "dp-first": 0.803, "pp-first": 1.065, "type": 1.065, "hermod": 1.077}),
        ((1, 8, 4, 0), 174, {"fifo": 0.951, "dp-first": 0.763, "pp-first": 1.036, "type": 1.036, "hermod": 1.048}),
        ((0.5, 4, 2, 0), 151, {"fifo": 1.0, "dp-first": 0.878, "pp-first": 1.020, "type": 1.020, "hermod": 1.034}),
    ],
)
def test_dense_pipelines_gain_what_the_specification_found(
    sizes: tuple[float, ...], fair: float, gains: dict[str, float]
) -> None:
    base = run(mini(4, 2, 8, *sizes), "fair").iteration_s
    assert base == pytest.approx(fair, abs=1e-6)
    for policy, gain in gains.items():
        assert base / run(mini(4, 2, 8, *sizes), policy).iteration_s == pytest.approx(gain, abs=5e-4), policy


@pytest.mark.parametrize("sizes", [(2, 8, 4, 0), (0.5, 4, 2, 0)])
def test_priority_for_experts_changes_nothing_without_experts(sizes: tuple[float, ...]) -> None:
    fair = run(mini(4, 2, 8, *sizes), "fair")
    assert run(mini(4, 2, 8, *sizes), "ep-first").end.tolist() == fair.end.tolist()
    assert run(mini(4, 2, 8, *sizes), "lina").end.tolist() == fair.end.tolist()


@pytest.mark.parametrize("sizes", [(1, 4, 2, 1.5), (1, 6, 3, 0.8), (0.5, 3, 1.5, 0.3)])
def test_on_experts_the_signs_are_those_of_table_5_2(sizes: tuple[float, ...]) -> None:
    fair = run(mini(4, 2, 8, *sizes), "fair").iteration_s
    assert fair < run(mini(4, 2, 8, *sizes), "dp-first").iteration_s
    for policy in ("pp-first", "type", "hermod"):
        assert run(mini(4, 2, 8, *sizes), policy).iteration_s < fair, policy
