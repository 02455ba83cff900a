# SPDX-License-Identifier: Apache-2.0
"""Workers as threads of one process, so that a whole group trains within a fast test."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from offramp.graph.data import Graph, build_graph
from one_thread import one_compute_thread

if TYPE_CHECKING:
    from offramp_sim.switchgnn.thread_group import ThreadGroup

__all__ = ["graph", "in_group", "make_graph", "one_compute_thread"]


@pytest.fixture
def in_group() -> Callable[[int, Callable[[ThreadGroup], Any]], list[Any]]:
    from offramp_sim.switchgnn.thread_group import run_group  # it needs PyTorch, which a machine may lack

    return run_group


def small_graph(n: int = 40, edges: int = 110, features: int = 6, classes: int = 3, seed: int = 0) -> Graph:
    """A random graph whose features tell something about the labels."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % classes
    x = rng.normal(size=(n, features)).astype(np.float32)
    x[np.arange(n), labels] += 1.5
    pairs = rng.integers(0, n, (edges, 2))
    ends = pairs[:, 0], pairs[:, 1]
    return build_graph("random", n, ends, features=x, labels=labels, split="0.5/0.2/0.3", seed=seed)


@pytest.fixture
def graph() -> Graph:
    return small_graph()


@pytest.fixture
def make_graph() -> Callable[..., Graph]:
    return small_graph
