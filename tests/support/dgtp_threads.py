# SPDX-License-Identifier: Apache-2.0
"""The processes of a DGTP run as threads of this one: a group of ranks that meet in memory."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TYPE_CHECKING, Any

from offramp.dgtp.runtime.process import run_process
from offramp.workers.group import Group
from offramp_base.listening import Token

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

    from offramp.dgtp.runtime.job import ProcessJob, ProcessOutcome

WAIT_S = 120


class Threads(Group):
    """A rank that meets the others in a list that all share."""

    def __init__(self, rank: int, size: int, shared: list[Any], barrier: Barrier, token: Token) -> None:
        self.rank, self.size, self.token = rank, size, token
        self._shared, self._barrier = shared, barrier

    def _everyones(self, item: Any) -> list[Any]:
        self._shared[self.rank] = item
        self._barrier.wait(WAIT_S)
        items = list(self._shared)
        self._barrier.wait(WAIT_S)
        return items

    def introduce(self, row: bytes) -> list[bytes]:
        return self._everyones(row)

    def gather(self, item: Any, kind: Any) -> list[Any] | None:
        return self._everyones(item) if self.rank == 0 else self._everyones(item) and None

    def max(self, values: torch.Tensor) -> torch.Tensor:
        self._everyones(None)
        return values


def run_in_threads(jobs: Sequence[ProcessJob]) -> list[ProcessOutcome]:
    """Run all processes of a run; returns their outcomes by rank."""
    size = len(jobs)
    shared: list[Any] = [None] * size
    barrier, token = Barrier(size), Token.random()

    def run(rank: int) -> list[ProcessOutcome] | None:
        try:
            return run_process(Threads(rank, size, shared, barrier, token), jobs[rank], lambda _: None)
        except BaseException:
            barrier.abort()
            raise

    with ThreadPoolExecutor(size) as pool:
        (outcomes,) = [each for each in pool.map(run, range(size)) if each is not None]
    return outcomes
