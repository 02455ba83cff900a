# SPDX-License-Identifier: Apache-2.0
"""The order of microbatches in a pipeline stage: 1F1B and interleaved 1F1B (specification section 2)."""

from __future__ import annotations

from typing import NamedTuple


class PipelineStep(NamedTuple):
    """One microbatch through one chunk of a worker's layers, forward or backward."""

    backward: bool
    micro_batch: int
    chunk: int


def one_f_one_b(stage: int, stages: int, micro_batches: int) -> list[PipelineStep]:
    """Warm-up, then one backward and one forward in turn."""
    warm_up = min(stages - stage - 1, micro_batches)
    forward = [PipelineStep(False, i, 0) for i in range(micro_batches)]
    backward = [PipelineStep(True, i, 0) for i in range(micro_batches)]
    return _alternated(forward, backward, warm_up)


def interleaved(rank: int, stages: int, micro_batches: int, chunks: int) -> list[PipelineStep]:
    """Megatron's schedule: microbatches go through the chunks in groups of as many as there are stages."""
    total = micro_batches * chunks
    warm_up = min((stages - rank - 1) * 2 + (chunks - 1) * stages, total)

    def place(k: int) -> tuple[int, int]:
        group, inside = divmod(k, stages * chunks)
        return group * stages + inside % stages, inside // stages

    forward = [PipelineStep(False, *place(k)) for k in range(total)]
    backward = [PipelineStep(True, i, chunks - 1 - c) for i, c in map(place, range(total))]
    return _alternated(forward, backward, warm_up)


def _alternated(forward: list[PipelineStep], backward: list[PipelineStep], warm_up: int) -> list[PipelineStep]:
    """After the warm-up a forward goes before each backward while there are any."""
    order = forward[:warm_up]
    for k, step in enumerate(backward):
        if warm_up + k < len(forward):
            order.append(forward[warm_up + k])
        order.append(step)
    return order


def order(rank: int, stages: int, micro_batches: int, chunks: int = 1) -> list[PipelineStep]:
    """The order of a worker: 1F1B with one chunk, interleaved with more."""
    if chunks == 1:
        return one_f_one_b(rank, stages, micro_batches)
    return interleaved(rank, stages, micro_batches, chunks)
