# SPDX-License-Identifier: Apache-2.0
"""A codec: features as numbers of 16 bits."""

from __future__ import annotations

from typing import Self

import torch

from offramp.codecs.base import CodecSettings, FeatureCodec
from offramp.graph.halo_plan import HaloMessage, HaloPlan
from offramp.workers.mailbox import Key
from offramp_base.errors import OfframpError


class HalfCodec(FeatureCodec):
    """Each value rounded to bfloat16: the first 16 bits of a float32."""

    bits = 16

    @classmethod
    def of(cls, settings: CodecSettings, plan: HaloPlan, rank: int) -> Self:
        return cls()

    def encode(self, x: torch.Tensor, message: HaloMessage, key: Key) -> torch.Tensor:
        return x[message.rows].to(torch.bfloat16).view(torch.uint8).view(-1)

    def decode(
        self, payload: torch.Tensor, message: HaloMessage, key: Key, out: torch.Tensor, *, add: bool = False
    ) -> None:
        if len(payload) != 2 * len(message.rows) * out.shape[1]:
            raise OfframpError(f"worker {message.peer}: message of {len(payload)} bytes, expected another number")
        values = payload.view(torch.bfloat16).view(len(message.rows), out.shape[1])
        if add:
            out[message.rows] += values
        else:
            out[message.rows] = values.to(out.dtype)
