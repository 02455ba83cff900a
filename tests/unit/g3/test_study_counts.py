# SPDX-License-Identifier: Apache-2.0
"""A short run on a modelled clock: its share of right answers and its bytes are counted over all workers."""

from __future__ import annotations

import pytest
import torch

from offramp.graph.generate import generate
from offramp.train.settings import TrainSettings
from offramp_sim.g3.study import COMPUTE_S, RATE_BPS, train_here


def test_a_run_of_two_workers() -> None:
    graph = generate("sbm:n=60,k=2,degree=4,features=4", None, 0)
    settings = TrainSettings(workers=2, epochs=2, hidden=4, propagator="p2p")
    threads = torch.get_num_threads()
    run = train_here(graph, settings)
    assert torch.get_num_threads() == threads
    tested = int(graph.test.sum())
    hits = run.test_accuracy * tested
    assert hits == pytest.approx(round(hits), abs=1e-4)
    assert 0 < hits <= tested
    assert len(run.epochs) == 2
    seconds = sum(epoch.seconds for epoch in run.epochs)
    assert seconds > 2 * COMPUTE_S
    assert 0 < run.payload_bytes <= 2 * seconds * RATE_BPS / 8
