# SPDX-License-Identifier: Apache-2.0
"""Number formats in which boundary features are summed: unchanged, or as integers under an agreed scale.

(switchgnn.md section 3.3.)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from offramp import fixed_point

if TYPE_CHECKING:
    from offramp.workers.group import Group


class ExchangeId(NamedTuple):
    """Position of an exchange in an epoch: the layer, from 1, and whether gradients are sent."""

    layer: int
    backward: bool

    def __str__(self) -> str:
        return f"layer {self.layer}" + (", backward" if self.backward else "")


Add = Callable[[Any], Any]
"""Maps ``(b, F)`` values of this worker, in the codec's numbers, to ``(b, F)`` sums over remote neighbours."""

Saturated = Callable[[torch.Tensor, float], None]
"""Called with this worker's features and the scale's bound if a feature on any worker exceeded the bound."""


class SumCodec(ABC):
    """Number format of an exchange of sums."""

    @abstractmethod
    def sums(self, y: torch.Tensor, exchange_id: ExchangeId, add: Add, saturated: Saturated) -> torch.Tensor:
        """Map ``(b, F)`` features to ``(b, F)`` sums; all workers call it together.

        Args:
            y: float features of this worker's boundary vertices.
            exchange_id: position of the exchange in the epoch.
            add: performs the exchange; it may be called twice.
            saturated: called if a value saturates.

        Raises:
            OfframpError: a value is not finite, or no scale fits it.
        """


class ExactCodec(SumCodec):
    """Floating-point numbers, unchanged."""

    def sums(self, y: torch.Tensor, exchange_id: ExchangeId, add: Add, saturated: Saturated) -> torch.Tensor:  # noqa: ARG002
        """Exchange the features unchanged."""
        result: torch.Tensor = add(y)
        return result


class FixedPointCodec(SumCodec):
    """One power-of-two scale per exchange, from the largest value that any worker sends.

    The integers are the same whether a switch or the hosts sum them, so both give the same bits.
    """

    def __init__(self, group: Group, fan_in: int) -> None:
        """Scale for ``group``'s exchanges; ``fan_in``: most remote neighbours of any vertex of the graph."""
        self._group = group
        self._fan_in = fan_in

    def sums(self, y: torch.Tensor, exchange_id: ExchangeId, add: Add, saturated: Saturated) -> torch.Tensor:  # noqa: ARG002
        """Make one exchange, under a scale agreed before it.

        Raises:
            OfframpError: a value is not finite.
        """
        return self._under(self._largest(y), y, add)

    def _largest(self, y: torch.Tensor) -> float:
        """Largest magnitude of any worker's values."""
        largest = y.abs().max().double() if y.numel() else torch.tensor(0.0, dtype=torch.float64)
        return float(self._group.max(largest))

    def _under(self, largest: float, y: torch.Tensor, add: Add) -> torch.Tensor:
        """Make one exchange under the scale for values of at most ``largest``."""
        exponent = fixed_point.scale_exponent(largest, self._fan_in)
        sums = add(fixed_point.quantise(y.numpy(), exponent))
        return torch.from_numpy(fixed_point.dequantise(sums, exponent, np.float32))


class CarriedCodec(FixedPointCodec):
    """Reuses an exchange's scale from the previous epoch, so that no worker waits before it sends.

    Values that have grown by more than ``HEADROOM`` saturate; all workers see this after the exchange and repeat it.
    """

    HEADROOM = 2.0

    def __init__(self, group: Group, fan_in: int) -> None:
        """Scale for ``group``'s exchanges; ``fan_in``: most remote neighbours of any vertex of the graph."""
        super().__init__(group, fan_in)
        self._before: dict[ExchangeId, float] = {}

    def sums(self, y: torch.Tensor, exchange_id: ExchangeId, add: Add, saturated: Saturated) -> torch.Tensor:
        """Make one exchange under the carried scale, and another under an agreed one if a value saturated."""
        before = self._before.get(exchange_id)
        if before:
            bound = self.HEADROOM * before
            within = y.nan_to_num(bound, bound, -bound).clamp(-bound, bound)
            sums = self._under(bound, within, add)
            self._before[exchange_id] = largest = self._largest(y)
            if largest <= bound:
                return sums
            saturated(y, bound)
        else:
            self._before[exchange_id] = largest = self._largest(y)
        return self._under(largest, y, add)
