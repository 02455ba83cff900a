# SPDX-License-Identifier: Apache-2.0
"""Runs: when masks come, what they save, what they cost in accuracy."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from dgs_runs import planted, settings, train
from offramp.dgs.mask_file import load_masks, save_masks
from offramp.dgs.run import prepare, train_dgs
from offramp.dgs.settings import FREE, DgsSettings
from offramp.dgs.sidecar import Inline, Sidecar, SidecarProcess
from offramp.graph.load import load
from offramp.models import make_model, model_widths
from offramp_base.errors import OfframpError

DATA = Path(os.environ.get("OFFRAMP_DATA", Path(__file__).parents[4] / "shared" / "data"))
GRAPH = planted(n=200, columns=20, informative=6)[0]


@pytest.fixture(autouse=True)
def _one_compute_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def numbers(result) -> list[tuple[float, ...]]:
    return [(e.reported.loss, e.test_accuracy, *vars(e.reported.ledger).values()) for e in result.epochs]


@pytest.mark.full
def test_explanations_come_every_period() -> None:
    """As many as whole periods; masks take effect after the first, or ``lag`` batches later."""
    for lag, versions in ((0, [0, 1, 2, 2]), (3, [0, 0, 1, 2])):
        result = train(GRAPH, settings(epochs=4, period=7, lag=lag))
        batches = -(-int(max(prepare(GRAPH, settings())[0].train_counts)) // 16)
        total = 4 * batches
        assert result.epochs[-1].reported.explanations == total // 7
        expected = [max(0, (min(total, n * batches) - 1 - lag) // 7) for n in range(1, 5)]
        assert [e.reported.version for e in result.epochs] == expected, versions


@pytest.mark.full
def test_the_same_seed_gives_the_same_run() -> None:
    how = settings(epochs=3)
    assert numbers(train(GRAPH, how)) == numbers(train(GRAPH, how))
    assert numbers(train(GRAPH, how)) != numbers(train(GRAPH, replace(how, seed=1)))


@pytest.mark.full
def test_masks_save_and_both_save_most() -> None:
    """Bytes of the last epoch at equal fan-out: both masks below each, each below random; columns save their rate."""
    base = settings(epochs=4, period=4, partition="random", fanout=(4, 4))
    random = train(GRAPH, replace(base, sampler="random", columns=1.0))
    by_nodes = train(GRAPH, replace(base, columns=1.0))
    by_features = train(GRAPH, replace(base, node_mask=False, columns=0.85))
    masked_both = train(GRAPH, base)
    last = [run.epochs[-1].reported.ledger.total for run in (masked_both, by_nodes, by_features, random)]
    assert last[0] < min(last[1], last[2])
    assert max(last[1], last[2]) < last[3]
    assert last[1] <= 0.95 * last[3]
    assert last[0] <= 0.8 * last[3]
    saved = by_features.epochs[-1].reported.ledger.features / random.epochs[-1].reported.ledger.features
    assert saved == pytest.approx(0.85, abs=0.01)


@pytest.mark.full
def test_ladies_synchronises_each_layer_and_dgs_each_period() -> None:
    """A sum over all vertices for each layer of each batch; masks once a period, of the halo at most."""
    how = settings(epochs=4, period=4)
    ladies = train(GRAPH, replace(how, sampler="ladies", columns=1.0)).ledger
    batches = 4 * max(len(range(0, int(c), 16)) for c in prepare(GRAPH, how)[0].train_counts)
    ring = round(2 * 2 / 3 * 4 * GRAPH.vertices)
    assert ladies.synchronisation == 3 * 2 * batches * ring
    dgs = train(GRAPH, how)
    halos = sum(dgs.settings["remote_vertices"])
    updates = (batches - 1) // 4
    assert dgs.ledger.synchronisation == 0
    assert 0 < dgs.ledger.masks <= updates * (2 * 4 * halos + 3 * 2 * 3)
    once = train(GRAPH, replace(how, sampler="fastgcn", columns=1.0)).ledger
    assert once.synchronisation == 3 * ring


def test_cluster_gcn_fetches_nothing() -> None:
    ledger = train(GRAPH, settings(sampler="clustergcn")).ledger
    assert (ledger.rows, ledger.features, ledger.requests) == (0, 0, 0)
    assert ledger.gradients > 0


@pytest.mark.full
def test_fetching_for_explanations_is_counted() -> None:
    how = settings(epochs=3, partition="random")
    cache, fetch = train(GRAPH, how).ledger, train(GRAPH, replace(how, explain_features="fetch")).ledger
    assert (cache.explanation, cache.rows_explained) == (0, 0)
    assert fetch.rows_explained > 0
    assert fetch.explanation == fetch.rows_explained * (4 * GRAPH.width + 8)


@pytest.mark.parametrize("sampler", ["random", "fastgcn", "ladies"])
def test_random_columns_are_drawn_anew_each_period(sampler: str) -> None:
    whole = train(GRAPH, settings(sampler=sampler, columns=1.0)).ledger
    some = train(GRAPH, settings(sampler=sampler, columns=0.5)).ledger
    assert some.features == whole.features // 2
    assert whole.masks == 0
    assert some.masks > 0


@pytest.mark.full
@pytest.mark.parametrize("model", ["sage", "gcn", "gat"])
def test_every_model_learns(model: str) -> None:
    result = train(GRAPH, settings(model=model, epochs=6, fanout=(5, 5), lr=0.02))
    assert result.epochs[-1].reported.loss < 0.8 * result.epochs[0].reported.loss


def test_one_worker_has_nothing_to_explain() -> None:
    result = train_dgs(GRAPH, settings(workers=1))
    assert result is not None
    assert result.ledger.total == 0
    assert result.epochs[-1].reported.explanations == 0


@pytest.mark.full
def test_processes_with_a_process_beside_each_are_the_inline_run() -> None:
    """Gloo between workers, shared memory to the explanation: bit for bit the run of threads, with the same lag."""
    how = settings(workers=2, epochs=2, lag=2)
    sidecar = train_dgs(GRAPH, replace(how, explain="beside"))
    assert sidecar is not None
    inline = train(GRAPH, how)
    assert sidecar.epochs[-1].reported.explanations > 0
    assert [vars(e.reported.ledger) for e in sidecar.epochs] == [vars(e.reported.ledger) for e in inline.epochs]
    losses = [[e.reported.loss for e in run.epochs] for run in (sidecar, inline)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


def test_a_process_beside_that_ends_is_named() -> None:
    shard = prepare(GRAPH, settings())[1]
    parameters = 20 * 16 * 2 + 16 + 16 * 4 * 2 + 4
    process = SidecarProcess(shard)
    explanations = Sidecar(shard, process.handle)
    try:
        process._process.terminate()
        process._process.join()
        with pytest.raises(OfframpError, match=r"^worker 1: the process that explains its model has ended$"):
            explanations.start(np.zeros(parameters, np.float32), 1)
    finally:
        del explanations
        process.close()


def test_masks_of_a_version_belong_together_and_come_from_the_rows_received() -> None:
    shard = prepare(GRAPH, settings())[0]
    model = make_model(shard.settings, model_widths(shard.settings, shard.width, shard.classes))
    parameters = sum(p.numel() for p in model.parameters())
    explanations = Inline(shard)
    explanations.cache.received(shard.halo[:5], GRAPH.features[shard.halo[:5]], None)
    explanations.cache.received(shard.halo[:2], np.full((2, 1), 7, np.float32), np.array([3]))
    places, rows = explanations.cache.content()
    assert places.tolist() == [0, 1, 2, 3, 4]
    assert rows[0, 3] == 7
    assert rows[0, 4] == GRAPH.features[shard.halo[0], 4]  # what did not travel keeps its last value
    assert len(explanations.cache.missing) == len(shard.halo) - 5
    explanations.start(np.zeros(parameters, np.float32), 3)
    masks = explanations.take(wait=True)
    assert masks is not None
    assert masks.version == 3
    assert (len(masks.nodes), len(masks.features)) == (len(shard.halo), shard.width)


@pytest.mark.full
def test_masks_are_saved_and_go_on(tmp_path: Path) -> None:
    first = train(GRAPH, settings(epochs=3))
    path = str(tmp_path / "masks.npz")
    save_masks(path, first.masks)
    again = train(GRAPH, settings(epochs=1, masks=path))
    assert again.epochs[0].reported.version >= 1
    assert again.epochs[0].reported.ledger.total < 0.9 * first.epochs[0].reported.ledger.total
    with pytest.raises(OfframpError, match=r"nodes_3: missing, for workers 4$"):
        load_masks(path, 4)
    with pytest.raises(OfframpError, match=r"^node mask: expected "):
        train(planted(n=310, columns=20)[0], settings(masks=path))


@pytest.mark.full
@pytest.mark.parametrize("name", ["cora", "citeseer", "facebook"])
def test_saving_on_real_graphs(name: str) -> None:
    """Bytes of the last epoch on two workers, at equal fan-out: both masks save at least a fifth."""
    path = DATA / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"{path} is not on this machine")
    graph = load(path, 0)
    base = settings(workers=2, epochs=3, period=2, fanout=(3, 3), batch=100, partition="random", explain_epochs=15)
    totals = {
        what: train(graph, replace(base, **changes)).epochs[-1].reported.ledger.total
        for what, changes in {
            "random": {"sampler": "random", "columns": 1.0},
            "nodes": {"columns": 1.0},
            "features": {"node_mask": False},
            "both": {},
        }.items()
    }
    assert totals["both"] < totals["nodes"] < totals["random"], totals
    assert totals["both"] < totals["features"] < totals["random"], totals
    assert totals["both"] <= 0.8 * totals["random"], totals


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"fanout": (0, 5)}, "fanout 0,5: expected numbers of at least 1, or all"),
        ({"fanout": (5, 5, 5)}, "fanout 5,5,5: expected 2 numbers, one per layer"),
        ({"epsilon": 1.5}, "epsilon 1.5: expected -1 to 1"),
        ({"epsilon": float("nan")}, "epsilon nan: expected -1 to 1"),
        ({"sampler": "none"}, "sampler none: expected one of clustergcn, dgs, fastgcn, full, ladies, random"),
        ({"lag": 4}, "lag 4: expected 0 to 3, below period, or free"),
        ({"lag": FREE}, "lag free: goes with explain beside only"),
        ({"sampler": "ladies", "model": "gat"}, "sampler ladies: weighs neighbours, so not with model gat"),
        ({"sampler": "random", "node_mask": False}, "node_mask false: goes with sampler dgs only"),
        ({"period": 0}, "period 0: expected at least 1"),
    ],
)  # fmt: skip
def test_bad_settings(changes: dict[str, object], message: str) -> None:
    with pytest.raises(OfframpError) as error:
        settings(**changes)
    assert str(error.value) == message


def test_more_columns_than_features() -> None:
    with pytest.raises(OfframpError, match=r"^columns 21: the graph has 20 features$"):
        train(GRAPH, settings(columns=21))


def test_defaults_are_the_thesis() -> None:
    how = DgsSettings("test")
    assert (how.columns, how.epsilon, how.period, how.explain_epochs, how.threshold) == (0.85, 0.1, 30, 50, 0.01)
    assert (how.batch, how.hidden, how.layers) == (1024, 16, 2)
    assert DgsSettings("test", sampler="random").columns == 1
