# SPDX-License-Identifier: Apache-2.0
"""PyG's layers, norms, aggregations, poolings and models on ranks, each beside its twin in one process.

Blind to layers that need PyG's optional libraries (pyg-lib, torch-cluster, torch-sparse) and to float32 but in four.
"""

from __future__ import annotations

import collections
import sys

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

import gnn_layers  # noqa: E402
from offramp.workers.processes import run_workers  # noqa: E402

SOME = ["GCNConv", "GPSConv", "DNAConv", "EGConv", "HypergraphConv", "pool-TopK", "readout-median"]
NEEDS_LIBRARIES = {"PANConv", "pool-PAN"}


def test_some_layers():
    results = run_workers(gnn_layers.compare, [SOME] * 2, print)
    assert {name: result for name, result in results.items() if result not in ("exact", "gathered")} == {}
    assert results["GCNConv"] == results["EGConv"] == "exact"


@pytest.mark.full
@pytest.mark.parametrize("ranks", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_every_layer(ranks):
    results = run_workers(gnn_layers.compare, [[]] * ranks, print)
    counts = collections.Counter(result.partition(":")[0] for result in results.values())
    print(f"{len(results)} layers on {ranks} ranks: {dict(counts)}", file=sys.stderr)  # noqa: T201 - the shares
    ours = {name: result for name, result in results.items() if not result.startswith("fails in one process")}
    assert set(results) - set(ours) <= NEEDS_LIBRARIES
    assert {name: result for name, result in ours.items() if result not in ("exact", "gathered")} == {}
    assert counts["exact"] > 0.5 * len(ours)
