# SPDX-License-Identifier: Apache-2.0
"""Features in a few bits from worker to worker: the sums of a dense product, three workers as threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TYPE_CHECKING

import numpy as np
import pytest

from offramp.graph.generate import generate
from offramp.graph.halo_plan import plan_halo_features
from offramp.workers.group import Group

torch = pytest.importorskip("torch")

from offramp.train.settings import TrainSettings  # noqa: E402 - needs torch
from offramp_sim.exchanges.coded import CodedPropagator  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence

WORKERS, WIDTH = 3, 40


class Threads(Group):
    """A rank whose all-to-all goes through memory that all ranks share."""

    size = WORKERS

    def __init__(self, rank: int, shared: list[list[torch.Tensor]], barrier: Barrier) -> None:
        self.rank, self._shared, self._barrier = rank, shared, barrier

    def all_to_all(self, rows: torch.Tensor, send: Sequence[int], receive: Sequence[int]) -> torch.Tensor:
        self._shared[self.rank] = list(rows.split(list(send)))
        self._barrier.wait(60)
        received = torch.cat([self._shared[peer][self.rank] for peer in range(self.size)])
        self._barrier.wait(60)
        assert len(received) == sum(receive)
        return received


@pytest.mark.parametrize(("codec", "tolerance"), [("fp32", 1e-5), ("q8", 0.05)])
def test_sums_are_those_of_a_dense_product(codec: str, tolerance: float) -> None:
    graph = generate("sbm:n=90,k=3,degree=8", "1/0/0", 2)
    owner = (np.arange(graph.vertices) % WORKERS).astype(np.int32)
    plans = list(plan_halo_features(graph, owner, WORKERS))
    settings = TrainSettings(propagator="p2p", workers=WORKERS, schedule="sequential", bins=1, codec=codec)
    x = np.random.default_rng(0).standard_normal((graph.vertices, WIDTH)).astype(np.float32)
    dense = np.zeros((graph.vertices, graph.vertices), np.float32)
    dense[np.repeat(np.arange(graph.vertices), graph.degrees), graph.indices] = 1
    dense[owner[:, np.newaxis] == owner] = 0
    expected = dense @ x
    shared: list[list[torch.Tensor]] = [[] for _ in plans]
    barrier = Barrier(WORKERS)

    def run(rank: int) -> tuple[list[torch.Tensor], int]:
        propagator = CodedPropagator(Threads(rank, shared, barrier), plans[rank], settings)
        own = torch.from_numpy(x[owner == rank])
        return [propagator.exchange(own) for _ in range(2)], propagator.traffic.payload_up

    with ThreadPoolExecutor(WORKERS) as pool:
        results = list(pool.map(run, range(WORKERS)))
    for rank, (sums, _) in enumerate(results):
        for each in sums:
            error = np.abs(each.numpy() - expected[owner == rank]).max() / np.abs(expected).max()
            assert error <= tolerance
    bytes_of_a_copy = sum(sent for _, sent in results) / 2 / sum(len(plan.received) for plan in plans)
    assert bytes_of_a_copy == 4 * WIDTH if codec == "fp32" else WIDTH < bytes_of_a_copy < 1.5 * WIDTH
