# SPDX-License-Identifier: Apache-2.0
"""Bytes of every flow of a job in every iteration, drawn from what profiling has seen."""

from __future__ import annotations

import numpy as np

from offramp.dgtp.taskgraph import TaskGraph
from offramp.dgtp.volume import FloatArray, FlowVolume
from offramp_base.errors import OfframpError


def draw(graph: TaskGraph, iterations: int, seed: int) -> FloatArray:
    """Bytes of each edge (columns) in each iteration (rows); more iterations begin with the same ones.

    Raises:
        OfframpError: less than one iteration.
    """
    if iterations < 1:
        raise OfframpError(f"iterations {iterations}: expected at least 1")
    rng = np.random.default_rng(seed)
    volumes = [edge.volume or FlowVolume(0.0) for edge in graph.edges]
    mean = np.array([v.mean for v in volumes], np.float64)
    deviation = mean * np.array([v.spread for v in volumes], np.float64)
    empirical = [(i, np.array(v.samples)) for i, v in enumerate(volumes) if v.samples]
    drawn = np.empty((iterations, len(volumes)))
    for row in drawn:
        np.maximum(mean + deviation * rng.standard_normal(len(volumes)), 0, out=row)
        pick = rng.random(len(empirical))
        for (i, samples), at in zip(empirical, pick, strict=True):
            row[i] = samples[int(at * len(samples))]
    return drawn
