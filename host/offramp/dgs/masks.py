# SPDX-License-Identifier: Apache-2.0
"""Node and feature masks: how important remote vertices and features are, from 0 to 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from offramp.graph.csr import IntArray
from offramp_base.errors import OfframpError
from offramp_base.wire.objects import sendable

LEAST = 1e-6
"""Weight of a vertex of no importance: everyone can be drawn."""


@sendable
@dataclass(frozen=True, eq=False)
class Masks:
    """One version of a worker's masks, which nobody changes: a batch sees both of a version or none.

    Attributes:
        version: counts the explanations, from 1.
        nodes: ``(h,)`` float32 of each vertex of the halo, ascending by id.
        features: ``(F,)`` float32 of each column.
    """

    version: int
    nodes: npt.NDArray[np.float32]
    features: npt.NDArray[np.float32]

    def __post_init__(self) -> None:
        for array in (self.nodes, self.features):
            array.flags.writeable = False

    def check(self, halo: int, features: int) -> None:
        """Refuse masks of another graph or partition.

        Raises:
            OfframpError: another length, or numbers outside 0 to 1.
        """
        for name, mask, length in (("node", self.nodes, halo), ("feature", self.features, features)):
            if mask.shape != (length,):
                raise OfframpError(f"{name} mask: expected {length} values, got {mask.size}")
            if not ((mask >= 0) & (mask <= 1)).all():
                raise OfframpError(f"{name} mask: expected values from 0 to 1")

    def columns(self, count: int) -> IntArray:
        """The ``count`` columns of greatest mask, ascending; of equal ones the lower (specification section 7.2)."""
        return np.sort(np.argsort(-self.features, kind="stable")[:count])

    def weights(self) -> npt.NDArray[np.float32]:
        """``(h,)`` weights of the halo in draws, beside 1 of local vertices; all alike where masks say nothing."""
        return weights(self.nodes)


def weights(nodes: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Weights for a node mask: at least :data:`LEAST`, all 1 where the mask is zero throughout."""
    return np.maximum(nodes, np.float32(LEAST)) if nodes.any() else np.ones_like(nodes)
