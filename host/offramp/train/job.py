"""What one worker needs to know to train its share: made once, where the whole graph is."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from offramp.train.halo import Halo, plan_halo
from offramp.train.local_graph import LocalGraph, split_graph

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from offramp.graph.boundary import Boundary
    from offramp.graph.data import Graph
    from offramp.train.exchange_plan import ExchangePlans
    from offramp.train.settings import TrainSettings


@dataclass(frozen=True)
class WorkerJob:
    """One worker's share of a run.

    Attributes:
        settings: of the run.
        local: its part of the graph.
        widths: input features, hidden widths, classes.
        counts: ``(3,)`` training, validation and test vertices of the whole graph.
        fan_in: most remote neighbours of any vertex of the whole graph.
        halo: who sends what to whom, under ``p2p``.
        plans: what travels through the switch, where there is one.
        port: this worker's end of the link to the switch, as :func:`offramp.transport.open_io` takes it.
    """

    settings: TrainSettings
    local: LocalGraph
    widths: list[int]
    counts: npt.NDArray[np.int64]
    fan_in: int
    halo: Halo | None = None
    plans: ExchangePlans | None = None
    port: str = ""


def make_jobs(
    graph: Graph,
    settings: TrainSettings,
    boundary: Boundary,
    plans: ExchangePlans | None = None,
    ports: Sequence[str] = (),
) -> list[WorkerJob]:
    """The jobs of all workers, in rank order; ``ports`` are their links to the switch."""
    workers = boundary.workers
    shares = split_graph(graph, boundary.owner, workers)
    halos = plan_halo(boundary) if settings.propagator == "p2p" else None
    counts = np.array([graph.train.sum(), graph.val.sum(), graph.test.sum()], np.int64)
    return [
        WorkerJob(
            settings=settings,
            local=shares[worker],
            widths=layer_widths(graph, settings),
            counts=counts,
            fan_in=int(boundary.need.max(initial=0)),
            halo=halos[worker] if halos else None,
            plans=plans,
            port=ports[worker] if ports else "",
        )
        for worker in range(workers)
    ]


def layer_widths(graph: Graph, settings: TrainSettings) -> list[int]:
    """Input features, hidden widths, classes."""
    return [graph.width, *[settings.hidden] * (settings.layers - 1), graph.classes]


def exchange_widths(widths: Sequence[int]) -> list[int]:
    """Width of the features that each layer's exchange carries: a narrowing layer multiplies first."""
    return [min(ends) for ends in pairwise(widths)]
