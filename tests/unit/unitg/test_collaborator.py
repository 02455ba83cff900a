# SPDX-License-Identifier: Apache-2.0
"""U9: the interval only shortens; rows are whole, and those never encoded stay as they were."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.unitg.collaborator import Collaborator, EmbeddingTable


def test_the_ladder() -> None:
    collaborator = Collaborator(1000)
    assert collaborator.intervals == [300, 200, 100, 20]
    seen = []
    for epoch in range(100):
        collaborator.observe(10 - 0.1 * epoch)
        seen.append(collaborator.interval)
    # The first loss is no fall: the average falls from the second epoch on, twenty times for each step.
    assert [epoch + 1 for epoch in range(1, 100) if seen[epoch] != seen[epoch - 1]] == [21, 41, 61]
    assert seen[-1] == 20


@pytest.mark.parametrize("spoil", [5.0, None])
def test_a_rise_starts_the_count_again(spoil: float | None) -> None:
    """A rise of the average, or no change of it, at the twentieth epoch."""
    collaborator = Collaborator(100)
    losses = [4 - 0.1 * i for i in range(20)]
    for loss in losses:
        collaborator.observe(loss)
    average = losses[0]
    for loss in losses[1:]:
        average = 0.8 * average + 0.2 * loss
    collaborator.observe(average if spoil is None else spoil)
    for i in range(19):
        collaborator.observe(1 - 0.01 * i)
    assert collaborator.interval == 30
    collaborator.observe(0)
    assert collaborator.interval == 20


@settings(derandomize=True, deadline=None)
@given(st.integers(1, 400), st.lists(st.floats(0, 10), max_size=200))
def test_never_longer_and_never_zero(epochs: int, losses: list[float]) -> None:
    collaborator = Collaborator(epochs)
    before = collaborator.interval
    assert before == max(1, round(0.3 * epochs))
    for loss in losses:
        collaborator.observe(loss)
        assert 1 <= collaborator.interval <= before
        before = collaborator.interval


def test_due_every_interval() -> None:
    collaborator = Collaborator(10)
    assert [epoch for epoch in range(1, 11) if collaborator.due(epoch)] == [4, 7, 10]


def test_rows_that_were_never_encoded_keep_the_data_sets_features() -> None:
    table, numeric = EmbeddingTable(4, 3), torch.arange(12.0).view(4, 3) + 1
    assert torch.equal(table.features(numeric)[0], numeric)
    table.put(torch.tensor([2, 0]), torch.tensor([[3.0, 0, 0], [0, 5.0, 0]]))
    features, count = table.features(numeric)
    length = float(numeric.norm(dim=1).mean())
    assert count == 2
    assert torch.equal(features[[1, 3]], numeric[[1, 3]])
    torch.testing.assert_close(features[[2, 0]], torch.tensor([[length, 0, 0], [0, length, 0]]))


def test_rows_are_never_torn() -> None:
    """One thread writes rows that point along an axis, another reads: no row is between two axes."""
    table, numeric, over = EmbeddingTable(200, 64), torch.ones(200, 64), threading.Event()
    ids = torch.arange(200)

    def write() -> None:
        axis = 0
        while not over.is_set():
            rows = torch.zeros(200, 64)
            rows[:, axis % 2 :: 2] = 1.0
            table.put(ids, rows)
            axis += 1

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        for _ in range(200):
            features, count = table.features(numeric)
            if count:
                even, odd = (features[:, i::2] != 0 for i in range(2))
                assert (even.all() and not odd.any()) or (odd.all() and not even.any())
    finally:
        over.set()
        writer.join(10)


@pytest.mark.full
def test_a_run_takes_embeddings_over(train: Any) -> None:
    outcome = train(epochs=8, lm_epochs=2, mode="sequential")
    assert outcome.epochs[0].embedded == 120
    alone = train(epochs=8, mode="alone")
    assert [e.embedded for e in alone.epochs] == [0] * 8
    assert outcome.epochs[0].loss != alone.epochs[0].loss
