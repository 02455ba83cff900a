# SPDX-License-Identifier: Apache-2.0
"""Clusters by the size of the L2 cache, and blocks by a profile of this machine (thesis, section 4.3.4)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from math import isqrt
from pathlib import Path
from typing import Final

import numpy as np
import torch

from offramp.torchgt.kernel import PatternTensors, sparse_attention
from offramp.torchgt.pattern import BucketOf, Pattern
from offramp.torchgt.settings import TUNED, TorchGtSettings

BLOCKS: Final = (4, 8, 16, 32, 64)
"""Side lengths of a block that are profiled."""
_TENSORS: Final = 3 * 4
"""Bytes of a token's query, key and value in a column, as float32."""
_TOKENS, _DENSITY, _ROUNDS = 1024, 16, 3
_SIZE: Final = Path("/sys/devices/system/cpu/cpu0/cache/index2/size")
_USUAL: Final = 1 << 20


def l2_bytes(device: str) -> int:
    """Size of the L2 cache of the device, or of the first core; 1 MiB if the system does not say."""
    if device != "cpu":
        size: int = torch.cuda.get_device_properties(torch.device(device)).L2_cache_size
        return size
    try:
        return 1024 * int(_SIZE.read_text("ascii").strip().removesuffix("K"))
    except (OSError, ValueError):
        return _USUAL


def clusters_of(cache: int, width: int, heads: int, block: int) -> int:
    """The thesis's k, floor(sqrt(Q_L2 / (i d))), at least 1.

    The thesis leaves i open. Here i d bytes are the queries, keys and values of a block's tokens in all heads, which
    gives the thesis's k = 8 for the 6 MiB of an RTX 3090, d = 64, 8 heads and blocks of 16.
    """
    return max(1, isqrt(cache // (_TENSORS * block * heads * width)))


def profiled_block(width: int, heads: int, timed: Callable[[int], float] | None = None) -> int:
    """The side length of :data:`BLOCKS` with the most pairs per second of attention here.

    Args:
        width: width of all heads together.
        heads: number of heads.
        timed: gives the seconds for a side length; by default attention over blocks with as many pairs of each.
    """
    seconds = timed or (lambda block: _seconds(block, width, heads))
    return min(BLOCKS, key=seconds)


def tuned(settings: TorchGtSettings) -> TorchGtSettings:
    """The settings with numbers in place of auto."""
    if TUNED not in (settings.clusters, settings.block):
        return settings
    size = settings.size
    block = settings.block or profiled_block(size.hidden, size.heads)
    clusters = settings.clusters or clusters_of(l2_bytes(settings.device), size.hidden, size.heads, block)
    return replace(settings, block=block, clusters=clusters)


def _seconds(block: int, width: int, heads: int) -> float:
    """Least processor time of a forward and a backward pass over random blocks."""
    along, rng = _TOKENS // block, np.random.default_rng(0)
    tiles = np.sort(rng.choice(along * along, max(1, _TOKENS * _DENSITY // block**2), replace=False))
    loops = np.arange(_TOKENS, dtype=np.int64)
    corners = np.stack(np.divmod(tiles, along), 1) * block
    bucket_of = BucketOf(_TOKENS, 1, _TOKENS, None)
    inside = np.isin(loops // block * (along + 1), tiles)
    indptr = np.concatenate([[0], np.cumsum(~inside)]).astype(np.int64)
    pattern = Pattern(_TOKENS, indptr, loops[~inside], bucket_of(loops[~inside], loops[~inside]), block, corners)
    tensors = PatternTensors(pattern)
    generator = torch.Generator().manual_seed(0)
    shape = (heads, _TOKENS, width // heads)
    least = float("inf")
    for _ in range(_ROUNDS):
        q, k, v = (torch.randn(shape, generator=generator).requires_grad_() for _ in range(3))
        start = time.process_time()
        sparse_attention(q, k, v, None, tensors).sum().backward()  # type: ignore[no-untyped-call]
        least = min(least, time.process_time() - start)
    return least
