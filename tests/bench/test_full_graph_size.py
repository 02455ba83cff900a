# SPDX-License-Identifier: Apache-2.0
"""An epoch of a graph of any size within a limit on each worker's memory; docs/results has the table.

``OFFRAMP_LARGE_VERTICES`` and ``OFFRAMP_WORKER_MEMORY`` (bytes) say how large, ``OFFRAMP_LARGE_WAY`` how messages
travel (G3's bins by default; ``--propagator switch --memory 64MB``). Nothing here passes or fails by time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.bench
VERTICES = int(os.environ.get("OFFRAMP_LARGE_VERTICES", "200000"))
MEMORY = int(os.environ.get("OFFRAMP_WORKER_MEMORY", "60000000"))
WAY = os.environ.get("OFFRAMP_LARGE_WAY", "--propagator p2p --schedule g3")
CLASSES, EDGES_EACH, NEAR = 8, 5, 0.8


def write_graph(path: Path, n: int) -> None:
    """Four fifths of the edges are within a sixteenth of the graph, the others anywhere."""
    rng = np.random.default_rng(0)
    count = EDGES_EACH * n
    ends = rng.integers(0, n, count)
    others = rng.integers(0, n, count)
    near = rng.random(count) < NEAR
    others[near] = np.clip(ends[near] + rng.integers(-n // 16, n // 16, int(near.sum())), 0, n - 1)
    labels = np.arange(n) * CLASSES // n
    features = rng.standard_normal((n, CLASSES), np.float32)
    features[np.arange(n), labels] += 1
    np.savez(
        path,
        adj_data=np.ones(count, np.int8),
        adj_indptr=np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=n))]),
        adj_indices=others[np.argsort(ends, kind="stable")],
        adj_shape=np.array([n, n]),
        attr=features,
        labels=labels,
    )


@pytest.mark.timeout(7200)
def test_an_epoch_within_a_limit(tmp_path: Path) -> None:
    file, out = tmp_path / "graph.npz", tmp_path / "run.json"
    write_graph(file, VERTICES)
    words = f"train --graph {file} --split 0.5/0.2/0.3 --workers 4 --partition chunk {WAY}"
    words += f" --hidden 16 --epochs 1 --timeout 1800 --worker-memory {MEMORY} --json {out}"
    subprocess.run([sys.executable, "-m", "offramp", *words.split()], check=True)
    result = json.loads(out.read_text("utf-8"))
    edges, (epoch,) = result["settings"]["edges"], result["per_epoch"]
    each_us = 1e6 * epoch["processor_seconds"] / edges
    print(f"{edges} edges: {epoch['seconds']:.1f} s, {each_us:.2f} us of processor each, {epoch['peak_bytes']} bytes")  # noqa: T201
    assert epoch["peak_bytes"] <= MEMORY
