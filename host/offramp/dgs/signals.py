# SPDX-License-Identifier: Apache-2.0
"""Measures of importance: the explanation, and the baselines that it has to beat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from offramp.dgs.masks import Masks

if TYPE_CHECKING:
    from offramp.dgs.shard import Shard

SIGNALS: Final = {
    "explained": "masks that explain the model; the thesis",
    "shuffled": "a control: their values, each for another vertex and column",
    "constant": "a control: their mean for every vertex and column",
    "degree": "for vertices their edges to own ones, with the mean of the explanation's",
}


def with_signal(masks: Masks, shard: Shard) -> Masks:
    """The explanation's masks, or in their place those of the signal that the settings name.

    All have the mean of the explanation's, by which remote neighbours are drawn less often than local ones, so that
    runs differ by what a mask says of one vertex against another.
    """
    match shard.settings.signal:
        case "shuffled":
            rng = np.random.default_rng([shard.settings.seed, shard.worker, masks.version])
            return Masks(masks.version, rng.permutation(masks.nodes), rng.permutation(masks.features))
        case "constant":
            return Masks(masks.version, _alike(masks.nodes), _alike(masks.features))
        case "degree":
            return Masks(masks.version, _by_degree(masks.nodes, shard), masks.features)
    return masks


def _alike(mask: np.ndarray) -> np.ndarray:
    return np.full_like(mask, mask.mean()) if len(mask) else mask


def _by_degree(nodes: np.ndarray, shard: Shard) -> np.ndarray:
    edges = np.bincount(shard.rows.indices, minlength=len(shard.owner))[shard.halo].astype(np.float32)
    if not edges.any():
        return nodes
    scaled: np.ndarray = np.minimum(edges * (nodes.mean() / edges.mean()), 1).astype(np.float32)
    return scaled
