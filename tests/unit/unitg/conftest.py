# SPDX-License-Identifier: Apache-2.0
"""Stages as threads of one process, and small graphs and settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from offramp.graph.data import Graph
from offramp.graph.generate import generate
from offramp.unitg.settings import UnitgSettings
from one_thread import one_compute_thread

if TYPE_CHECKING:
    from offramp.unitg.run import BothModels

__all__ = ["Train", "base", "graph", "one_compute_thread", "train"]

Train = Callable[..., "BothModels"]


@pytest.fixture(scope="session")
def graph() -> Graph:
    return generate("sbm:n=120,k=3,features=9,degree=6", "0.4/0.3/0.3", 4)


@pytest.fixture
def base() -> UnitgSettings:
    return UnitgSettings(
        "sbm",
        hidden=8,
        layers=5,
        epochs=3,
        dtype="float64",
        lm_width=16,
        lm_heads=2,
        lm_length=6,
        lm_batch=4,
        lm_epochs=1,
    )


@pytest.fixture
def train(graph: Graph, base: UnitgSettings) -> Train:
    from offramp.unitg.job import plan  # these need PyTorch, which a machine may lack
    from offramp.unitg.run import train_rank
    from offramp_sim.switchgnn.thread_group import run_group

    def run(**changes: Any) -> BothModels:
        settings = replace(base, **changes)
        jobs = plan(graph, settings).jobs
        outcomes = run_group(settings.stages, lambda group: train_rank(group, jobs[group.rank], lambda _: None))
        assert outcomes[0] is not None
        return outcomes[0]

    return run
