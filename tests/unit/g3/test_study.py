# SPDX-License-Identifier: Apache-2.0
"""Whole runs on a modelled clock; Sylvie's accuracy beside fp32 and one bit (the issue's figure)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from offramp.graph.data import Graph
from offramp.graph.generate import generate
from offramp.sylvie.orchestrator import OrchestratorSettings
from offramp.train.settings import TrainSettings
from offramp_sim.g3.measured import WARM_UP, MeasuredRun
from offramp_sim.g3.study import COMPUTE_S, RATE_BPS, train_here
from offramp_sim.reproduce.sylvie import network
from offramp_sim.reproduce.sylvie.accuracy import task, trained

pytestmark = pytest.mark.full


@pytest.mark.full
def test_runs_repeat_to_the_bit_and_time_is_that_of_the_bytes() -> None:
    settings = replace(task(0.1, 0), epochs=6, codec="sylvie", schedule="adaptive")
    graph = generate(settings.graph, None, 0)
    first, second = (train_here(graph, settings) for _ in range(2))
    assert (first.test_accuracy, first.payload_bytes) == (second.test_accuracy, second.payload_bytes)
    for one, other in zip(first.epochs, second.epochs, strict=True):
        assert (one.loss, one.seconds, one.bits, one.stale) == (other.loss, other.seconds, other.bits, other.stale)
    times = np.array([epoch.seconds for epoch in first.epochs])
    assert (times > COMPUTE_S).all()
    assert times.sum() * RATE_BPS / 8 > first.payload_bytes / 4  # the slowest of four workers


@pytest.mark.slow
def test_adaptive_widths_keep_what_one_bit_loses() -> None:
    """Within half a point of fp32 over five seeds, where one bit for all loses more than a point."""
    runs_by_codec = trained(task(1, 0), ["fp32", "q1", "sylvie"])
    mean = {codec: np.mean([100 * run.test_accuracy for run in runs]) for codec, runs in runs_by_codec.items()}
    assert mean["q1"] <= mean["fp32"] - 1
    assert abs(mean["sylvie"] - mean["fp32"]) <= 0.5
    assert mean["sylvie"] >= mean["q1"]


@pytest.mark.full
@pytest.mark.parametrize("change", [{"codec": "sylvie"}, {"codec": "q1", "schedule": "adaptive"}])
def test_adaptive_rows_of_the_tables_time_epochs_that_the_controller_has_decided(
    change: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a modelled clock; it decides from the eighth epoch on, when two rates five epochs apart are there."""
    decided = {number for number in range(1, 100) if number > OrchestratorSettings().lag + 2}

    def on_threads(graph: Graph, settings: TrainSettings) -> MeasuredRun:
        run = train_here(graph, replace(settings, propagator="p2p", link_bps=None))
        return MeasuredRun(run.epochs[WARM_UP:], run.payload_bytes, len(run.epochs), 0.0, run.test_accuracy)

    monkeypatch.setattr(network, "run_timed", on_threads)
    timed = network._run(generate("sbm:n=200,k=4,degree=6,features=8", None, 0), replace(_tiny(), **change))
    assert len(timed.epochs) >= 10
    assert {epoch.epoch for epoch in timed.epochs} <= decided


def _tiny() -> TrainSettings:
    return replace(network.slow_network(0.01, 0), hidden=8, layers=2)


def test_an_epoch_s_time_is_without_the_pass_that_scores_it() -> None:
    """A tenth of the rows takes about a tenth of the time: the exact rows that score an epoch are not in it."""
    settings = replace(task(0.1, 0), epochs=4, bins=1)
    graph = generate(settings.graph, None, 0)
    full, tenth = (
        np.array([epoch.seconds for epoch in train_here(graph, replace(settings, sample=share)).epochs]) - COMPUTE_S
        for share in (1.0, 0.1)
    )
    assert tenth.mean() / full.mean() == pytest.approx(0.1, abs=0.05)


@pytest.mark.full
def test_the_controller_decides_once_two_rates_a_lag_apart_are_there() -> None:
    settings = replace(task(0.1, 0), epochs=8, bins=1, codec="sylvie", schedule="adaptive")
    graph = generate(settings.graph, None, 0)
    for lag in (1, 3):
        epochs = train_here(graph, replace(settings, descent_lag=lag)).epochs
        undecided = [epoch.epoch for epoch in epochs if (epoch.bits, epoch.stale) == (1, False)]
        assert undecided[: lag + 2] == list(range(1, lag + 3))
        assert (epochs[lag + 2].bits, epochs[lag + 2].stale) != (1, False)
