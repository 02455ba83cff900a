# SPDX-License-Identifier: Apache-2.0
"""Boundary features go up to the switch once, and their sums come down (SwitchGNN, or the strawman)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from offramp.train.codec import CarriedCodec, FixedPointCodec
from offramp.train.propagators.base import Propagator

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import numpy.typing as npt
    import torch

    from offramp.graph.csr import IntArray
    from offramp.train.exchange import SwitchExchange


_SHOWN = 5  # vertices that one exchange reports
_log = logging.getLogger(__name__)


class SwitchPropagator(Propagator):
    """The switch adds the fixed-point features of remote neighbours; which program it runs is its affair."""

    def __init__(self, codec: FixedPointCodec, exchanges: Mapping[int, SwitchExchange], boundary: IntArray) -> None:
        """Args: codec: of values; carriers: by width of the features; boundary: the worker's boundary vertices."""
        super().__init__()
        self._codec = codec
        self._exchanges_by_width = exchanges
        self._boundary = boundary

    def exchange(self, y: torch.Tensor) -> torch.Tensor:
        """``(b, F)`` to ``(b, F)``."""
        exchange = self._exchanges_by_width[y.shape[1]]
        if isinstance(self._codec, CarriedCodec):
            sums, exponent = self._exchange_carried(y, exchange, self._codec)
        else:
            values, exponent = self._codec.encode(y)
            sums = exchange.add(exchange.messages(values))
        self.traffic = exchange.traffic()
        return self._codec.decode(sums, exponent)

    def _exchange_carried(
        self, y: torch.Tensor, exchange: SwitchExchange, codec: CarriedCodec
    ) -> tuple[npt.NDArray[np.int64], int]:
        """Under the carried scale; what saturates is reported, and the exchange repeated under an agreed one."""
        bound = codec.bound(self.exchange_id)
        if bound is not None:
            values, exponent = codec.encode_within(y, bound)
            sums = exchange.add(exchange.messages(values))
            if codec.settle(y, self.exchange_id, bound):
                return sums, exponent
            self._report(y, bound)
        values, exponent = codec.encode_first(y, self.exchange_id)
        return exchange.add(exchange.messages(values)), exponent

    def _report(self, y: torch.Tensor, bound: float) -> None:
        self.repeated += 1
        beyond = (~(y.abs() <= bound)).any(dim=1).numpy()
        for vertex in self._boundary[beyond][:_SHOWN].tolist():
            _log.warning(
                "%s: vertex %d saturates at magnitude %g; repeated with a wider scale", self.exchange_id, vertex, bound
            )
