# SPDX-License-Identifier: Apache-2.0
"""Output ports that send one packet per slot, first in, first out."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from offramp.graph.csr import IntArray

Ports = npt.NDArray[np.int32] | IntArray


def departures(ready: IntArray, port: Ports) -> IntArray:
    """``(n,)`` slot in which each packet leaves its port, at the earliest when it is ``ready``; ties by index."""
    fifo = np.lexsort((ready, port))
    ports = port[fifo]
    place = np.arange(len(fifo)) - np.searchsorted(ports, ports)
    # One running maximum over all ports: the shift keeps each port's values above those of the one before.
    shift = ports.astype(np.int64) * (int(ready.max(initial=0)) + len(ready) + 1)
    left = np.empty(len(ready), np.int64)
    left[fifo] = np.maximum.accumulate(ready[fifo] - place + shift) - shift + place
    return left


def histogram(slots: IntArray, port: Ports, length: int, workers: int) -> IntArray:
    """``(length, workers)`` packets of each slot and port."""
    return np.bincount(slots * workers + port, minlength=length * workers).reshape(length, workers)


def backlog(ready: IntArray, left: IntArray) -> IntArray:
    """``(T,)`` packets that are ready and have not left after each slot."""
    length = int(left.max(initial=-1)) + 1
    return np.cumsum(np.bincount(ready, minlength=length) - np.bincount(left, minlength=length))
