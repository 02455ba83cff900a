# SPDX-License-Identifier: Apache-2.0
"""``offramp gnn train``, ``predict`` and ``embed`` on a store of two parts. Blind to ranks that a launcher starts."""

from __future__ import annotations

import json
import os
import subprocess
import textwrap

import numpy as np
import pytest

torch = pytest.importorskip("torch")

MODEL = """
import torch


class Net(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.first, self.norm = torch.nn.Linear(inputs, 8), torch.nn.BatchNorm1d(8)
        self.last = torch.nn.Linear(8, outputs)

    def forward(self, x, edge_index):
        row, col = edge_index
        h = self.norm(self.first(x)).relu()
        return self.last(h + torch.zeros_like(h).index_add(0, col, h[row]))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory, offramp):
    path = tmp_path_factory.mktemp("gnn")
    (path / "net.py").write_text(textwrap.dedent(MODEL))
    assert offramp(path, "graph partition karate store --parts 2").returncode == 0
    return path


@pytest.fixture(scope="module")
def offramp(warm_folder):
    def run(folder, line):
        return subprocess.run(
            [warm_folder / "offramp", *line.split()],
            cwd=folder,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def karate():
    from offramp.graph.load import load

    graph = load("karate")
    rows = np.repeat(np.arange(graph.vertices), graph.degrees)
    return torch.from_numpy(graph.features), torch.from_numpy(np.stack([graph.indices, rows]))


@pytest.mark.full
def test_weights_predict_the_same_without_offramp(folder, offramp):
    done = offramp(
        folder,
        "gnn train store --model net.py:Net --epochs 12 --patience 4 --lr-schedule cosine --weight-decay 0.01 "
        "--metric f1 --checkpoint net.pt --json run.json",
    )
    assert done.returncode == 0, done.stderr
    run = json.loads((folder / "run.json").read_text())
    best = run["epochs"][run["best"] - 1]
    assert best["val"] == max(epoch["val"] for epoch in run["epochs"])
    assert len(run["epochs"]) <= min(12, run["best"] + 4)
    assert run["epochs"][-1]["lr"] < run["epochs"][0]["lr"]
    for command in ("predict", "embed"):
        done = offramp(folder, f"gnn {command} store net.pt --model net.py:Net --out {command}.npy")
        assert done.returncode == 0, done.stderr
    done = offramp(folder, "gnn predict store net.pt --out x.npy")  # the file may not name code to run
    assert done.returncode == 2
    assert "model (net.py:Net by their file): expected the model of these weights" in done.stderr
    space = {}
    exec(MODEL, space)
    x, edges = karate()
    alone = space["Net"](x.shape[1], np.load(folder / "predict.npy").shape[1])
    alone.load_state_dict(torch.load(folder / "net.pt", weights_only=True))
    alone.eval()
    assert np.abs(alone(x, edges).detach().numpy() - np.load(folder / "predict.npy")).max() < 1e-6
    h = alone.norm(alone.first(x)).relu()
    embedded = h + torch.zeros_like(h).index_add(0, edges[1], h[edges[0]])
    assert np.abs(embedded.detach().numpy() - np.load(folder / "embed.npy")).max() < 1e-5


@pytest.mark.full
def test_safetensors_load_in_pyg(folder, offramp):
    geometric = pytest.importorskip("torch_geometric.nn")
    safe = pytest.importorskip("safetensors.torch")
    x, edges = karate()
    for name, kind in (("gcn", geometric.GCN), ("gat", geometric.GAT)):
        options = "--hidden 8 --epochs 3 --norm batch --checkpoint w.safetensors"
        done = offramp(folder, f"gnn train store --model {name} {options}")
        assert done.returncode == 0, done.stderr
        assert offramp(folder, "gnn predict store w.safetensors --out p.npy").returncode == 0
        predictions = np.load(folder / "p.npy")
        model = kind(x.shape[1], 8, 2, predictions.shape[1], norm="batch")
        model.load_state_dict(safe.load_file(folder / "w.safetensors"))
        model.eval()
        assert np.abs(model(x, edges).detach().numpy() - predictions).max() < 1e-6


@pytest.mark.full
def test_through_the_switch_it_learns_the_same(folder, offramp):
    losses = []
    for options in ("", "--propagator switch"):
        done = offramp(folder, f"gnn train store --model gat --hidden 8 --epochs 4 --json run.json {options}")
        assert done.returncode == 0, done.stderr
        losses.append([epoch["loss"] for epoch in json.loads((folder / "run.json").read_text())["epochs"]])
    assert losses[1] == pytest.approx(losses[0], abs=1e-5)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("gnn train nowhere", "nowhere: expected a store of offramp graph partition; it has no manifest.json"),
        ("gnn train store --model nothing", "model nothing: expected gcn, sage, gat, gin, MODULE:NAME"),
        ("gnn train store --model net.py:Nut", "model net.py:Nut: cannot be imported"),
        ("gnn train store --model net.py:Net --edge-fields w", "store: has no w"),
        ("gnn train store --switch 127.0.0.1:1", "--switch: goes with --propagator switch only"),
        ("gnn train store --propagator switch --ports udp:127.0.0.1:1", "--switch and --ports go together"),
        ("gnn train store --propagator switch --codec q8", "--propagator switch: goes with --codec fp32"),
        ("gnn predict store net.py --out x.npy", "net.py: expected weights"),
    ],
)
def test_bad_input_is_one_line(folder, offramp, line, message):
    done = offramp(folder, line)
    assert done.returncode == 2
    said = done.stderr.strip().splitlines()
    assert message in done.stderr, done.stderr
    assert len(said) <= 3


@pytest.mark.full
def test_metrics_are_sklearns():
    from sklearn.metrics import f1_score, roc_auc_score

    from offramp.gnn import metrics
    from offramp.gnn.comm import Alone

    g = torch.Generator().manual_seed(1)
    scores, labels = torch.randn(60, 3, generator=g), torch.randint(3, (60,), generator=g)
    said = scores.argmax(1)
    assert metrics.f1(scores, labels, Alone()) == pytest.approx(f1_score(labels, said, average="macro"))
    assert metrics.accuracy(scores, labels, Alone()) == pytest.approx(float((said == labels).double().mean()))
    several = torch.rand(60, 3, generator=g) < 0.4
    assert metrics.f1(scores, several, Alone()) == pytest.approx(f1_score(several, scores > 0, average="micro"))
    tied = torch.round(scores[:, 0] * 2)
    assert metrics.auc(tied, labels > 1, Alone()) == pytest.approx(roc_auc_score(labels > 1, tied))
    assert metrics.mrr(torch.tensor([1.0, 0.0]), torch.tensor([[0.0, 2.0], [0.0, 1.0]]), Alone()) == pytest.approx(
        (1 / 2 + 1 / 2.5) / 2
    )
    assert metrics.hits(torch.tensor([1.0, 0.0]), torch.tensor([[0.0, 2.0], [2.0, 1.0]]), 2, Alone()) == 0.5


def test_a_graph_of_several_types_is_cut_and_its_classifier_refused(folder, offramp):
    for name, shape in (("author", (8, 2)), ("paper", (9, 3))):
        (folder / "typed" / name).mkdir(parents=True)
        np.save(folder / "typed" / name / "x.npy", np.ones(shape))
    (folder / "typed" / "author__writes__paper").mkdir()
    index = np.stack([np.arange(20) % 8, np.arange(20) % 9])
    np.save(folder / "typed" / "author__writes__paper" / "edge_index.npy", index)
    done = offramp(folder, "graph partition typed typed-store --parts 2 --json typed.json")
    assert done.returncode == 0, done.stderr
    assert "author 8, paper 9" in done.stdout
    assert "author writes paper 20" in done.stdout
    manifest = json.loads((folder / "typed.json").read_text())
    assert manifest["vertex_types"] == {"author": 8, "paper": 9}
    done = offramp(folder, "gnn train typed-store --model net.py:Net --epochs 1")
    assert done.returncode == 2
    assert done.stderr == "typed-store: has several types of vertices, expected one; others need their own loop\n"
