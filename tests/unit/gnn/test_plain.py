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


def distributed(forward, **fields):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.nn.Linear(gnn_plain.WIDTH, 4).double()

        def forward(self, x, edge_index):
            return forward(self.inner(x), edge_index)

    part = gnn.partition(gnn_plain.graph())
    return gnn.distribute(Model(), part)(part.x, part.edge_index)


REFUSED = {
    "transposed": (lambda x, _: x.t() @ x, "matmul of vertices that are not rows"),
    "attention": (lambda x, _: torch.softmax(x @ x.t(), -1) @ x, "matmul sums over all vertices|mixes"),
    "softmax": (lambda x, _: torch.softmax(x, 0), "softmax over all vertices"),
    "sorted": (lambda x, _: x.sort(dim=0)[0], "sort over all vertices"),
    "flipped": (lambda x, e: x[e.flip(0)[0]], "flip of an edge index"),
    "reordered": (lambda x, e: x[e[[1, 0]][0]], "rows of an edge index"),
    "columns": (lambda x, e: x.t()[:, e[0]], "not the first"),
    "joined": (lambda x, _: torch.cat([x, x]), "cat mixes vertices"),
    "foreign rows": (lambda _, e: torch.ones(7, 2)[e[0]], "7 rows, which are not the 50 own vertices"),
    "einsum": (lambda x, _: torch.einsum("nf,mf->nm", x, x), "einsum"),
    "largest at sources": (
        lambda x, e: torch.zeros(len(x)).double().scatter_reduce(0, e[0], x[e[1]][:, 0], "amax"),
        "at the sources of edges",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_mixes_vertices_is_refused(name):
    forward, message = REFUSED[name]
    with pytest.raises(OfframpError, match=message):
        distributed(forward)


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
