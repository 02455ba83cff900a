# SPDX-License-Identifier: Apache-2.0
"""Graphs as text, with features and labels beside them, and partitions."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np

from fuzzing import mutate
from offramp.graph import load as graphs
from offramp.graph.partition_file import read_partition, write_partition

NAME = "edge lists and partitions"
_EDGES = "# a comment\n0 1\n1 2\n2 3 0.5\n3 0\n"
_FEATURES = "0.5 1 2\n1 1 1\n3 4 5\n1e-3 0 0\n"
_LABELS = "0\n1\n1\n0\n"


def prepare() -> None:
    """A partition of a graph."""
    Path("four.txt").write_text(_EDGES)
    graph = graphs.load("four.txt")
    write_partition(Path("four.part"), graph, np.array([0, 1, 1, 0], np.int32))


def _written(rng: random.Random, name: str, text: str, suffix: str) -> Path:
    path = Path(f"{name}{suffix}")
    if suffix == ".csv":
        text = text.replace(" ", ",")
    kind = rng.randrange(8)
    content = text.encode()
    if kind < 5:
        content = mutate.text(rng, text).encode("utf-8", "surrogatepass")
    elif kind == 5:
        content = mutate.raw(rng, content)
    path.write_bytes(content)
    return path


def run(rng: random.Random) -> None:
    """One graph, or one partition of a graph."""
    if rng.random() < 0.2:
        graph = graphs.load("four.txt")
        text = Path("four.part").read_text("ascii")
        owner = read_partition(_written(rng, "case", text, ".part"), graph, 2)
        assert set(owner.tolist()) == {0, 1}
        return
    suffix = rng.choice(graphs.SUFFIXES)
    edges = _written(rng, "edges", _EDGES, suffix)
    features = labels = None
    if rng.random() < 0.5:
        features = _written(rng, "features", _FEATURES, rng.choice((".txt", ".csv")))
    if rng.random() < 0.5:
        labels = _written(rng, "labels", _LABELS, ".txt")
    split = rng.choice((None, None, "0.5/0.25/0.25", mutate.text(rng, "0.5/0.25/0.25")))
    graph = graphs.load(edges, split=split, features=features, labels=labels)
    assert graph.vertices >= 1
