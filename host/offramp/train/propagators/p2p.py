# SPDX-License-Identifier: Apache-2.0
"""Workers send their boundary features to each other, as BNS-GCN with p = 1 does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from offramp.models.sparse import torch_csr
from offramp.train.propagators.base import Propagator
from offramp.workers.all_to_all import all_to_all

if TYPE_CHECKING:
    from offramp.train.codec import FixedPointCodec
    from offramp.train.halo import Halo
    from offramp.workers.group import Group


class P2pPropagator(Propagator):
    """Each boundary feature goes once to every worker that needs it, which adds up what it received.

    With a codec, features travel as the integers that the switch would get, and are added as integers.
    """

    def __init__(
        self, group: Group, halo: Halo, codec: FixedPointCodec | None = None, dtype: torch.dtype = torch.float32
    ) -> None:
        super().__init__()
        self._group = group
        self._codec = codec
        self._rows = torch.from_numpy(halo.send_rows)
        self._send = halo.send_counts.tolist()
        self._receive = halo.receive_counts.tolist()
        self._remote_float = torch_csr(halo.remote, dtype)
        self._remote_integer = halo.remote.astype(np.int64)

    def exchange(self, y: torch.Tensor) -> torch.Tensor:
        """``(b, F)`` to ``(b, F)``."""
        if self._codec is None:
            return self._remote_float @ self._all_to_all(y)
        values, exponent = self._codec.encode(y)
        received = self._all_to_all(torch.from_numpy(values)).numpy()
        return self._codec.decode(self._remote_integer @ received.astype(np.int64), exponent)

    def _all_to_all(self, rows: torch.Tensor) -> torch.Tensor:
        return all_to_all(self._group, self.traffic, rows[self._rows], self._send, self._receive)
