"""Boundary features go up to the switch once, and their sums come down (SwitchGNN, or the strawman)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp.train.propagators.base import Propagator
from offramp.train.traffic import Traffic

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch

    from offramp.switch.switchgnn.worker import Worker
    from offramp.train.codec import FixedPointCodec


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
        values, exponent = self._codec.encode(y)
        sums = self._worker.exchange(self._plan_of_width[y.shape[1]], values)
        up, down = self._worker.stats.up, self._worker.stats.down
        self.traffic = Traffic(
            payload_up=up.payload_bytes,
            payload_down=down.payload_bytes,
            wire_up=up.wire_bytes,
            wire_down=down.wire_bytes,
            packets_up=up.packets,
            packets_down=down.packets,
        )
        return self._codec.decode(sums, exponent)
