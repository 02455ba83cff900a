# SPDX-License-Identifier: Apache-2.0
"""Many routes of the lengths of an Internet routing table, as a batch."""

from __future__ import annotations

from typing import Final

import numpy as np

from offramp_p4.state.batch import EntryBatch

TABLE: Final = "RouterIngress.routes"
_LENGTHS: Final = {16: 2, 18: 2, 19: 3, 20: 5, 21: 5, 22: 12, 23: 10, 24: 57, 28: 1, 32: 3}


def routes(count: int, next_hops: int = 256, seed: int = 1) -> EntryBatch:
    """Different routes for the table of :mod:`offramp_p4.bench.router`; most have 24 bits."""
    draw = np.random.default_rng(seed)
    weights = np.array(list(_LENGTHS.values()), float)
    more = count + count // 4 + 64
    lengths = draw.choice(np.array(list(_LENGTHS), np.uint64), more, p=weights / weights.sum())
    behind = 32 - lengths
    values = draw.integers(0, 1 << 32, more, dtype=np.uint64) >> behind << behind
    _, first = np.unique(values << np.uint64(8) | lengths, return_index=True)
    kept = np.sort(first)[:count]
    hops = draw.integers(0, next_hops, len(kept), dtype=np.uint64)
    return EntryBatch((values[kept],), "RouterIngress.route", (hops,), lengths[kept])
