# SPDX-License-Identifier: Apache-2.0
"""The comparison of PyG's own tests with distributed twins, on a test of three calls.

All of PyG's tests are for ``python tests/support/pyg_twin.py``, which needs a checkout of PyG (docs/gnn.md).
"""

from __future__ import annotations

import json

import pytest

pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

import pyg_twin
from offramp.workers.processes import run_workers

TEST = """
import torch
from torch_geometric.nn import BatchNorm, GCNConv, SAGEConv

def test_three_calls():
    x, e = torch.randn(6, 4), torch.tensor([[0, 1, 2, 3, 4], [1, 2, 3, 4, 5]])
    assert GCNConv(4, 3)(x, e).shape == (6, 3)
    assert SAGEConv((4, 4), 3)((x, x[:5]), e.clamp(max=4)).shape == (5, 3)
    assert BatchNorm(4)(x).shape == (6, 4)
"""


def test_calls_of_a_test_are_compared_on_two_ranks(tmp_path):
    path = tmp_path / "test_layers.py"
    path.write_text(TEST)
    outcomes = run_workers(pyg_twin.work, [([str(path)], tmp_path / "out")] * 2, print)
    (calls,) = outcomes.values()
    assert [call.partition(":")[0] for call in calls] == ["GCNConv", "SAGEConv", "BatchNorm"]
    assert {call.partition(": ")[2] for call in calls} <= {"exact", "gathered"}
    assert pyg_twin.summary(outcomes)["different"] == {}
    assert json.loads((tmp_path / "out").read_text())["calls"] == calls


def test_a_summary_counts_tests_by_their_worst_call():
    calls = {
        "a": ["X: exact", "X: DIFFERENT: by 1"],
        "b": ["X: gathered", "Y: refused: why"],
        "c": ["X: not compared: y"],
    }
    table = pyg_twin.summary(calls)
    assert table["tests"] == {"DIFFERENT": 1, "refused": 1, "not compared": 1}
    assert list(table["different"]) == ["a"]
