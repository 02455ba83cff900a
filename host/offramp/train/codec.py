# SPDX-License-Identifier: Apache-2.0
"""Boundary features as integers under a scale that all workers agree on (switchgnn.md section 3.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

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


class FixedPointCodec:
    """One power-of-two scale for each exchange, from the largest value that any worker sends.

    The same integers travel whether a switch or the hosts add them up, so both give the same bits.
    """

    def __init__(self, group: Group, fan_in: int) -> None:
        """Args: group: the workers; fan_in: most remote neighbours of any vertex of the graph."""
        self._group = group
        self._fan_in = fan_in

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
        """As FixedPointCodec."""
        super().__init__(group, fan_in)
        self._before: dict[ExchangeId, float] = {}

    def bound(self, exchange_id: ExchangeId) -> float | None:
        """Magnitude up to which values at ``exchange_id`` fit the carried scale; None where there is none to carry."""
        before = self._before.get(exchange_id)
        return self.HEADROOM * before if before else None

    def encode_within(self, y: torch.Tensor, bound: float) -> tuple[npt.NDArray[np.int32], int]:
        """As :meth:`encode` under the scale of ``bound``; what exceeds it is sent as the bound.

        Raises:
            OfframpError: no scale fits ``bound``.
        """
        return self._quantise(y.nan_to_num(bound, bound, -bound).clamp(-bound, bound), bound)

    def settle(self, y: torch.Tensor, exchange_id: ExchangeId, bound: float) -> bool:
        """Whether ``y`` fitted ``bound`` on every worker; notes what the next epoch will carry."""
        self._before[exchange_id] = largest = self._largest(y)
        return largest <= bound

    def encode_first(self, y: torch.Tensor, exchange_id: ExchangeId) -> tuple[npt.NDArray[np.int32], int]:
        """As :meth:`encode`; notes what the next epoch will carry."""
        self._before[exchange_id] = largest = self._largest(y)
        return self._quantise(y, largest)
