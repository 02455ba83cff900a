# SPDX-License-Identifier: Apache-2.0
"""Distributed training in one process: the reference that its runs equal to the last bit.

Workers are threads, and features go through memory as the integers that a switch adds. Gradients are summed by gloo as
between processes, because sums of floating-point numbers depend on their order.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import torch
import torch.distributed as dist

from offramp.train import plan_run
from offramp.train.run import train_rank
from offramp_base.progress import report
from offramp_sim.switchgnn import ThreadGroup

if TYPE_CHECKING:
    from offramp.train import Epoch, TrainSettings
    from offramp.train.job import WorkerJob

_TIMEOUT: Final = timedelta(seconds=60)


class GlooThreads(ThreadGroup):
    """Collectives of threads; sums and maxima go through gloo."""

    def __init__(self, rank: int, slots: list[Any], barrier: threading.Barrier, store: Any) -> None:
        super().__init__(rank, slots, barrier)
        options = dist.ProcessGroupGloo._Options()  # type: ignore[attr-defined]
        options._devices = [dist.ProcessGroupGloo.create_device(interface="lo")]
        options._timeout = _TIMEOUT
        self._gloo: Any = dist.ProcessGroupGloo(store, rank, len(slots), options)

    def sum(self, values: torch.Tensor) -> torch.Tensor:
        """Element-wise sum over workers, in place."""
        return self._reduce(values, dist.ReduceOp.SUM)

    def max(self, values: torch.Tensor) -> torch.Tensor:
        """Element-wise maximum over workers, in place."""
        return self._reduce(values, dist.ReduceOp.MAX)

    def _reduce(self, values: torch.Tensor, operation: Any) -> torch.Tensor:
        options = dist.AllreduceOptions()
        options.reduceOp = operation
        self._gloo.allreduce([values], options).wait()
        return values


def train_in_one_process(settings: TrainSettings) -> Sequence[Epoch]:
    """The epochs of training with the propagator and the codec of ``settings``.

    Raises:
        OfframpError: the graph cannot be read, or has too few vertices.
    """
    jobs = plan_run(settings.load(), settings).jobs([])
    store = dist.HashStore()  # type: ignore[attr-defined]
    slots, barrier = [None] * len(jobs), threading.Barrier(len(jobs))

    def work(rank: int, job: WorkerJob) -> Any:
        group = GlooThreads(rank, slots, barrier, store)
        try:
            return train_rank(group, job, lambda epoch: report("in one process", epoch.epoch, settings.epochs))
        except BaseException:
            group.abort()
            raise

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with ThreadPoolExecutor(len(jobs)) as pool:
            done = [pool.submit(work, rank, job) for rank, job in enumerate(jobs)]
        return list(done[0].result().epochs)
    finally:
        torch.set_num_threads(threads)
