# SPDX-License-Identifier: Apache-2.0
"""A propagator: each worker's features go to all others, needed or not."""

from __future__ import annotations

from contextlib import nullcontext

import torch

from offramp.models.sparse import torch_csr
from offramp.train.halo import Halo
from offramp.train.job import WorkerJob
from offramp.train.propagators.base import Propagator
from offramp.train.propagators.registry import Propagation
from offramp.workers.group import Group


class Gathered(Propagator):
    """The halo plan says which features each worker needs; here it gets them from a sum over a table of all."""

    def __init__(self, group: Group, halo: Halo) -> None:
        super().__init__()
        self._group, self._halo, self._remote = group, halo, torch_csr(halo.remote)
        sent = torch.zeros(group.size, group.size, dtype=torch.int64)
        sent[group.rank] = torch.from_numpy(halo.send_counts)
        self._sent = group.sum(sent)

    def exchange(self, y: torch.Tensor) -> torch.Tensor:
        rank, pairs = self._group.rank, self._sent.ravel()
        ends = torch.cumsum(pairs, 0).view(self._sent.shape)
        table = torch.zeros(int(pairs.sum()), y.shape[1])
        start = int(ends[rank, 0] - self._sent[rank, 0])
        table[start : start + len(self._halo.send_rows)] = y[torch.from_numpy(self._halo.send_rows)]
        self._group.sum(table)
        parts = [table[ends[peer, rank] - self._sent[peer, rank] : ends[peer, rank]] for peer in range(len(ends))]
        return self._remote @ torch.cat(parts)


def _open(job: WorkerJob, group: Group) -> nullcontext[Propagator]:
    assert job.halo is not None
    return nullcontext(Gathered(group, job.halo))


gathered = Propagation(_open)
