# SPDX-License-Identifier: Apache-2.0
"""Boundary features are uploaded to the switch once, and their sums come back (SwitchGNN, or the strawman)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from offramp.train.propagators.base import Propagator

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch

    from offramp.graph.csr import IntArray
    from offramp.switchgnn.exchange import Exchange
    from offramp.switchgnn.sum_codec import SumCodec
    from offramp.workers.traffic import Traffic


_SHOWN = 5  # vertices that one exchange reports
_log = logging.getLogger(__name__)


class ThroughSwitch(Propagator):
    """Boundary features that go through a switch.

    Attributes:
        exchanges: by width of the features.
    """

    def __init__(self, exchanges: Mapping[int, Exchange]) -> None:
        super().__init__()
        self.exchanges = exchanges

    @property
    def traffic(self) -> Traffic:
        """Traffic of this worker's link, which all exchanges share."""
        return next(iter(self.exchanges.values())).traffic()


class SwitchPropagator(ThroughSwitch):
    """The switch sums the fixed-point features of remote neighbours, with whatever program it runs."""

    def __init__(self, codec: SumCodec, exchanges: Mapping[int, Exchange], boundary: IntArray) -> None:
        """``codec`` of sums; ``exchanges`` by width of the features; ``boundary``: the worker's boundary vertices."""
        super().__init__(exchanges)
        self._codec = codec
        self._boundary = boundary

    def exchange(self, y: torch.Tensor) -> torch.Tensor:
        """Exchange ``(b, F)`` features for ``(b, F)`` sums."""
        return self._codec.sums(y, self.exchange_id, self.exchanges[y.shape[1]].sum, self._saturated)

    def _saturated(self, y: torch.Tensor, bound: float) -> None:
        """Count and report a saturated exchange, which is repeated."""
        self.repeated += 1
        beyond = (~(y.abs() <= bound)).any(dim=1).numpy()
        for vertex in self._boundary[beyond][:_SHOWN].tolist():
            _log.warning(
                "%s: vertex %d saturates at magnitude %g; repeated with a wider scale", self.exchange_id, vertex, bound
            )
