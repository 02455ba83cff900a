# SPDX-License-Identifier: Apache-2.0
"""Plans from the cache are the plans that would be made, for the same graph and settings only."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from offramp.graph.boundary import Boundary
from offramp.graph.kept import PLANS, kept_partition
from offramp.graph.load import load
from offramp.graph.partition import PARTITIONERS, partition
from offramp.switchgnn.fingerprint import job_fingerprint
from offramp.switchgnn.planner import Planner
from offramp.train import kept_plans, switch_plans
from offramp.train.kept_plans import DECIDING, kept_exchanges
from offramp.train.planned import plan_run
from offramp.train.settings import TrainSettings
from offramp.train.switch_plans import plan_exchanges, plans_of
from offramp_base import remembered as remembering
from offramp_base.extras import forget_fallbacks

SETTINGS = TrainSettings(
    graph="digits", workers=4, partition="hash", propagator="switch", scheme="hybrid", memory=256_000
)
WIDTHS = (64, 16, 64)


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(remembering, "WORTH_S", -1.0)
    forget_fallbacks()


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The settings for which plans were made."""
    planned_with: list[Any] = []

    def plan(boundary: Boundary, settings: TrainSettings, widths: Any) -> Any:
        planned_with.append(settings)
        return plan_exchanges(boundary, settings, widths)

    monkeypatch.setattr(kept_plans, "plan_exchanges", plan)
    return planned_with


@pytest.fixture(scope="module")
def boundary() -> Boundary:
    graph = load("digits", 0)
    return Boundary(graph, partition(graph, 4, "hash", 0), 4)


@pytest.mark.full
@pytest.mark.parametrize("scheme", ["paper", "auto", "hybrid+balanced", "pairwise+chunk-major", "binned"])
def test_kept_plans_are_the_same(boundary: Boundary, calls: list[Any], scheme: str) -> None:
    settings = replace(SETTINGS, scheme=scheme)
    expected = plan_exchanges(boundary, settings, WIDTHS)
    for _ in range(2):
        exchanges = kept_exchanges(boundary, settings, WIDTHS)
        assert job_fingerprint(plans_of(exchanges)) == job_fingerprint(plans_of(expected))
        for width, expected_plan in expected.items():
            again = exchanges[width]
            assert again.scheme == expected_plan.scheme
            assert np.array_equal(again.hosted, expected_plan.hosted)
            assert again.wire_bytes == expected_plan.wire_bytes
            assert plans_of(exchanges).index(again.plan) == plans_of(expected).index(expected_plan.plan)
    assert len(calls) == 1


@pytest.mark.full
@pytest.mark.parametrize(
    "change",
    [
        {"scheme": "balanced"},
        {"codec": "fixed"},
        {"codec": "q4"},
        {"memory": 128_000},
        {"order": "degree"},
        {"seed": 1},
        {"lanes": "64"},
        {"racks": 2, "scheme": "paper"},
        {"rates": '{"link_bps": 1e9}', "scheme": "auto"},
        {"propagator": "strawman", "scheme": "paper"},
    ],
)
def test_other_settings_have_plans_of_their_own(boundary: Boundary, calls: list[Any], change: dict[str, Any]) -> None:
    usual = replace(SETTINGS, scheme=change["scheme"]) if len(change) == 2 else SETTINGS
    kept_exchanges(boundary, usual, WIDTHS)
    kept_exchanges(boundary, replace(usual, **change), WIDTHS)
    kept_exchanges(boundary, replace(usual, epochs=7, lr=0.5, hidden=8), WIDTHS)
    kept_exchanges(boundary, usual, WIDTHS[:2])
    assert len(calls) == 3


@pytest.mark.full
def test_another_graph_or_partition_has_plans_of_its_own(boundary: Boundary, calls: list[Any]) -> None:
    graph = load("digits", 0)
    kept_exchanges(boundary, SETTINGS, WIDTHS)
    kept_exchanges(Boundary(graph, partition(graph, 4, "hash", 1), 4), SETTINGS, WIDTHS)
    assert len(calls) == 2


@pytest.mark.full
def test_everything_that_planning_asks_of_the_settings_is_in_the_key(boundary: Boundary) -> None:
    asked: set[str] = set()

    class Asked:
        def __init__(self, settings: TrainSettings) -> None:
            self._settings = settings

        def __getattr__(self, name: str) -> Any:
            asked.add(name)
            return getattr(self._settings, name)

    for change in ({}, {"scheme": "paper"}, {"propagator": "strawman"}, {"codec": "q4"}):
        plan_exchanges(boundary, Asked(replace(SETTINGS, **{"scheme": "paper"} | change)), WIDTHS)  # type: ignore[arg-type]
    plan_exchanges(boundary, Asked(SETTINGS), WIDTHS)  # type: ignore[arg-type]
    assert asked <= {*DECIDING, "rates", "plan"}
    assert asked > {"scheme", "memory", "codec", "lanes_to_try"}


@pytest.mark.parametrize(
    ("scheme", "widths", "planned"),
    [("paper", (16, 8), [32]), ("paper", (16, 48), [32, 64]), ("paper", (300,), [32, 64, 128]), ("q8", (100,), [32])],
)
def test_blocks_are_made_only_for_lanes_that_save_packets(
    boundary: Boundary, monkeypatch: pytest.MonkeyPatch, scheme: str, widths: tuple[int, ...], planned: list[int]
) -> None:
    tried: list[int] = []

    def planner(*of: Any) -> Any:
        tried.append(of[-1])
        return Planner(*of)

    monkeypatch.setattr(switch_plans, "Planner", planner)
    plan_exchanges(boundary, replace(SETTINGS, scheme=scheme), widths)
    assert tried == planned


def test_a_run_is_planned_once(calls: list[Any]) -> None:
    graph = SETTINGS.load()
    first, second = (plan_run(graph, SETTINGS) for _ in range(2))
    assert len(calls) == 1
    assert np.array_equal(first.boundary.owner, second.boundary.owner)
    assert job_fingerprint(first.plans) == job_fingerprint(second.plans)


@pytest.mark.full
def test_partitions_by_files_and_by_others_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = load("karate", 0)
    (tmp_path / "owners.txt").write_text("".join(f"{i % 2}\n" for i in range(34)))
    theirs = lambda graph, workers, _: np.arange(len(graph.indptr) - 1) % workers  # noqa: E731
    monkeypatch.setitem(PARTITIONERS._things, "theirs", theirs)
    kept_partition(graph, 2, "theirs", 0, 1)
    kept_partition(graph, 2, str(tmp_path / "owners.txt"), 0, 1)
    assert not PLANS._folder().exists()
    assert np.array_equal(kept_partition(graph, 2, "metis", 0, 1), kept_partition(graph, 2, "metis", 0, 1))
    assert len(list(PLANS._folder().iterdir())) == 1
