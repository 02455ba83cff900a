# SPDX-License-Identifier: Apache-2.0
"""Features from worker to worker in a few bits per value, in one all-to-all, so that their time compares with sums'."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from offramp.codecs.base import CODECS
from offramp.models.sparse import torch_csr
from offramp.train.propagators.base import Propagator
from offramp.workers.all_to_all import all_to_all
from offramp.workers.mailbox import Key

if TYPE_CHECKING:
    from offramp.codecs.base import CodecSettings
    from offramp.graph.halo_plan import HaloPlan
    from offramp.workers.group import Group


class CodedPropagator(Propagator):
    """Encodes a message for each worker with the settings' codec, and sums what it decodes.

    Training sends the same messages through a mailbox, one by one as bins are computed. Here all are sent at once, as
    ``p2p`` sends sums' features.
    """

    def __init__(self, group: Group, plan: HaloPlan, settings: CodecSettings) -> None:
        """``plan`` has one bin, and its codec's messages have one length each."""
        super().__init__()
        self._group, self._plan = group, plan
        self._codec = CODECS.get(settings.codec).of(settings, plan, group.rank)
        self._sends = sorted(plan.sends, key=lambda message: message.peer)
        self._receives = sorted(plan.receives, key=lambda message: message.peer)
        self._own = plan.adjacency.shape[0]
        self._remote = torch_csr(plan.adjacency[:, self._own :].tocsr(), torch.float32)
        self._lengths: dict[int, list[int]] = {}
        self._step = 0

    def exchange(self, y: torch.Tensor) -> torch.Tensor:
        """Map ``(n, F)`` features of all own vertices to ``(n, F)`` sums over their remote neighbours."""
        self._step += 1
        size = self._group.size
        key = Key(self._step, 1, backward=False, bin=0)
        payloads = [self._codec.encode(y, message, key) for message in self._sends]
        send = [0] * size
        for message, payload in zip(self._sends, payloads, strict=True):
            send[message.peer] = len(payload)
        receive = self._lengths.get(y.shape[1])
        if receive is None:
            sizes = torch.tensor(send, dtype=torch.int64).reshape(size, 1)
            receive = self._lengths[y.shape[1]] = self._group.all_to_all(sizes, [1] * size, [1] * size).ravel().tolist()
        rows = torch.cat([*payloads, torch.zeros(0, dtype=torch.uint8)]).reshape(-1, 1)
        came = all_to_all(self._group, self.traffic, rows, send, receive).ravel()
        out = torch.zeros((len(self._plan.ids), y.shape[1]))
        ends = np.cumsum(receive)
        for message in self._receives:
            end = int(ends[message.peer])
            payload = came[end - receive[message.peer] : end].contiguous()
            self._codec.decode(payload, message, key, out)
        return self._remote @ out[self._own :]
