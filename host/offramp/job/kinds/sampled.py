# SPDX-License-Identifier: Apache-2.0
"""Training on sampled neighbours: which sampler, and who has the edges (DGS)."""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final

from offramp.job.floor import StepTraffic
from offramp.job.kind import KINDS, PlacedJob
from offramp.job.training import Training, lossless

if TYPE_CHECKING:
    from offramp.dgs.settings import DgsSettings

_ID_BYTES: Final = 8
_FLOAT_BYTES: Final = 4


class SamplingScheme(StrEnum):
    """The way in which neighbours are drawn."""

    RANDOM = "random"
    REPLICATED = "replicated"
    DGS = "dgs"
    DGS_REPLICATED = "dgs+replicated"


@KINDS.register("dgs")
class Sampled(Training):
    """Jobs of ``offramp train dgs``."""

    words = ("train", "dgs")
    ways = tuple(SamplingScheme)
    options: ClassVar = {
        SamplingScheme.RANDOM: {"sampler": "random", "topology": "owned"},
        SamplingScheme.REPLICATED: {"sampler": "random", "topology": "replicated"},
        SamplingScheme.DGS: {"sampler": "dgs", "topology": "owned"},
        SamplingScheme.DGS_REPLICATED: {"sampler": "dgs", "topology": "replicated"},
    }
    lossy = frozenset({SamplingScheme.DGS, SamplingScheme.DGS_REPLICATED})

    def __init__(self) -> None:
        self._counts: tuple[int, float, float] | None = None

    @cached_property
    def settings_class(self) -> type[DgsSettings]:
        """The settings of ``offramp train dgs``."""
        from offramp.dgs.settings import DgsSettings

        return DgsSettings

    def model_s(self, placed: PlacedJob, way: str) -> float:
        """Seconds that rows of remote neighbours and questions for their neighbours keep a host's link busy."""
        lossless(self, placed, way)
        seconds: float = self._sent(placed, way) / len(placed.hosts) * 8 / placed.slowest_bps
        return placed.job.compute_s + seconds

    def traffic(self, placed: PlacedJob, way: str) -> StepTraffic:
        """The same bytes, as many for each pair of workers."""
        return StepTraffic(pair=self._sent(placed, way) / max(1, placed.ranks * (placed.ranks - 1)))

    def _sent(self, placed: PlacedJob, way: str) -> float:
        """Bytes that all workers send each other in an epoch."""
        settings = self.settings(placed, way)
        width, rows, requested = self._expected(placed, settings)
        sent = rows * _FLOAT_BYTES * settings.chosen_columns(width) + rows * _ID_BYTES
        if settings.topology == "owned":
            sent += requested * _ID_BYTES
        return float(sent)

    def _expected(self, placed: PlacedJob, settings: DgsSettings) -> tuple[int, float, float]:
        """Width of features; rows that all workers fetch in an epoch, and neighbours that they ask others for.

        Each neighbour is remote with the probability with which an edge is cut, and a batch fetches no row twice.
        """
        from offramp.graph.boundary import Boundary
        from offramp.graph.partition import partition

        if self._counts is None:
            graph = settings.load()
            boundary = Boundary(
                graph, partition(graph, settings.workers, settings.partition, settings.seed), placed.ranks
            )
            remote = boundary.C / max(1, graph.edges)
            degree = 2 * graph.edges / graph.vertices
            batches = -(-int(graph.train.sum()) // (settings.batch * settings.workers))
            drawn, edges, requested = float(graph.train.sum()), 0.0, 0.0
            for hop, fanout in enumerate(settings.fanout):
                requested += drawn * remote * min(fanout, degree) if hop and fanout > 0 else 0.0
                drawn *= min(fanout, degree) if fanout > 0 else degree
                edges += drawn
            self._counts = graph.width, min(edges * remote, float(boundary.R) * batches), requested
        return self._counts
