# SPDX-License-Identifier: Apache-2.0
"""Models of plain PyTorch on parts of a graph against one process. Blind to GPUs and to ranks on several machines."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import gnn_plain  # noqa: E402
from offramp import gnn  # noqa: E402
from offramp.workers.processes import run_workers  # noqa: E402
from offramp_base.errors import OfframpError  # noqa: E402


@pytest.fixture(scope="module")
def differences():
    return {ranks: run_workers(gnn_plain.compare, [None] * ranks, print) for ranks in (1, 2, 3)}


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_losses_and_gradients_are_those_of_one_process(differences, ranks):
    by_case = dict(differences[ranks])
    by_case.pop("dropout")
    assert ("ddp" in by_case) == (ranks > 1)
    assert max(by_case.values()) < 1e-12, by_case


def test_dropout_does_not_depend_on_the_number_of_ranks(differences):
    losses = [by_case["dropout"] for by_case in differences.values()]
    assert max(losses) - min(losses) < 1e-12
    kept = run_workers(gnn_plain.compare, [None], print)["dropout"]
    assert kept == losses[0]


def test_a_graph_that_does_not_fit_is_refused():
    data = gnn_plain.graph()
    with pytest.raises(OfframpError, match="owner: expected 50 ranks from 0 to 0"):
        gnn.partition(data, owner=[1] * 50)
    data.edge_index = data.edge_index + 10
    with pytest.raises(OfframpError, match="edge_index: expected vertices from 0 to 49"):
        gnn.partition(data)
    with pytest.raises(OfframpError, match="schedule g3: expected sequential or stale"):
        gnn.distribute(gnn_plain.make(), gnn_plain.graph(), schedule="g3")


def test_state_has_the_modules_names():
    model = gnn_plain.make()
    distributed = gnn.distribute(model, gnn_plain.graph())
    assert list(distributed.state_dict()) == list(model.state_dict())
    distributed.load_state_dict(gnn_plain.make().state_dict())


def test_whole_rows_have_a_limit():
    class Sorted(torch.nn.Module):
        def forward(self, x, edge_index):
            return x.sort(0).values

    part = gnn.partition(gnn_plain.graph())
    model = gnn.distribute(Sorted(), part)
    model(part.x, part.edge_index)
    assert model.gathered == {"sort": part.x.numel() * 8}
    with pytest.raises(OfframpError, match=r"vertices of all ranks, 2,400 bytes; .* allows 99"):
        gnn.distribute(Sorted(), part, gather_bytes=99)(part.x, part.edge_index)
