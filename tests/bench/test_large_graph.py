# SPDX-License-Identifier: Apache-2.0
"""A graph larger than memory: cut into a store, an epoch of sampled GraphSAGE on four ranks, PyG's loader beside it.

``OFFRAMP_LARGE_GRAPH`` names a folder for the graph and its store, 27 GB at full size; ``OFFRAMP_LARGE_VERTICES`` may
make it smaller. PyG's loader takes part where pyg-lib or torch-sparse is installed.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("torch")

import large_graph
from offramp.workers.processes import run_workers

pytestmark = pytest.mark.bench
VERTICES = int(os.environ.get("OFFRAMP_LARGE_VERTICES", "20000000"))
BATCHES = int(os.environ.get("OFFRAMP_LARGE_BATCHES", "0"))  # 0: an epoch
PARTS, WIDTH = 4, 128


@pytest.fixture(scope="module")
def folder() -> Path:
    if not (named := os.environ.get("OFFRAMP_LARGE_GRAPH")):
        pytest.skip("OFFRAMP_LARGE_GRAPH names no folder")
    return Path(named)


@pytest.fixture(scope="module")
def graph(folder: Path) -> Path:
    if not (folder / "g" / "train_mask.npy").exists():
        large_graph.write(folder / "g", VERTICES, 10 * VERTICES, WIDTH)
    return folder / "g"


@pytest.fixture(scope="module")
def store(graph: Path, folder: Path) -> Path:
    if not (folder / "store" / "manifest.json").exists():
        command = [sys.executable, "-m", "offramp", "graph", "partition", str(graph), str(folder / "store")]
        process = subprocess.Popen([*command, "--parts", str(PARTS)])
        _, status, usage = os.wait4(process.pid, 0)
        assert status == 0
        print(f"cut: {usage.ru_utime + usage.ru_stime:.0f} s of processor, peak {usage.ru_maxrss >> 10} MB")  # noqa: T201
    return folder / "store"


def test_an_epoch_beside_pyg(graph: Path, store: Path) -> None:
    rows = {}
    if find_spec("torch_sparse") or find_spec("pyg_lib"):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            rows["PyG"] = pool.apply(large_graph.pygs, (graph, PARTS * BATCHES))
    rows["ours"] = run_workers(large_graph.ours, [(str(store), BATCHES)] * PARTS, print, timeout_s=900)
    for name, row in rows.items():
        size = PARTS if name == "ours" else 1
        print(  # noqa: T201 - the table of docs/results/training.md
            f"{name}: {row.seconds:.1f} s, {size * row.seeds / row.seconds:,.0f} vertices/s, "
            f"{size * row.edges / row.seconds:,.0f} edges/s, peak of a process {row.peak / 1e9:.2f} GB, its own "
            f"{row.own / 1e9:.2f} GB"
        )
