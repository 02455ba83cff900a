# SPDX-License-Identifier: Apache-2.0
"""One stage of one chunk: an exchange with the peers of a dimension.

A chunk is a tensor with an axis for each dimension, the outermost first, and one for the elements of a block. A
reduce-scatter along a dimension keeps the blocks of this rank's coordinate on its axis, an all-gather fills the axis
again: in any order of the dimensions, rank ``(c1, …, cD)`` ends with block ``(c1, …, cD)`` (specification section 3).
"""

from __future__ import annotations

import torch
import torch.distributed as dist

from offramp.themis.network import Collective


def run_stage(stage: Collective, data: torch.Tensor, axis: int, group: dist.ProcessGroup) -> torch.Tensor:
    """Run a stage along the dimension whose blocks lie on ``axis``; the group is ordered by coordinates."""
    if stage is Collective.REDUCE_SCATTER:
        return _reduce_scatter(data, axis, group)
    if stage is Collective.ALL_GATHER:
        return _all_gather(data, axis, group)
    if stage is Collective.ALL_REDUCE:
        return _all_gather(_reduce_scatter(data, axis, group), axis, group)
    return _exchange(data, axis, group).movedim(0, axis)


def _exchange(data: torch.Tensor, axis: int, group: dist.ProcessGroup) -> torch.Tensor:
    """Send the blocks of ``axis`` to the peers; returns those that they sent, along a first axis."""
    blocks = data.movedim(axis, 0).contiguous()
    received = torch.empty_like(blocks)
    dist.all_to_all_single(received, blocks, group=group)
    return received


def _reduce_scatter(data: torch.Tensor, axis: int, group: dist.ProcessGroup) -> torch.Tensor:
    """Direct algorithm: one exchange, then a sum in the order of the peers, the same on every machine."""
    received = _exchange(data, axis, group)
    total = received[0].clone()
    for part in received[1:]:
        total += part
    return total.unsqueeze(axis)


def _all_gather(data: torch.Tensor, axis: int, group: dist.ProcessGroup) -> torch.Tensor:
    mine = data.contiguous()
    size = dist.get_world_size(group)
    gathered = mine.new_empty((size, *mine.shape))
    dist.all_gather(list(gathered.unbind(0)), mine, group=group)
    return gathered.squeeze(axis + 1).movedim(0, axis)
