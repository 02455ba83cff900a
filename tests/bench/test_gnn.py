# SPDX-License-Identifier: Apache-2.0
"""Epochs and accuracy of PyG's models beside PyG itself: processor time, in turns in one process."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

import gnn_bench  # noqa: E402
from offramp.workers.group import Group  # noqa: E402
from offramp.workers.processes import run_workers  # noqa: E402

pytestmark = pytest.mark.bench
GRAPHS = Path(__file__).parents[3] / "shared" / "data"
ITEMS = {
    "cora": (str(GRAPHS / "cora.npz"), 5, 60),
    "citeseer": (str(GRAPHS / "citeseer.npz"), 5, 60),
    "facebook": (str(GRAPHS / "facebook.npz"), 5, 6),
    "sbm": ("sbm:n=10000,k=16", 5, 6),
}


@pytest.mark.parametrize("graph", ITEMS)
@pytest.mark.parametrize("ranks", [1, 2])
def test_beside_pyg(graph, ranks):
    item = ITEMS[graph]
    spec = item[0]
    if spec.endswith(".npz") and not Path(spec).exists():
        pytest.skip(f"{spec} is not there")
    rows = gnn_bench.compare(Group(), item, print) if ranks == 1 else run_workers(gnn_bench.compare, [item] * 2, print)
    for name, row in rows.items():
        print(  # noqa: T201 - the table of docs/results/training.md
            f"{graph} {name} {ranks} ranks: PyG {row['pyg_ms']:.1f} ms, ours {row['ours_ms']:.1f} ms "
            f"({row['ours_ms'] / row['pyg_ms']:.2f}); accuracy {row['pyg_accuracy']:.4f} and "
            f"{row['ours_accuracy']:.4f}, standard error {row['standard_error']:.4f}"
        )
        assert abs(row["ours_accuracy"] - row["pyg_accuracy"]) < max(4 * row["standard_error"], 0.02)
