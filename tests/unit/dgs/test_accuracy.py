# SPDX-License-Identifier: Apache-2.0
"""A task in which it matters what is fetched: half a point from full batch, where random loss costs two and more."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from dgs_runs import planted, settings, train

pytestmark = pytest.mark.full


def accuracy(seed: int, **changes: Any) -> float:
    """Mean of the last five epochs, in per cent."""
    graph = planted(seed, n=800, columns=60, informative=4, homophily=0.95)[0]
    how = settings(workers=4, partition="random", batch=64, epochs=15, fanout=(8, 8), period=10, seed=seed, **changes)
    return 100 * float(np.mean([epoch.test_accuracy for epoch in train(graph, how).epochs[-5:]]))


@pytest.mark.slow
def test_a_third_of_the_columns_is_enough_if_it_is_the_right_third() -> None:
    """Three in four neighbours are remote, 4 of 60 columns matter, 18 travel; three seeds."""
    torch.set_num_threads(1)
    scores = [
        (
            accuracy(seed, sampler="full"),
            accuracy(seed, columns=0.3),
            accuracy(seed, sampler="random", columns=0.3),
        )
        for seed in range(3)
    ]
    full, dgs, random = np.mean(scores, axis=0)
    assert abs(dgs - full) <= 0.5, scores
    assert full - random >= 2, scores
