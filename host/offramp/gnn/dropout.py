# SPDX-License-Identifier: Apache-2.0
"""Dropout whose masks belong to vertices and edges, so that the number of ranks does not change them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from offramp import splitmix_tensor
from offramp.gnn.tags import EXTENDED, VERTICES, mark, tag_of
from offramp.splitmix import GOLDEN, mix, mix_word

if TYPE_CHECKING:
    import numpy.typing as npt

    from offramp.gnn.mode import Distribution

_LANES = 4


def apply(mode: Distribution, x: torch.Tensor, p: float) -> torch.Tensor:
    """Zero elements with probability ``p`` and scale the others by ``1 / (1 - p)``.

    The mask is a function of seed, step, the dropout's place in the pass, vertex (or both ends of the edge) and column.
    Edges of the same two ends have the same mask. Other rows have
    that of their number in the whole tensor.
    """
    tag = tag_of(x)
    if tag is not None and tag.dim:
        first = mark(x.movedim(tag.dim, 0), tag.moved(0))
        return mark(apply(mode, first, p).movedim(0, tag.dim), tag)
    key = mix_word(mix_word(mix_word(mode.seed) + max(mode.step, 0)) + mode.draws)
    mode.draws += 1
    columns = x[:0].flatten(1).shape[1] if x.dim() > 1 else 1
    rows = _rows(mode, x)
    keep = _mask_on(x.device, rows, columns, p, key) if x.is_cuda else torch.from_numpy(_mask(rows, columns, p, key))
    keep = keep.view(x.shape)
    out = x * keep / (1 - p) if p < 1 else x * 0
    return mark(out, tag) if tag else out


def _rows(mode: Distribution, x: torch.Tensor) -> npt.NDArray[np.uint64]:
    """A number of the whole graph for each row."""
    tag = tag_of(x)
    of: Any = tag.of if tag else None
    if tag is None:
        return np.arange(len(x) if x.dim() else 1, dtype=np.uint64)
    if tag.role in (VERTICES, EXTENDED):
        ids = of.ids if tag.role == VERTICES else of.all_ids
        numbers: npt.NDArray[np.uint64] = ids.cpu().numpy().astype(np.uint64)
        return numbers
    for pairs, edges in reversed(mode.pairs):
        its = tag_of(pairs)
        if edges is of and its is not None and its.like(tag):
            return mode.kept_with(pairs, partial(_ends, of, pairs)).numpy().view(np.uint64)
    return tag.layout.positions.numpy().astype(np.uint64)


def _ends(edges: Any, pairs: torch.Tensor) -> torch.Tensor:
    """A number of both ends of each edge."""
    source, target = pairs.cpu()
    ends = edges.source_ids[source].numpy(), edges.target.ids[target].numpy()
    hashed: npt.NDArray[np.uint64] = mix(ends[0].astype(np.uint64) * np.uint64(GOLDEN))
    hashed ^= ends[1].astype(np.uint64)
    return torch.from_numpy(hashed.view(np.int64))


def _mask(rows: npt.NDArray[np.uint64], columns: int, p: float, key: int) -> npt.NDArray[np.bool_]:
    """``(rows, columns)``: which elements stay; a word decides over four columns, so ``p`` counts in 1/65,536."""
    first = mix(rows ^ np.uint64(key))[:, np.newaxis]
    steps = np.arange(-(-columns // _LANES), dtype=np.uint64) * np.uint64(GOLDEN)
    lanes = mix(first + steps).astype("<u8", copy=False).view("<u2")
    return lanes[:, :columns] >= np.uint16(min(round(p * 65536), 65535))


def _mask_on(device: torch.device, rows: npt.NDArray[np.uint64], columns: int, p: float, key: int) -> torch.Tensor:
    """The bits of :func:`_mask`, made where the features are."""
    numbers = torch.from_numpy(rows.view(np.int64)).to(device)
    first = splitmix_tensor.mix(numbers ^ splitmix_tensor.signed(key))[:, None]
    steps = torch.arange(-(-columns // _LANES), device=device) * splitmix_tensor.signed(GOLDEN)
    words = splitmix_tensor.mix(first + steps)
    lanes = torch.stack([words >> 16 * lane & 0xFFFF for lane in range(_LANES)], dim=2).flatten(1)
    return lanes[:, :columns] >= min(round(p * 65536), 65535)
