# SPDX-License-Identifier: Apache-2.0
"""Models of PyG's own layers, unchanged, on 1 and 2 ranks (slow: 4) against PyG on the whole graph in one process.

Blind to GPUs, to compiled layers (torch.compile, TorchScript) and to PyG's optional libraries.
"""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

import gnn_models  # noqa: E402
from offramp import gnn  # noqa: E402
from offramp.workers.processes import run_workers  # noqa: E402
from offramp_base.errors import OfframpError  # noqa: E402

TEN = [*gnn_models.BASIC, "rgcn", "hgt"]  # and tgn and link, which have tests of their own
MORE = ["hetero", "weighted", "function", *(f"norm-{name}" for name in gnn_models.NORMS)]
SYLVIE = {"codec": "sylvie", "bits": 32}
BOUND = {"float64": 1e-10, "float32": 1e-5}


def everything(group, _, report):
    """One start of the ranks for all of it."""
    return {
        "float64": gnn_models.compare(group, ([*TEN, *MORE], "float64", {}), report),
        "float32": gnn_models.compare(group, ([*TEN, *MORE], "float32", {}), report),
        "sylvie": gnn_models.compare(group, (TEN, "float32", SYLVIE), report),
        "q8": gnn_models.compare(group, (["gat"], "float32", {"codec": "q8"}), report),
        "stale": gnn_models.compare(group, (["gat"], "float64", {"schedule": "stale"}), report),
        "link": {name: gnn_models.link(group, name, report) for name in BOUND},
        "dropout": gnn_models.dropout(group, "float64", report),
        "negatives": gnn_models.negatives(group, None, report),
        "tgn": {name: gnn_models.tgn(group, name, report) for name in BOUND},
    }


RANKS = [1, 2, pytest.param(4, marks=pytest.mark.slow)]


class Results(dict):
    """What each number of ranks has computed, when it is asked for."""

    def __missing__(self, ranks):
        self[ranks] = run_workers(everything, [None] * ranks, print)
        return self[ranks]


@pytest.fixture(scope="module")
def results():
    return Results()


@pytest.mark.full
@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("dtype", BOUND)
def test_losses_and_gradients_are_pygs(results, ranks, dtype):
    assert len(results[ranks][dtype]) == len(TEN) + len(MORE)
    far = {name: by for name, by in results[ranks][dtype].items() if not by < BOUND[dtype]}
    assert far == {}
    assert results[ranks]["link"][dtype] < BOUND[dtype]
    assert results[ranks]["tgn"][dtype] < BOUND[dtype]


@pytest.mark.parametrize("ranks", RANKS)
def test_sylvies_codec_of_32_bits_is_exact_in_float32(results, ranks):
    assert len(results[ranks]["sylvie"]) == len(TEN)
    assert max(results[ranks]["sylvie"].values()) < BOUND["float32"]


def test_few_bits_and_stale_rows_are_not(results):
    """So that the tests above see what travels."""
    assert results[1]["q8"]["gat"] < BOUND["float32"] < results[2]["q8"]["gat"] < 0.1
    assert results[1]["stale"]["gat"] < BOUND["float64"] < 1e-6 < results[2]["stale"]["gat"]


@pytest.mark.parametrize("ranks", RANKS[1:])
def test_dropout_does_not_depend_on_the_number_of_ranks(results, ranks):
    masked = [[torch.tensor(each) for each in results[count]["dropout"]] for count in (1, ranks)]
    assert max(gnn_models.worst(each, masked[0]) for each in masked) < 1e-12


@pytest.mark.parametrize("ranks", RANKS[1:])
def test_negative_pairs_do_not_depend_on_the_number_of_ranks(results, ranks):
    pairs, loss, gradient = results[1]["negatives"]
    others, its_loss, its_gradient = results[ranks]["negatives"]
    assert others == pairs
    assert its_loss == pytest.approx(loss, abs=1e-12)
    assert its_gradient == pytest.approx(gradient, abs=1e-12)


def test_compiled_layers_are_refused_by_name():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.jit.script(torch.nn.Linear(4, 4))

    with pytest.raises(OfframpError, match=r"inner \(RecursiveScriptModule\): is compiled"):
        gnn.distribute(Net(), gnn_models.graph(torch.float32))


def test_layers_without_parameters_so_far_are_refused_by_name():
    net = torch.nn.Sequential(torch.nn.LazyLinear(4))
    with pytest.raises(OfframpError, match=r"0\.weight: is lazy, without a shape so far; call the module once"):
        gnn.distribute(net, gnn_models.graph(torch.float32))
