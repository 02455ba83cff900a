"""Settings of a run with what they amount to, so that a result can be read and repeated alone."""

from __future__ import annotations

import os
import platform
from typing import TYPE_CHECKING, Any

import torch

import offramp

if TYPE_CHECKING:
    from offramp.graph.boundary import Boundary
    from offramp.graph.data import Graph
    from offramp.train.settings import TrainSettings


def describe(graph: Graph, settings: TrainSettings, boundary: Boundary) -> dict[str, Any]:
    """The settings, the size of the graph and of its boundary, and the software that ran."""
    return {
        **settings.as_dict(),
        "graph_name": graph.name,
        "vertices": graph.vertices,
        "edges": graph.edges,
        "features": graph.width,
        "classes": graph.classes,
        "processes": boundary.workers,
        "boundary_vertices": boundary.B,
        "cut_edges": boundary.C,
        "remote_copies": boundary.R,
        "offramp": offramp.__version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "cores": len(os.sched_getaffinity(0)),
    }
