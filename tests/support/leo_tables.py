# SPDX-License-Identifier: Apache-2.0
"""Random tables of paths that share links, for the tests of LEO."""

from __future__ import annotations

import numpy as np

from offramp.leo.selection.table import RequestDependency, Table


def random_table(seed: int, *, most_paths: int = 4, most_types: int = 3) -> Table:
    rng = np.random.default_rng(seed)
    kinds, paths = int(rng.integers(1, most_types + 1)), int(rng.integers(1, most_paths + 1))
    resources = int(rng.integers(1, 5))
    uses = rng.random((paths, resources)) < 0.6
    uses[np.arange(paths), rng.integers(0, resources, paths)] = True
    capacity = rng.integers(1, 4, resources)
    load = uses * rng.integers(100, 1000, (kinds, paths, resources)) / capacity
    base = load.sum(axis=2) + rng.integers(0, 2000, (kinds, paths))
    closed = rng.random((kinds, paths)) < 0.25
    closed[np.arange(kinds), rng.integers(0, paths, kinds)] = False
    return Table(
        tuple(f"r{i}" for i in range(kinds)),
        tuple(f"p{i}" for i in range(paths)),
        tuple(f"x{i}" for i in range(resources)),
        np.where(closed, np.nan, base),
        load,
        tuple(list(RequestDependency)[i] for i in rng.integers(0, 3, kinds)),
        tuple(capacity.tolist()),
        tuple((rng.random(kinds) < 0.5).tolist()),
    )
