# SPDX-License-Identifier: Apache-2.0
"""Whole runs of every training system on a GPU: the losses of the same run on the processor."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

GRAPH = ["--graph", "sbm:n=300,k=3,degree=8,features=24", "--epochs", "5", "--seed", "3"]
HASH = ["--partition", "hash"]
ROWS = [*HASH, "--propagator", "p2p", "--hidden", "16"]
UNITG = ["train", "unitg", *GRAPH, "--stages", "2", "--layers", "4"]
RUNS: dict[str, tuple[list[str], float]] = {
    "one process": (["train", *GRAPH, "--propagator", "local", "--workers", "1", "--dtype", "float64"], 1e-9),
    "p2p": (["train", *GRAPH, *ROWS, "--workers", "3", "--dtype", "float64", "--dropout", "0.3"], 1e-9),
    "switch": (["train", *GRAPH, *HASH, "--workers", "3", "--hidden", "16"], 1e-4),
    "strawman": (["train", *GRAPH, *HASH, "--workers", "2", "--hidden", "16", "--propagator", "strawman"], 1e-4),
    "q8 through the switch": (["train", *GRAPH, *HASH, "--workers", "2", "--scheme", "pairwise+q8"], 5e-2),
    "g3": (["train", *GRAPH, *ROWS, "--workers", "2", "--schedule", "g3", "--dtype", "float64"], 1e-9),
    "gat": (["train", *GRAPH, *ROWS, "--workers", "2", "--schedule", "sequential", "--model", "gat"], 1e-4),
    "stale": (["train", *GRAPH, *ROWS, "--workers", "2", "--schedule", "stale"], 1e-4),
    "sage, resgen": (["train", *GRAPH, *ROWS, "--workers", "2", "--schedule", "inter", "--model", "resgen"], 1e-3),
    "sylvie": (["train", *GRAPH, *ROWS, "--workers", "2", "--schedule", "sequential", "--codec", "q4"], 1e-2),
    "adaqp": (["train", *GRAPH, *ROWS, "--workers", "2", "--schedule", "sequential", "--codec", "adaqp"], 1e-2),
    "bns-gcn": (["train", *GRAPH, *ROWS, "--workers", "2", "--schedule", "sequential", "--sample", "0.3"], 1e-4),
    "dgs": (["train", "dgs", *GRAPH, *HASH, "--workers", "2", "--batch", "40"], 1e-3),
    "dgs, gat": (["train", "dgs", *GRAPH, *HASH, "--workers", "2", "--model", "gat", "--sampler", "random"], 1e-3),
    "torchgt": (["train", "torchgt", *GRAPH, "--workers", "2", "--dtype", "float64", "--dropout", "0.1"], 1e-7),
    "torchgt, gt": (["train", "torchgt", *GRAPH, "--model", "gt", "--attention", "topology", "--workers", "1"], 1e-3),
    "torchgt, full": (["train", "torchgt", *GRAPH, "--attention", "full", "--workers", "2"], 1e-3),
    "torchgt, bfloat16 wire": (["train", "torchgt", *GRAPH, "--workers", "2", "--wire", "bfloat16"], 2e-2),
    "unitg": ([*UNITG, "--mode", "alone"], 1e-3),
    "unitg, texts first": ([*UNITG, "--mode", "sequential"], 1e-2),
}
MIXED = {
    "p2p": (["train", *GRAPH, *ROWS, "--workers", "2"], 0.1),
    "dgs": (["train", "dgs", *GRAPH, *HASH, "--workers", "2", "--batch", "40", "--sampler", "random"], 0.1),
    "torchgt": (["train", "torchgt", *GRAPH, "--workers", "2", "--compile"], 0.1),
    "unitg": ([*UNITG, "--mode", "sequential", "--compile"], 0.2),
}


def offramp(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = "import sys; from offramp_cli import main; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TORCHINDUCTOR_COMPILE_THREADS": "1"},
    )


def losses(folder: Path, command: list[str], *more: str) -> list[float]:
    out = folder / f"{len(list(folder.iterdir()))}.json"
    done = offramp(*command, *more, "--json", str(out))
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(out.read_text())
    return [epoch["loss"] for epoch in result.get("per_epoch") or result["epochs"]]


@pytest.mark.parametrize("name", RUNS)
def test_a_run_on_the_gpu_has_the_losses_of_one_on_the_processor(name: str, tmp_path: Path) -> None:
    command, near = RUNS[name]
    expected = losses(tmp_path, command)
    assert len(expected) == 5
    assert losses(tmp_path, command, "--device", "cuda") == pytest.approx(expected, rel=near)


@pytest.mark.parametrize("name", MIXED)
def test_mixed_precision_and_compiled_layers_stay_near(name: str, tmp_path: Path) -> None:
    command, near = MIXED[name]
    expected = losses(tmp_path, [each for each in command if each != "--compile"])
    mixed = losses(tmp_path, command, "--device", "cuda", "--precision", "bfloat16")
    assert mixed == pytest.approx(expected, rel=near)
    assert mixed != pytest.approx(expected, rel=1e-9)


def test_a_language_model_in_bubbles_ends_beside_its_pipeline(tmp_path: Path) -> None:
    """The clock decides when embeddings are taken over, from the third epoch on."""
    expected, losses_here = losses(tmp_path, UNITG), losses(tmp_path, UNITG, "--device", "cuda")
    assert losses_here[:2] == pytest.approx(expected[:2], rel=1e-3)
    assert all(map(math.isfinite, losses_here))
