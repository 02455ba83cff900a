"""Workers as threads of one process, so that a whole group trains within a fast test."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch

from offramp.graph.data import Graph, build_graph
from offramp.train.group import Group


class ThreadGroup(Group):
    """The collectives of a group over shared memory; sums go in rank order."""

    def __init__(self, rank: int, slots: list[Any], barrier: threading.Barrier) -> None:
        self.rank, self.size = rank, len(slots)
        self._slots, self._barrier = slots, barrier

    def _all(self, item: Any) -> list[Any]:
        self._slots[self.rank] = item
        self._barrier.wait(60)
        items = list(self._slots)
        self._barrier.wait(60)
        return items

    def sum(self, values: torch.Tensor) -> torch.Tensor:
        return values.copy_(torch.stack(self._all(values.clone())).sum(0))

    def max(self, values: torch.Tensor) -> torch.Tensor:
        return values.copy_(torch.stack(self._all(values.clone())).amax(0))

    def gather(self, item: Any) -> list[Any] | None:
        items = self._all(item)
        return None if self.rank else items

    def exchange(self, rows: torch.Tensor, send: Sequence[int], receive: Sequence[int]) -> torch.Tensor:
        received = [parts[self.rank] for parts in self._all(rows.split(list(send)))]
        assert [len(part) for part in received] == list(receive)
        return torch.cat(received)

    def abort(self) -> None:
        self._barrier.abort()


def run_group(size: int, work: Callable[[ThreadGroup], Any]) -> list[Any]:
    """``work`` of every rank, in threads; results in rank order."""
    slots: list[Any] = [None] * size
    barrier = threading.Barrier(size)

    def run(rank: int) -> Any:
        group = ThreadGroup(rank, slots, barrier)
        try:
            return work(group)
        except BaseException:
            group.abort()
            raise

    with ThreadPoolExecutor(size) as pool:
        futures = [pool.submit(run, rank) for rank in range(size)]
    faults = [future.exception() for future in futures]
    for fault in sorted(filter(None, faults), key=lambda f: isinstance(f, threading.BrokenBarrierError)):
        raise fault
    return [future.result() for future in futures]


@pytest.fixture(autouse=True)
def _one_compute_thread() -> Iterator[None]:
    """Workers are threads already; more of them inside PyTorch only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def in_group() -> Callable[[int, Callable[[ThreadGroup], Any]], list[Any]]:
    return run_group


def small_graph(n: int = 40, edges: int = 110, features: int = 6, classes: int = 3, seed: int = 0) -> Graph:
    """A random graph whose features tell something about the labels."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % classes
    x = rng.normal(size=(n, features)).astype(np.float32)
    x[np.arange(n), labels] += 1.5
    pairs = rng.integers(0, n, (edges, 2))
    ends = pairs[:, 0], pairs[:, 1]
    return build_graph("random", n, ends, features=x, labels=labels, split="0.5/0.2/0.3", seed=seed)


@pytest.fixture
def graph() -> Graph:
    return small_graph()


@pytest.fixture
def make_graph() -> Callable[..., Graph]:
    return small_graph
