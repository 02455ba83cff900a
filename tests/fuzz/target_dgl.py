# SPDX-License-Identifier: Apache-2.0
"""DGL's binary files, and DistDGL's partitions of them."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

from fuzzing import mutate
from offramp.graph.open_source import open_source

NAME = "files of DGL"
MEMORY_MIB = 2048
_FIXTURES = Path(__file__).parents[1] / "unit" / "graph" / "dgl"
_KINDS = (".bin", ".dgl", ".json")
_FILES = {path.relative_to(_FIXTURES): path.read_bytes() for path in _FIXTURES.rglob("*") if path.suffix in _KINDS}


def run(rng: random.Random) -> None:
    """One file of the fixtures damaged, and what it belongs to opened."""
    shutil.rmtree("data", ignore_errors=True)
    chosen = rng.choice(list(_FILES))
    for path, content in _FILES.items():
        place = Path("data") / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if path != chosen:
            place.write_bytes(content)
        elif path.suffix == ".json":
            place.write_text(mutate.text(rng, content.decode()), "utf-8", "surrogatepass")
        else:
            place.write_bytes(mutate.raw(rng, content))
    open_source(str(Path("data") / (chosen if chosen.suffix == ".bin" else Path("toy") / "toy.json")))
