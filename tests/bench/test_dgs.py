# SPDX-License-Identifier: Apache-2.0
"""The speed of drawing batches on one worker: neighbours, numbering, views; beside PyG's loader if it is installed.

Run by hand: ``pytest -s -m bench tests/bench/test_dgs.py``. The numbers of ``docs/results/training.md`` come from here.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from offramp.dgs import sampling
from offramp.dgs.messenger import Messenger
from offramp.dgs.sampler import BatchSampler
from offramp.dgs.settings import DgsSettings
from offramp.dgs.shard import split
from offramp.graph.generate import generate
from offramp.workers.group import Group

BATCH = 1024
BATCHES = 20

pytestmark = [pytest.mark.bench, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def graph():
    return generate("ba:n=200000,m=16,features=64", "0.5/0.2/0.3", 1)


def best(work: Callable[[], int]) -> float:
    """Neighbours per second of processor time, the best of three."""
    rates = []
    for _ in range(3):
        start = time.process_time()
        drawn = work()
        rates.append(drawn / (time.process_time() - start))
    return max(rates)


@pytest.mark.parametrize("fanout", [(10, 10), (25, 10), (64, 64)])
def test_batches(graph, fanout: tuple[int, int]) -> None:
    """One thread, everything on one worker."""
    torch.set_num_threads(1)
    how = DgsSettings("bench", workers=1, fanout=fanout, batch=BATCH, sampler="random")
    shard = split(graph, np.zeros(graph.vertices, np.int32), how)[0]
    sampler = BatchSampler(shard, Messenger(Group()))
    rows, seeds = shard.rows, shard.train[: BATCH * BATCHES].reshape(BATCHES, BATCH)
    weights, owner = np.ones(graph.vertices), (np.arange(graph.vertices) % 2).astype(np.int32)

    def uniform() -> int:
        return sum(len(sampling.uniform(rows, each, each, fanout[0], n).neighbours) for n, each in enumerate(seeds))

    def weighted() -> int:
        args = weights, owner, 0, 1
        return sum(
            len(sampling.weighted(rows, each, each, fanout[0], n, *args).neighbours) for n, each in enumerate(seeds)
        )

    def batches() -> int:
        return sum(sampler.sample(each, n + 1).edges for n, each in enumerate(seeds))

    def fetched() -> int:
        total = 0
        for n, each in enumerate(seeds):
            batch = sampler.sample(each, n + 1)
            sampler.features(batch.sources, n + 1)
            total += batch.edges
        return total

    shown = {
        "draws, alike": uniform,
        "draws, by weight": weighted,
        "two-hop batches": batches,
        "with features": fetched,
    }
    for name, work in shown.items():
        print(f"fan-out {fanout}: {name}: {best(work) / 1e6:.2f} M neighbours/s")  # noqa: T201


def test_pyg(graph) -> None:
    """PyTorch Geometric's loader on the same graph, where it and its sampler are installed."""
    loader = pytest.importorskip("torch_geometric.loader")
    data = pytest.importorskip("torch_geometric.data")
    if not any(map(_installed, ("pyg_lib", "torch_sparse"))):
        pytest.skip("PyG's NeighborLoader needs pyg-lib or torch-sparse")
    rows = np.repeat(np.arange(graph.vertices), graph.degrees)
    edges = torch.from_numpy(np.stack([graph.indices, rows]))
    whole = data.Data(x=torch.from_numpy(graph.features), edge_index=edges)
    nodes = torch.from_numpy(np.flatnonzero(graph.train)[: BATCH * BATCHES])
    for fanout in ([10, 10], [25, 10], [64, 64]):
        batches = loader.NeighborLoader(whole, fanout, input_nodes=nodes, batch_size=BATCH)

        def work(batches=batches) -> int:
            return sum(int(batch.edge_index.shape[1]) for batch in batches)

        print(f"PyG, fan-out {fanout}: {best(work) / 1e6:.2f} M neighbours/s")  # noqa: T201


def _installed(name: str) -> bool:
    from importlib.util import find_spec

    return find_spec(name) is not None


def test_feature_selection() -> None:
    """A third of the columns of scattered rows, as an owner answers a pull."""
    from offramp.dgs.selection import select

    x = np.random.default_rng(0).normal(size=(50_000, 256)).astype(np.float32)
    rows, columns = np.random.default_rng(1).integers(0, 50_000, 50_000), np.arange(0, 256, 3)
    ways = SimpleNamespace(numpy=lambda: x[rows][:, columns], ours=lambda: select(x, rows, columns))
    for name, way in vars(ways).items():
        rate = best(lambda way=way: way().size)
        print(f"selection, {name}: {4 * rate / 1e9:.2f} GB/s")  # noqa: T201
