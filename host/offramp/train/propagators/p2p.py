# SPDX-License-Identifier: Apache-2.0
"""Peer-to-peer propagation: workers send boundary features to each other, like BNS-GCN with p = 1."""

from __future__ import annotations

from contextlib import nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch

from offramp.models.sparse import torch_csr
from offramp.switchgnn.sum_codec import ExactCodec, FixedPointCodec
from offramp.train.propagators.base import Propagator
from offramp.train.propagators.registry import IN_TURN, Propagation
from offramp.workers.all_to_all import all_to_all

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    import numpy.typing as npt
    import scipy.sparse as sp

    from offramp.switchgnn.sum_codec import SumCodec
    from offramp.train.halo import Halo
    from offramp.train.job import WorkerJob
    from offramp.workers.group import Group


class P2pPropagator(Propagator):
    """Sends each boundary feature once to every worker that needs it, which sums what it receives.

    With a codec, features are sent as the integers that the switch would get, and summed as integers.
    """

    def __init__(
        self, group: Group, halo: Halo, codec: SumCodec | None = None, dtype: torch.dtype = torch.float32
    ) -> None:
        """``codec``: :class:`~offramp.switchgnn.sum_codec.ExactCodec` by default."""
        super().__init__()
        self._group = group
        self._codec = codec or ExactCodec()
        self.on_device = isinstance(self._codec, ExactCodec)
        self._rows = torch.from_numpy(halo.send_rows)
        self._send = halo.send_counts.tolist()
        self._receive = halo.receive_counts.tolist()
        self._remote = halo.remote
        self._remote_float = torch_csr(halo.remote, dtype)

    @cached_property
    def _remote_integer(self) -> sp.csr_matrix:
        """The matrix that integers are summed with; only a codec of integers needs it."""
        return self._remote.astype(np.int64)

    def exchange(self, y: torch.Tensor) -> torch.Tensor:
        """Exchange ``(b, F)`` features for ``(b, F)`` sums."""
        return self._codec.sums(y, self.exchange_id, self._add, lambda *_: None)

    def _add(self, values: torch.Tensor | npt.NDArray[np.int32]) -> torch.Tensor | npt.NDArray[np.int64]:
        """Sums of other workers' values, in the number format of this one's."""
        if isinstance(values, torch.Tensor):
            self._remote_float = self._remote_float.to(values.device)
            return self._remote_float @ self._all_to_all(values)
        sums: npt.NDArray[np.int64] = self._remote_integer @ self._all_to_all(torch.from_numpy(values)).numpy()
        return sums

    def _all_to_all(self, vectors: torch.Tensor) -> torch.Tensor:
        return all_to_all(self._group, self.traffic, vectors[self._rows], self._send, self._receive)


class SequentialPropagator(P2pPropagator):
    """Sums the rows of one other worker at a time and drops them (SAR, sequential aggregation; Mostafa 2022).

    In round ``r`` a worker sends to the ``r``-th worker after it and receives from the ``r``-th before it. Sums are
    linear, so their gradients need no rows: what SAR fetches again for attention is not needed here.

    Attributes:
        held: most bytes of other workers' rows at one time, those of the worker that sends the most.
    """

    def __init__(
        self, group: Group, halo: Halo, codec: SumCodec | None = None, dtype: torch.dtype = torch.float32
    ) -> None:
        """Create it like :class:`P2pPropagator`."""
        super().__init__(group, halo, codec, dtype)
        self.held = 0
        ends, starts = np.cumsum(halo.receive_counts), np.cumsum(halo.send_counts)
        columns = halo.remote.tocsc()
        self._senders = [columns[:, end - count : end].tocsr() for count, end in zip(self._receive, ends, strict=True)]
        self._floats = [torch_csr(part, dtype) for part in self._senders]
        self._leaving = [self._rows[end - count : end] for count, end in zip(self._send, starts, strict=True)]

    def _add(self, values: torch.Tensor | npt.NDArray[np.int32]) -> torch.Tensor | npt.NDArray[np.int64]:
        size, rank = self._group.size, self._group.rank
        exact = not isinstance(values, torch.Tensor)
        vectors = values if isinstance(values, torch.Tensor) else torch.from_numpy(values)
        sums: Any = np.zeros(vectors.shape, np.int64) if exact else torch.zeros_like(vectors)
        for turn in range(1, size):
            to, source = (rank + turn) % size, (rank - turn) % size
            send, receive = [0] * size, [0] * size
            send[to], receive[source] = self._send[to], self._receive[source]
            rows = all_to_all(self._group, self.traffic, vectors[self._leaving[to]], send, receive)
            self.held = max(self.held, rows.nbytes)
            if exact:
                sums += self._senders[source].astype(np.int64) @ rows.numpy()
            else:
                self._floats[source] = self._floats[source].to(rows.device)
                sums += self._floats[source] @ rows
        total: torch.Tensor | npt.NDArray[np.int64] = sums
        return total


def _open(job: WorkerJob, group: Group) -> AbstractContextManager[Propagator]:
    assert job.halo is not None
    codec = FixedPointCodec(group, job.fan_in) if job.settings.codec == "fixed" else None
    kind = SequentialPropagator if job.settings.peers == IN_TURN else P2pPropagator
    return nullcontext(kind(group, job.halo, codec, getattr(torch, job.settings.dtype)))


P2P: Final = Propagation(_open)
