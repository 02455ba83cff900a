# SPDX-License-Identifier: Apache-2.0
"""The files that OGB, PyTorch Geometric, DGL and GraphSAINT download."""

from __future__ import annotations

import gzip
import io
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import coo_array, save_npz

from fuzzing import mutate
from offramp_sim.reproduce.files import read_graph

NAME = "files of data sets"
MEMORY_MIB = 2048
_ENDS = np.array([[0, 1, 2, 3], [1, 2, 3, 0]])
_FILES: dict[tuple[str, str], bytes] = {}


class _Code:
    """The call that a hostile pickle would make."""

    def __reduce__(self) -> Any:
        return Path.touch, (Path("ran"),)


def prepare() -> None:
    """A small file of each layout."""
    import torch

    def of(save: Any) -> bytes:
        out = io.BytesIO()
        save(out)
        return out.getvalue()

    edges = torch.from_numpy(_ENDS)
    tensors = of(lambda out: torch.save(({"edge_index": edges, "num_nodes": 4}, None), out))
    csr = coo_array((np.ones(4), tuple(_ENDS)), shape=(4, 4)).tocsr()
    _FILES.update(
        {
            ("products", "ogbn_products/raw/edge.csv.gz"): gzip.compress(b"0,1\n1,2\n2,3\n3,0\n"),
            ("products", "ogbn_products/raw/num-node-list.csv.gz"): gzip.compress(b"4\n"),
            ("products", "ogbn_products/processed/geometric_data_processed.pt"): tensors,
            ("yelp", "Yelp/raw/adj_full.npz"): of(lambda out: np.savez(out, indptr=csr.indptr, indices=csr.indices)),
            ("yelp", "Yelp/processed/data.pt"): of(lambda out: torch.save(_Code(), out)),
            ("reddit", "reddit_graph.npz"): of(lambda out: save_npz(out, coo_array(csr))),
            ("reddit", "Reddit/processed/data.pt"): tensors,
        }
    )


def run(rng: random.Random) -> None:
    """One folder with one data set in one layout."""
    folder = Path("data")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    name, chosen = rng.choice(list(_FILES))
    for (other, path), content in _FILES.items():
        if other == name and Path(path).parent == Path(chosen).parent:
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(_damaged(rng, content) if path == chosen else content)
    read_graph(folder, name)
    assert not Path("ran").exists()


def _damaged(rng: random.Random, content: bytes) -> bytes:
    if content[:2] == b"\x1f\x8b" and rng.random() < 0.8:
        text = mutate.text(rng, gzip.decompress(content).decode()) if rng.random() < 0.9 else "0" * (40 << 20)
        return gzip.compress(text.encode("utf-8", "surrogatepass"), 1)
    return mutate.raw(rng, content)
