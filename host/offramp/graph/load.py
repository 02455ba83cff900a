# SPDX-License-Identifier: Apache-2.0
"""The one entry point that loads any graph."""

from __future__ import annotations

from pathlib import Path

from offramp.graph.builtin import NAMES, builtin
from offramp.graph.data import Graph
from offramp.graph.edge_list import SUFFIXES, read_edge_list
from offramp.graph.generate import GENERATORS, generate
from offramp.graph.musae import is_musae, read_musae
from offramp.graph.npz import read_npz
from offramp.graph.pyg import read_pyg
from offramp_base.errors import OfframpError


def load(
    spec: str | Path,
    seed: int = 0,
    split: str | None = None,
    features: str | Path | None = None,
    labels: str | Path | None = None,
) -> Graph:
    """The graph that ``spec`` names, symmetrised (``metadata['symmetrised']`` says whether that changed it).

    ``spec`` is a built-in name (``digits``, ``karate``, …), an ``.npz`` file, an edge list (``.txt``,
    ``.csv``, ``.tsv``, ``.edges``, ``.el``, ``.mtx``; then ``features`` and ``labels`` may name files), a folder of
    SNAP's MUSAE graphs, ``pyg:CLASS[/NAME]``, or a generator such as ``sbm:n=1000,k=4``. ``split`` is
    ``planetoid`` or fractions (``0.6/0.2/0.2``), by default the source's own split, else ``planetoid``.
    ``seed`` moves splits and generators.

    Raises:
        OfframpError: nothing of that name, or a malformed file (the message names file and field or line).
    """
    text = str(spec)
    path = Path(spec)
    if (features or labels) and path.suffix not in SUFFIXES:
        raise OfframpError(f"{text}: features and labels files go with an edge list only")
    if text in NAMES:
        return builtin(text, split, seed)
    if text.startswith("pyg:"):
        return read_pyg(text, split, seed)
    if text.partition(":")[0] in GENERATORS:
        return generate(text, split, seed)
    if path.suffix == ".npz":
        return read_npz(path, split, seed)
    if path.suffix in SUFFIXES:
        return read_edge_list(path, split, seed, Path(features) if features else None, Path(labels) if labels else None)
    if path.is_dir() and is_musae(path):
        return read_musae(path, split, seed)
    raise OfframpError(
        f"{text}: no such graph; expected {', '.join(NAMES)}, FILE.npz, an edge list "
        f"({', '.join(SUFFIXES)}), pyg:CLASS/NAME or a generator ({', '.join(GENERATORS)})"
    )
