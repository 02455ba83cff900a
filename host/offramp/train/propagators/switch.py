"""Boundary features go up to the switch once, and their sums come down (SwitchGNN, or the strawman)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from offramp.train.codec import CarriedCodec, FixedPointCodec
from offramp.train.propagators.base import Propagator
from offramp.train.traffic import Traffic

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import numpy.typing as npt
    import torch

    from offramp.switch.switchgnn.worker import Worker


_SHOWN = 5  # vertices that one exchange reports
_log = logging.getLogger(__name__)


class SwitchPropagator(Propagator):
    """The switch adds the fixed-point features of remote neighbours; which program it runs is its affair."""

    def __init__(self, worker: Worker, codec: FixedPointCodec, plan_of_width: Mapping[int, int]) -> None:
        """``plan_of_width`` gives the index of the worker's plan for features of a width."""
        super().__init__()
        self._worker = worker
        self._codec = codec
        self._plan_of_width = plan_of_width

    def exchange(self, y: torch.Tensor) -> torch.Tensor:
        """``(b, F)`` to ``(b, F)``."""
        plan = self._plan_of_width[y.shape[1]]
        if isinstance(self._codec, CarriedCodec):
            sums, exponent = self._exchange_carried(y, plan, self._codec)
        else:
            values, exponent = self._codec.encode(y)
            sums = self._worker.exchange(plan, values)
        up, down = self._worker.stats.up, self._worker.stats.down
        self.traffic = Traffic(
            payload_up=up.payload_bytes,
            payload_down=down.payload_bytes,
            wire_up=up.wire_bytes,
            wire_down=down.wire_bytes,
            packets_up=up.packets,
            packets_down=down.packets,
            lost=self._worker.link.lost,
        )
        return self._codec.decode(sums, exponent)

    def _exchange_carried(self, y: torch.Tensor, plan: int, codec: CarriedCodec) -> tuple[npt.NDArray[np.int64], int]:
        """Under the carried scale; what saturates is reported, and the exchange repeated under an agreed one."""
        bound = codec.bound(self.site)
        if bound is not None:
            values, exponent = codec.encode_within(y, bound)
            sums = self._worker.exchange(plan, values)
            if codec.settle(y, self.site, bound):
                return sums, exponent
            self._report(y, plan, bound)
        values, exponent = codec.encode_first(y, self.site)
        return self._worker.exchange(plan, values), exponent

    def _report(self, y: torch.Tensor, plan: int, bound: float) -> None:
        self.repeated += 1
        beyond = (~(y.abs() <= bound)).any(dim=1).numpy()
        for vertex in self._worker.boundary(plan)[beyond][:_SHOWN].tolist():
            _log.warning(
                "%s: vertex %d saturates at magnitude %g; repeated with a wider scale", self.site, vertex, bound
            )
