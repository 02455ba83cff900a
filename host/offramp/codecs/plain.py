# SPDX-License-Identifier: Apache-2.0
"""Sends features unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import torch

from offramp.codecs.base import FeatureCodec
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from offramp.codecs.base import CodecSettings
    from offramp.graph.halo_plan import HaloMessage, HaloPlan
    from offramp.workers.mailbox import Key


class PlainCodec(FeatureCodec):
    """The values unchanged: 4 or 8 bytes each."""

    @classmethod
    def of(cls, settings: CodecSettings, plan: HaloPlan, rank: int) -> Self:  # noqa: ARG003
        """Numbers of the settings' type."""
        return cls(getattr(torch, settings.dtype))

    def __init__(self, dtype: torch.dtype) -> None:
        self._dtype = dtype

    def encode(self, x: torch.Tensor, message: HaloMessage, key: Key) -> torch.Tensor:  # noqa: ARG002
        """The bytes of the values."""
        return x[message.rows].to(self._dtype).contiguous().view(torch.uint8).view(-1)

    def decode(
        self, payload: torch.Tensor, message: HaloMessage, key: Key, out: torch.Tensor, *, add: bool = False
    ) -> None:
        """Write the same values that were encoded.

        Raises:
            OfframpError: another number of bytes.
        """
        shape = len(message.rows), out.shape[1]
        expected = shape[0] * shape[1] * self._dtype.itemsize
        if len(payload) != expected:
            raise OfframpError(
                f"worker {message.peer}, layer {key.layer}: message of {len(payload)} bytes, expected {expected}"
            )
        values = payload.view(self._dtype).view(shape).to(out.device)
        if add:
            out[message.rows] += values
        else:
            out[message.rows] = values.to(out.dtype)
