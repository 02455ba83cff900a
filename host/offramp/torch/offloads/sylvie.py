# SPDX-License-Identifier: Apache-2.0
"""Sums in a few bits per value by Sylvie's quantiser, for gradients whose user accepts loss.

A reduce-scatter and an all-gather of quantised rows. Rounding errors of the values, and again of the sum, are kept and
added the next time (error feedback at both ends: Tang et al., DoubleSqueeze, ICML 2019).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
import torch.distributed as dist

from offramp.sylvie.quantiser import Codes, dequantise, quantise, row_bytes
from offramp.sylvie.streams import stream
from offramp.torch.offload import OFFLOADS, CollectiveCall, CollectiveRequest, DeclinedError, Offload, Result
from offramp.torch.place import OffloadGroup
from offramp.torch.settings import NetworkSettings

COLUMNS = 256
"""Number of values that share their bounds."""
Floats = npt.NDArray[np.float32]


@OFFLOADS.register("sylvie")
class Sylvie(Offload):
    """Lossy sums of float32 in backward passes; all ranks get the same bits."""

    kinds = ("all_reduce",)
    dtypes = (torch.float32,)

    def __init__(self, settings: NetworkSettings) -> None:
        super().__init__(settings)
        self._lost: dict[tuple[int, int], tuple[Floats, Floats]] = {}
        self._bits = settings.bits

    def takes(self, request: CollectiveRequest) -> bool:
        """Whether it is a sum in a backward pass, that is, of gradients: nothing else is known to tolerate loss."""
        return super().takes(request) and request.backward

    def open(self, place: OffloadGroup) -> None:
        """Remember who takes part."""
        self._place = place

    def all_reduce(self, values: torch.Tensor, call: CollectiveCall) -> Result:
        """The sum, rounded twice; ranks together decline values with an infinity or NaN."""
        ranks = self._place.size
        rows = -(-values.numel() // (ranks * COLUMNS))
        mine = np.zeros((ranks, rows, COLUMNS), np.float32)
        mine.reshape(-1)[: values.numel()] = values.numpy()
        key = call.position, values.numel()
        lost_out, lost_sum = self._lost.get(key, (np.zeros_like(mine), np.zeros((rows, COLUMNS), np.float32)))
        mine += lost_out
        finite = torch.tensor([int(np.isfinite(mine).all())])
        dist.all_reduce(finite, dist.ReduceOp.MIN, group=self._place.control)
        if not int(finite):
            raise DeclinedError("a value is infinite or NaN")
        sent = np.stack([self._encode(part, call, to) for to, part in enumerate(mine)])
        for to in range(ranks):
            mine[to] -= self._decode(sent[to], rows)
        received = torch.empty(sent.shape, dtype=torch.uint8)
        dist.all_to_all_single(received, torch.from_numpy(sent), group=self._place.control)
        total = lost_sum.copy()
        for part in received.numpy():
            total += self._decode(part, rows)
        out = self._encode(total, call, ranks)
        self._lost[key] = mine, total - self._decode(out, rows)
        every = torch.empty((ranks, len(out)), dtype=torch.uint8)
        dist.all_gather_into_tensor(every.view(-1), torch.from_numpy(out), group=self._place.control)
        parts = np.stack([self._decode(part, rows) for part in every.numpy()])
        return torch.from_numpy(parts.reshape(-1)[: values.numel()])

    def _encode(self, rows: Floats, call: CollectiveCall, use: int) -> npt.NDArray[np.uint8]:
        codes = quantise(rows, None, self._bits, stream(call.number, self._place.rank, use))
        parts = (codes.least, codes.greatest, codes.packed)
        return np.concatenate([np.ascontiguousarray(part).view(np.uint8).reshape(-1) for part in parts])

    def _decode(self, raw: npt.NDArray[np.uint8], rows: int) -> Floats:
        bounds = raw[: 8 * rows].view(np.float32)
        packed = raw[8 * rows :].reshape(rows, row_bytes(COLUMNS, self._bits))
        out = np.empty((rows, COLUMNS), np.float32)
        dequantise(Codes(packed, bounds[:rows], bounds[rows:]), self._bits, out)
        return out
