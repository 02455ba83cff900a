# SPDX-License-Identifier: Apache-2.0
"""A scheduler of collectives: the baseline, with the dimensions the other way round."""

from __future__ import annotations

from offramp.themis.candidate import Candidate
from offramp.themis.demand import Demand
from offramp.themis.network import Network
from offramp.themis.pipeline import ChunkPolicy
from offramp.themis.schedule import Chunk, ChunkSchedule, split
from offramp.themis.themis import ThemisOptions, baseline


def reversed_dimensions(
    network: Network, demands: tuple[Demand, ...], chunks: int, options: ThemisOptions | None, unit: int
) -> Candidate:
    """Every chunk takes the dimensions in the order opposite to the baseline's."""
    schedules = []
    for demand in demands:
        plan = baseline(demand.part(network), demand.collective, split(demand.size, chunks, unit))
        turned = tuple(Chunk(chunk.size, chunk.reduce[::-1], chunk.gather[::-1]) for chunk in plan.chunks)
        schedules.append(ChunkSchedule(plan.network, plan.collective, turned))
    return Candidate.run(network, demands, tuple(schedules), ChunkPolicy.FIFO)
