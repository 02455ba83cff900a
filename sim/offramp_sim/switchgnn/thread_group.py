# SPDX-License-Identifier: Apache-2.0
"""All workers of a job as threads of one process: they meet in collectives, and at a switch in lockstep."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from offramp.workers.group import Group
from offramp.workers.launch import Launcher
from offramp.workers.mailbox import Mailbox, MemoryMailbox
from offramp.workers.processes import Work
from offramp_base.transport.base import LinkStats
from offramp_sim.switchgnn.lockstep import Lockstep

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from offramp.switchgnn.stats import WorkerStats

T = TypeVar("T")
TIMEOUT_S = 60


class ThreadGroup(Group):
    """The collectives of a group over shared memory; sums go in rank order."""

    def __init__(self, rank: int, slots: list[Any], barrier: threading.Barrier) -> None:
        self.rank, self.size = rank, len(slots)
        self.transport: Callable[[Callable[[], None]], None] = lambda deliver: deliver()
        self._slots, self._barrier = slots, barrier
        self._boxes: dict[int, Mailbox] = {}

    def _all(self, item: Any) -> list[Any]:
        self._slots[self.rank] = item
        self._barrier.wait(TIMEOUT_S)
        items = list(self._slots)
        self._barrier.wait(TIMEOUT_S)
        return items

    def sum(self, values: torch.Tensor) -> torch.Tensor:
        """Element-wise sum over workers, in place."""
        return values.copy_(torch.stack(self._all(values.clone())).sum(0))

    def max(self, values: torch.Tensor) -> torch.Tensor:
        """Element-wise maximum over workers, in place."""
        return values.copy_(torch.stack(self._all(values.clone())).amax(0))

    def gather(self, item: Any, kind: Any) -> list[Any] | None:  # noqa: ARG002
        """Everyone's ``item`` in rank order at rank 0, None elsewhere."""
        items = self._all(item)
        return None if self.rank else items

    def all_to_all(self, rows: torch.Tensor, send: Sequence[int], receive: Sequence[int]) -> torch.Tensor:
        """Exchange rows: takes those for each worker in rank order, returns those from each worker in rank order."""
        received = [parts[self.rank] for parts in self._all(torch.split(rows, list(send)))]
        assert [len(part) for part in received] == list(receive)
        return torch.cat(received)

    def introduce(self, row: bytes) -> list[bytes]:
        """Every worker's announcement, in rank order."""
        return self._all(row)

    def mailbox(self, timeout_s: float, link_bps: float | None) -> Mailbox:  # noqa: ARG002
        """Messages through shared memory, independent of the rate."""
        self._boxes = self._all({})[0]
        box = MemoryMailbox(self.rank, self._boxes, timeout_s, self.transport)
        self._all(None)  # nobody posts to a worker that has none yet
        return box

    def abort(self) -> None:
        """Let no other worker wait for this one."""
        self._barrier.abort()
        for box in list(self._boxes.values()):
            box.fail(RuntimeError(f"worker {self.rank} is gone"))


def run_group(size: int, work: Callable[[ThreadGroup], T]) -> list[T]:
    """Run ``work`` of every rank in threads; returns results in rank order, or raises the fault that came first."""
    slots: list[Any] = [None] * size
    barrier = threading.Barrier(size)
    faults: list[BaseException] = []

    def run(rank: int) -> T:
        group = ThreadGroup(rank, slots, barrier)
        try:
            return work(group)
        except BaseException as fault:
            faults.append(fault)
            group.abort()
            raise

    with ThreadPoolExecutor(size) as pool:
        futures = [pool.submit(run, rank) for rank in range(size)]
    if faults:
        raise faults[0]
    return [future.result() for future in futures]


class Threads(Launcher):
    """Ranks as threads of this process."""

    def run(self, work: Work, jobs: Sequence[Any] | None, kind: Any, report: Callable[[Any], None]) -> Any:  # noqa: ARG002
        """Run ``work`` of every rank; returns rank 0's result."""
        assert jobs is not None
        return run_group(len(jobs), lambda group: work(group, jobs[group.rank], report))[0]


@contextmanager
def open_threads(ranks: int, **_: Any) -> Iterator[Threads]:
    """Like :func:`offramp.workers.launch.open_launcher`; starts a thread for each job and ignores ``ranks``."""
    del ranks
    yield Threads()


class SharedLockstep:
    """One lockstep for workers that are threads: an exchange runs when all have arrived at it."""

    def __init__(self, lockstep: Lockstep) -> None:
        self._lockstep = lockstep
        workers = len(lockstep.endpoints)
        self._values: list[npt.NDArray[np.int32] | None] = [None] * workers
        self._sums: list[npt.NDArray[np.int64]] = []
        self._plan = 0
        self._fault: BaseException | None = None
        self._barrier = threading.Barrier(workers, self._run)
        lockstep.start()

    def end_of(self, worker: int) -> ThreadExchanger:
        """The end of ``worker``, which its thread calls."""
        return ThreadExchanger(self, worker)

    def stats(self, worker: int) -> WorkerStats:
        """Counts of what ``worker`` has sent and received so far."""
        return self._lockstep.endpoints[worker].stats

    def exchange(self, worker: int, plan_index: int, values: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """Exchange contributions for sums, like ``Worker.exchange``."""
        self._values[worker], self._plan = values, plan_index
        try:
            self._barrier.wait(TIMEOUT_S)
        except threading.BrokenBarrierError:
            raise self._fault or threading.BrokenBarrierError from None
        return self._sums[worker]

    def _run(self) -> None:
        try:
            values = [value for value in self._values if value is not None]
            self._sums = self._lockstep.exchange(self._plan, values)
        except BaseException as fault:
            self._fault = fault
            raise


@dataclass(frozen=True)
class ThreadExchanger:
    """One worker's end of a :class:`SharedLockstep`: an :class:`offramp.switchgnn.exchange.SwitchLink`."""

    shared: SharedLockstep
    worker: int

    @property
    def stats(self) -> WorkerStats:
        """Counts of what the worker has sent and received so far."""
        return self.shared.stats(self.worker)

    @property
    def link(self) -> LinkStats:
        """Description of the link: memory, which loses nothing."""
        return LinkStats()

    def exchange(self, plan_index: int, values: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """Exchange contributions for sums, like ``Worker.exchange``."""
        return self.shared.exchange(self.worker, plan_index, values)
