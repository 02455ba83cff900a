# SPDX-License-Identifier: Apache-2.0
"""A schedule on real arrays of every NPU, in NumPy: what the executor does, without processes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from offramp.themis.network import Collective, Network, coordinates
from offramp.themis.schedule import ChunkOperation
from offramp_base.errors import OfframpError

Array = npt.NDArray[np.generic]


def apply(network: Network, stages: list[ChunkOperation], inputs: list[Array]) -> list[Array]:
    """The arrays of all NPUs after a chunk's stages.

    Args:
        network: dim1 counts fastest among the NPUs.
        stages: a chunk's stages, in order.
        inputs: for each NPU, one row a NPU (of an all-gather: a single row).

    Raises:
        OfframpError: a stage that would gather what is not reduced, or the other way round.
    """
    sizes = [d.size for d in network.dimensions]
    places = [coordinates(npu, sizes) for npu in range(network.npus)]
    shape = [1] * len(sizes) if inputs[0].shape[0] == 1 else list(reversed(sizes))
    held = {place: data.reshape(*shape, -1) for place, data in zip(places, inputs, strict=True)}
    for stage in stages:
        axis = len(sizes) - 1 - stage.dim
        held = {place: _stage(stage, axis, held, place, sizes[stage.dim]) for place in places}
    return [held[place].reshape(-1, held[place].shape[-1]) for place in places]


def _stage(
    stage: ChunkOperation, axis: int, held: dict[tuple[int, ...], Array], place: tuple[int, ...], size: int
) -> Array:
    peers = [held[(*place[: stage.dim], c, *place[stage.dim + 1 :])] for c in range(size)]
    here = place[stage.dim]
    present = peers[0].shape[axis]
    wanted = 1 if stage.stage is Collective.ALL_GATHER else size
    if present != wanted:
        raise OfframpError(f"{stage.stage} on dim{stage.dim + 1}: expected {wanted} blocks, there are {present}")
    if stage.stage is Collective.ALL_GATHER:
        return np.concatenate(peers, axis=axis)
    if stage.stage is Collective.ALL_REDUCE:
        return np.asarray(sum(peers[1:], start=peers[0]))
    blocks = [np.take(peer, [here], axis=axis) for peer in peers]
    if stage.stage is Collective.ALL_TO_ALL:
        return np.concatenate(blocks, axis=axis)
    return np.asarray(sum(blocks[1:], start=blocks[0]))
