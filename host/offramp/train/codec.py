"""Boundary features as integers under a scale that all workers agree on (switchgnn.md section 3.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from offramp import fixed_point

if TYPE_CHECKING:
    import numpy.typing as npt

    from offramp.train.group import Group


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
        largest = y.abs().max().double() if y.numel() else torch.tensor(0.0, dtype=torch.float64)
        self._group.max(largest)
        exponent = fixed_point.scale_exponent(float(largest), self._fan_in)
        return fixed_point.quantise(y.numpy(), exponent), exponent

    @staticmethod
    def decode(sums: npt.NDArray[np.integer], exponent: int) -> torch.Tensor:
        """``(b, F)`` integer sums back to float32."""
        return torch.from_numpy(fixed_point.dequantise(sums, exponent, np.float32))
