# SPDX-License-Identifier: Apache-2.0
"""Timing of the packets of one block, or between hosts, through links and pipeline: first come, first served."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from offramp.graph.csr import IntArray
from offramp.switchgnn.plan import BlockPlan
from offramp.switchgnn.volume import Streams
from offramp.workers.traffic import HOST_OVERHEAD_BYTES, HOST_PAYLOAD_BYTES

MOST_PACKETS = 4_000_000
"""Most contributions, or packets, that are simulated one by one."""


def block_slots(block: BlockPlan, chunks: int) -> int:
    """Packet times from the first upload until the last result has left, with free links and pipeline.

    Each worker sends a packet a slot. A result is ready with the last contribution and may leave in that slot; with
    ``n`` results on a port, the one that is ready as the ``i``-th cannot be followed by fewer than ``n-1-i``.
    """
    arrival = _arrivals(block)
    indptr, sources = block.sources
    sums = np.flatnonzero(block.need)
    ready = np.maximum.reduceat(arrival[sources], indptr[sums])
    return int(_last_slot(ready, block.owner[sums])) * chunks


def served_slots(block: BlockPlan, chunks: int, passes: float) -> float:
    """The same if the pipeline makes ``passes`` per slot; at least as many as :func:`block_slots`.

    An upload's passes follow each other; those of another one wait.
    """
    indptr, sources = block.sources
    arrived = _arrivals(block)[:, np.newaxis] * chunks + np.arange(chunks)
    arrived[block.fan_out == 0] = 0
    packets = arrived.ravel()
    fifo = np.argsort(packets, kind="stable")
    busy = np.cumsum(np.repeat(block.fan_out, chunks)[fifo]) / passes
    before = np.concatenate([[0.0], busy[:-1]])
    start = np.empty(len(packets))
    start[fifo] = before + np.maximum.accumulate(packets[fifo] - before)
    by_source = np.argsort(sources, kind="stable")
    hop = np.empty(len(sources), np.int64)
    hop[by_source] = np.arange(len(sources)) - block.indptr[sources[by_source]]
    served = start.reshape(arrived.shape)[sources] + ((hop + 1) / passes)[:, np.newaxis]
    sums = np.flatnonzero(block.need)
    ready = np.maximum.reduceat(served, indptr[sums])
    return float(_last_slot(ready.ravel(), np.repeat(block.owner[sums], chunks)))


def _arrivals(block: BlockPlan) -> IntArray:
    """``(k,)`` index of each upload among those of its worker."""
    sender = block.owner[block.order]
    by_sender = np.argsort(sender, kind="stable")
    arrival = np.zeros(len(block.vertices), np.int64)
    arrival[block.order[by_sender]] = np.arange(len(sender)) - np.searchsorted(sender[by_sender], sender[by_sender])
    return arrival


def _last_slot(ready: npt.NDArray[np.number], port: npt.NDArray[np.int32]) -> float:
    """Slot in which the last of some packets has left, when each port sends one per slot."""
    fifo = np.lexsort((ready, port))
    left = np.searchsorted(port[fifo], port[fifo], side="right") - np.arange(len(fifo))
    return float((ready[fifo] + left).max())


def hosts_bytes(sent: Streams) -> float:
    """Byte times until all messages between hosts have arrived, through one store-and-forward switch.

    Every worker sends a packet to each other one in turn, beginning with its successor.
    """
    workers, packets = len(sent.packets), int(sent.packets.sum())
    if not packets:
        return 0.0
    if packets > MOST_PACKETS:
        return max(int(sent.link_bytes.sum(axis=axis).max()) for axis in (0, 1))
    counts = sent.packets.ravel()
    stream = np.repeat(np.arange(workers * workers), counts)
    turn = np.arange(packets) - np.repeat(np.cumsum(counts) - counts, counts)
    source, sink = np.divmod(stream, workers)
    size = np.minimum(HOST_PAYLOAD_BYTES, np.repeat(sent.payload_bytes.ravel(), counts) - turn * HOST_PAYLOAD_BYTES)
    size += HOST_OVERHEAD_BYTES
    leaves = np.lexsort(((sink - source) % workers, turn, source))
    arrived = np.empty(packets, np.int64)
    for worker in range(workers):
        of_worker = leaves[source[leaves] == worker]
        arrived[of_worker] = np.cumsum(size[of_worker])
    last = 0
    for worker in range(workers):
        to_worker = np.flatnonzero(sink == worker)
        fifo = to_worker[np.argsort(arrived[to_worker], kind="stable")]
        behind = np.cumsum(size[fifo][::-1])[::-1]
        last = max(last, int((arrived[fifo] + behind).max(initial=0)))
    return float(last)
