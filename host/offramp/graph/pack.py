# SPDX-License-Identifier: Apache-2.0
"""First-fit packing of overlapping sets."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from offramp.graph.csr import IntArray


def pack(sets: list[IntArray], limit: int, loads: IntArray | None = None) -> list[list[int]]:
    """Bins of ascending indices into ``sets`` whose unions have at most ``limit`` elements.

    Sets are taken by size, largest first, and each goes into the first bin that can take it
    (specification section 8.1); with ``(sets, workers)`` ``loads``, into one of as many bins where it adds
    least to the largest load.
    """
    bins: list[list[int]] = [] if loads is None else [[] for _ in pack(sets, limit)]
    sizes = np.zeros(len(sets), np.int64)
    carried = np.zeros((len(sets), 0 if loads is None else loads.shape[1]), np.int64)
    bins_of: defaultdict[int, list[int]] = defaultdict(list)
    for index in sorted(range(len(sets)), key=lambda i: -len(sets[i])):
        elements = sets[index].tolist()
        holders = [b for element in elements for b in bins_of[element]]
        shared = np.bincount(np.array(holders, np.int64), minlength=len(bins))
        unions = sizes[: len(bins)] + len(elements) - shared
        fits = np.flatnonzero(unions <= limit)
        if len(fits):
            chosen = int(fits[0])
            if loads is not None:
                before, after = carried[fits].max(axis=1), (carried[fits] + loads[index]).max(axis=1)
                chosen = int(fits[np.lexsort((after, after - before))[0]])
            sizes[chosen] = unions[chosen]
        else:
            chosen = len(bins)
            bins.append([])
            sizes[chosen] = len(elements)
        bins[chosen].append(index)
        if loads is not None:
            carried[chosen] += loads[index]
        for element in elements:
            if chosen not in bins_of[element]:
                bins_of[element].append(chosen)
    return [sorted(members) for members in bins if members]
