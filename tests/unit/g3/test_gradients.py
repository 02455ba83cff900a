# SPDX-License-Identifier: Apache-2.0
"""Gradients of messages, kept or streamed: the same bits in any order of the bins. Blind to their memory."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from offramp.g3.bins import Bins, Streamed
from offramp.g3.block import BipartiteBlock
from offramp.g3.gradients import MessageGradients
from offramp.g3.store import MappedStore, TensorStore
from offramp.graph.data import build_graph
from offramp.graph.halo_plan import HaloPlan
from offramp.train.planned import plan_run
from offramp.train.settings import TrainSettings

WIDTH = 5
SETTINGS = TrainSettings("random", workers=3, propagator="p2p", partition="hash", schedule="g3", bins=4)


@pytest.fixture
def plan() -> HaloPlan:
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 3
    ends = rng.integers(0, 60, (2, 200))
    features = rng.normal(size=(60, 6)).astype(np.float32)
    graph = build_graph("random", 60, (ends[0], ends[1]), features=features, labels=labels, split="0.5/0.2/0.3", seed=0)
    rows = plan_run(graph, SETTINGS).jobs([])[1].rows
    assert rows is not None
    return rows


def added(
    plan: HaloPlan, store: TensorStore, order: list[int], *, received: bool
) -> tuple[torch.Tensor, list[tuple[int, int, object]]]:
    """The sums after all bins have come in this order, and rows of each received message as it was complete."""
    bins = Bins(plan, torch.float32, store=store)
    own = plan.adjacency.shape[0]
    gradients = MessageGradients.of(store, bins, len(plan.ids), WIDTH, own, received=received)
    messages: list[tuple[int, int, object]] = []
    for index in order:
        block = bins.blocks[index]
        generator = torch.Generator().manual_seed(index)
        gradient = torch.randn(len(block.rows), WIDTH, generator=generator)
        messages += [
            (message.peer, message.bin, gradients.total[message.rows].tolist())
            for message in gradients.add(index, block, gradient)
        ]
    gradients.finish()
    return gradients.total.clone(), sorted(messages)


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]])
@pytest.mark.parametrize("received", [True, False])
def test_streamed_sums_have_the_same_bits_in_any_order(plan: HaloPlan, order: list[int], received: bool) -> None:
    kept, messages = added(plan, TensorStore(torch.float32), [0, 1, 2, 3], received=received)
    again, others = added(plan, MappedStore(torch.float32), order, received=received)
    assert torch.equal(kept, again)
    assert messages == others
    assert bool(messages) == received


def test_in_order_nothing_is_kept_and_no_block_is_made_twice(plan: HaloPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    store = MappedStore(torch.float32)
    bins = Bins(plan, torch.float32, store=store)
    taken: list[int] = []
    whole = Streamed.__getitem__

    def counted(blocks: Streamed, index: int) -> BipartiteBlock:
        taken.append(index)
        return whole(blocks, index)

    monkeypatch.setattr(Streamed, "__getitem__", counted)
    monkeypatch.setattr(store, "kept", lambda tensor: pytest.fail("a gradient was kept"))
    gradients = MessageGradients.of(store, bins, len(plan.ids), WIDTH, plan.adjacency.shape[0], received=True)
    for index in range(4):
        block = bins.blocks[index]
        gradients.add(index, block, torch.ones(len(block.rows), WIDTH))
    gradients.finish()
    assert taken == [0, 1, 2, 3]
