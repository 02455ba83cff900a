# SPDX-License-Identifier: Apache-2.0
"""How boundary features are added up: as they are, or as integers under a scale that all workers agree on.

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
    import numpy.typing as npt

    from offramp.workers.group import Group


class ExchangeId(NamedTuple):
    """An exchange's place in an epoch: the layer, from 1, and whether gradients travel."""

    layer: int
    backward: bool

    def __str__(self) -> str:
        return f"layer {self.layer}" + (", backward" if self.backward else "")


Add = Callable[[Any], Any]
"""``(b, F)`` values of this worker, in the codec's numbers, to ``(b, F)`` sums over remote neighbours."""

Saturated = Callable[[torch.Tensor, float], None]
"""Told the features of this worker of which one on any worker was larger than the scale's bound, and the bound."""


class SumCodec(ABC):
    """The numbers in which an exchange of sums is carried out."""

    @abstractmethod
    def sums(self, y: torch.Tensor, exchange_id: ExchangeId, add: Add, saturated: Saturated) -> torch.Tensor:
        """``(b, F)`` features to ``(b, F)`` sums; all workers call it together.

        Args:
            y: float features of this worker's boundary vertices.
            exchange_id: the exchange's place in the epoch.
            add: carries out the exchange; it may be called again.
            saturated: called where it is.

        Raises:
            OfframpError: a value is not finite, or no scale fits it.
        """


class ExactCodec(SumCodec):
    """Floating-point numbers as they are."""

    def sums(self, y: torch.Tensor, exchange_id: ExchangeId, add: Add, saturated: Saturated) -> torch.Tensor:  # noqa: ARG002
        """Exchange the features as they are."""
        result: torch.Tensor = add(y)
        return result


class FixedPointCodec(SumCodec):
    """One power-of-two scale for each exchange, from the largest value that any worker sends.

    The same integers travel whether a switch or the hosts add them up, so both give the same bits.
    """

    def __init__(self, group: Group, fan_in: int) -> None:
        """Args: group: the workers; fan_in: most remote neighbours of any vertex of the graph."""
        self._group = group
        self._fan_in = fan_in

    def sums(self, y: torch.Tensor, exchange_id: ExchangeId, add: Add, saturated: Saturated) -> torch.Tensor:  # noqa: ARG002
        """One exchange, under a scale that is agreed before it."""
        values, exponent = self.encode(y)
        return self.decode(add(values), exponent)

    def encode(self, y: torch.Tensor) -> tuple[npt.NDArray[np.int32], int]:
        """``(b, F)`` float32 to int32 and the exponent of the scale agreed for this exchange.

        Raises:
            OfframpError: a value is not finite, or saturates (never with a scale that was just agreed).
        """
        return self._quantise(y, self._largest(y))

    @staticmethod
    def decode(sums: npt.NDArray[np.integer], exponent: int) -> torch.Tensor:
        """``(b, F)`` integer sums back to float32."""
        return torch.from_numpy(fixed_point.dequantise(sums, exponent, np.float32))

    def _largest(self, y: torch.Tensor) -> float:
        """Largest magnitude that any worker sends."""
        largest = y.abs().max().double() if y.numel() else torch.tensor(0.0, dtype=torch.float64)
        return float(self._group.max(largest))

    def _quantise(self, y: torch.Tensor, largest: float) -> tuple[npt.NDArray[np.int32], int]:
        exponent = fixed_point.scale_exponent(largest, self._fan_in)
        return fixed_point.quantise(y.numpy(), exponent), exponent


class CarriedCodec(FixedPointCodec):
    """The scale of an exchange from the same one an epoch before, so that no worker waits before it sends.

    What has grown by more than ``HEADROOM`` saturates; all workers see that after the exchange and repeat it.
    """

    HEADROOM = 2.0

    def __init__(self, group: Group, fan_in: int) -> None:
        """Args: group: the workers; fan_in: most remote neighbours of any vertex of the graph."""
        super().__init__(group, fan_in)
        self._before: dict[ExchangeId, float] = {}

    def sums(self, y: torch.Tensor, exchange_id: ExchangeId, add: Add, saturated: Saturated) -> torch.Tensor:
        """One exchange under the carried scale, and another under an agreed one where a value saturated."""
        before = self._before.get(exchange_id)
        if before:
            bound = self.HEADROOM * before
            within = y.nan_to_num(bound, bound, -bound).clamp(-bound, bound)
            values, exponent = self._quantise(within, bound)
            sums = add(values)
            self._before[exchange_id] = largest = self._largest(y)
            if largest <= bound:
                return self.decode(sums, exponent)
            saturated(y, bound)
        else:
            self._before[exchange_id] = largest = self._largest(y)
        values, exponent = self._quantise(y, largest)
        return self.decode(add(values), exponent)
