# SPDX-License-Identifier: Apache-2.0
"""Number of concurrent coflows through each core switch (thesis, figure 5.3)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from offramp.hermod.factors import CType
from offramp_sim.hermod.flow.simulate import FlowResult


def concurrent(outcome: FlowResult, samples: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Times since the last iteration began, and coflows in flight at them by core switch.

    A coflow counts where one of its flows between leaves passes, from its start to its end.
    """
    fabric = outcome.loaded.fabric
    end = outcome.iteration_ends[-1]
    when = end - outcome.iteration_s * (1 - (np.arange(samples) + 0.5) / samples)
    count = np.zeros((samples, fabric.leaf), np.int64)
    for k, coflow in outcome.loaded.dag.coflows():
        if coflow.ctype is CType.TP or outcome.end[k] < when[0]:
            continue
        away = fabric.travels(coflow.flows)
        source, sink = (fabric.ports[part[away]] for part in (coflow.flows.source, coflow.flows.sink))
        far = source // fabric.leaf != sink // fabric.leaf
        if far.any():
            during = np.flatnonzero((outcome.start[k] <= when) & (when < outcome.end[k]))
            spines = np.arange(fabric.leaf)
            if fabric.routing == "ecmp":
                spines = np.unique(fabric.spine(source[far], sink[far], coflow.ctype))
            count[np.ix_(during, spines)] += 1
    return when - when[0], count
