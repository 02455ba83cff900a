# SPDX-License-Identifier: Apache-2.0
"""An exchange at slot level with a link for each worker: queues, barriers, recirculation (section 11)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from offramp.graph.csr import IntArray
from offramp.switchgnn.plan import BlockPlan, Plan
from offramp.switchgnn.wire import DATA_FRAME_BYTES, LANES
from offramp_base.errors import OfframpError
from offramp_base.wire.ethernet import wire_bytes
from offramp_sim.slot.fifo import backlog, departures, histogram

PACKET_WIRE_BYTES = wire_bytes(DATA_FRAME_BYTES)
"""Bytes of a DATA or RESULT packet on a link; a slot is the time that they take."""


@dataclass(frozen=True, slots=True)
class StarFabric:
    """A star of equal links.

    Attributes:
        link_bps: rate of each link.
        delay_s: propagation delay of each link.
        passes_pps: pipeline passes per second; None makes recirculation free, as in the paper's simulator.
    """

    link_bps: float = 100e9
    delay_s: float = 2e-6
    passes_pps: float | None = None

    @property
    def slot_s(self) -> float:
        """Seconds in a slot."""
        return PACKET_WIRE_BYTES * 8 / self.link_bps

    @property
    def delay_slots(self) -> int:
        """Propagation delay in whole slots."""
        return round(self.delay_s / self.slot_s)


@dataclass(frozen=True, eq=False)
class BlockTrace:
    """Trace of one block; times in slots since every worker received GO.

    Attributes:
        slots: slots until GO of the next block has arrived.
        workers: number of output ports.
        ready: ``(n,)`` slot in which each result is complete.
        left: ``(n,)`` slot in which it leaves the switch.
        port: ``(n,)`` its output port.
        open: ``(T,)`` aggregators that hold a partial sum after each slot.
        added: ``(T,)`` contributions that the switch adds in each slot.
    """

    slots: int
    workers: int
    ready: IntArray
    left: IntArray
    port: npt.NDArray[np.int32]
    open: IntArray
    added: IntArray

    @cached_property
    def waiting(self) -> IntArray:
        """``(T,)`` results waiting at all ports together after each slot."""
        return backlog(self.ready, self.left)

    @cached_property
    def queue(self) -> npt.NDArray[np.int32]:
        """``(T, workers)`` results waiting at each output port after each slot; gigabytes for a thousand workers."""
        length = len(self.waiting)
        arriving, leaving = (histogram(slots, self.port, length, self.workers) for slots in (self.ready, self.left))
        return np.cumsum(arriving - leaving, axis=0, dtype=np.int32)

    @property
    def sent(self) -> IntArray:
        """``(T,)`` results that leave the switch in each slot."""
        return np.bincount(self.left)

    @property
    def peak_queue(self) -> int:
        """Most results waiting at all ports together."""
        return int(self.waiting.max(initial=0))

    @property
    def peak_port_queue(self) -> int:
        """Most results waiting at one port."""
        return int(self.queue.max(initial=0))

    @property
    def peak_open(self) -> int:
        """Most aggregators open at once."""
        return int(self.open.max(initial=0))


@dataclass(frozen=True, eq=False)
class ExchangeTrace:
    """All blocks of an exchange, one after another."""

    fabric: StarFabric
    blocks: list[BlockTrace]

    @property
    def slots(self) -> int:
        """Slots of the whole exchange, barriers included."""
        return sum(block.slots for block in self.blocks)

    @property
    def seconds(self) -> float:
        """Time of the whole exchange."""
        return self.slots * self.fabric.slot_s

    @property
    def barrier_slots(self) -> int:
        """Slots in which the switch is idle between blocks: four propagation delays each."""
        return 4 * self.fabric.delay_slots * len(self.blocks)

    @property
    def peak_queue(self) -> int:
        """Most results waiting at all ports together."""
        return max((block.peak_queue for block in self.blocks), default=0)

    @property
    def peak_open(self) -> int:
        """Most aggregators open at once."""
        return max((block.peak_open for block in self.blocks), default=0)


def require_paper_packets(plans: Sequence[Plan]) -> None:
    """Refuse plans of wider packets: a slot is the time of one of the paper's packets.

    Raises:
        OfframpError: a plan's packets have more than 32 lanes.
    """
    widest = max((plan.lanes for plan in plans), default=LANES)
    if widest != LANES:
        raise OfframpError(
            f"plan of {widest} lanes: a slot is a packet of {LANES}; simulate it with offramp_sim.packets"
        )


def exchange_trace(plan: Plan, fabric: StarFabric | None = None) -> ExchangeTrace:
    """Run ``plan`` without loss and with infinite buffers.

    Raises:
        OfframpError: as :func:`require_paper_packets`.
    """
    fabric = fabric or StarFabric()
    require_paper_packets([plan])
    return ExchangeTrace(fabric, [block_trace(block, plan.workers, plan.chunks, fabric) for block in plan.blocks])


def block_trace(block: BlockPlan, workers: int, chunks: int, fabric: StarFabric) -> BlockTrace:
    """One block: each worker sends one packet per slot, each port delivers one per slot.

    Raises:
        OfframpError: a rate of passes that is not above 0.
    """
    arrived = _arrivals(block, chunks) + fabric.delay_slots
    sums = np.flatnonzero(block.need)
    starts = block.sources[0][sums]
    if fabric.passes_pps is None:
        # Chunks follow their vertex back to back, so that what holds for its first packet holds for all, later.
        later = np.arange(chunks)
        begun = arrived[block.sources[1], :1]
        done, first = (np.asarray(f.reduceat(begun, starts), np.int64) + later for f in (np.maximum, np.minimum))
        adding, weight = arrived[block.order].ravel(), np.repeat(block.fan_out[block.order], chunks)
    else:
        served = served_slots(arrived, block.fan_out, block.sources[1], fabric)
        done, first = (f.reduceat(served, starts) for f in (np.maximum, np.minimum))
        adding, weight = served.ravel(), np.ones(served.size, np.int64)
    port = np.repeat(block.owner[sums], chunks)
    left = departures(done.ravel(), port)
    last = int(left.max()) + 1
    opened = np.bincount(first.ravel(), minlength=last) - np.bincount(done.ravel(), minlength=last)
    added = np.bincount(adding, weights=weight, minlength=last).astype(np.int64)
    slots = last + 3 * fabric.delay_slots  # RESULT down, DONE up, GO down
    return BlockTrace(slots, workers, done.ravel(), left, port, np.cumsum(opened), added)


def _arrivals(block: BlockPlan, chunks: int) -> IntArray:
    """``(k, chunks)`` slot in which each packet leaves its worker, vertex by vertex in upload order; 0: it does not."""
    owner = block.owner[block.order]
    by_worker = np.argsort(owner, kind="stable")
    starts = np.searchsorted(owner[by_worker], owner[by_worker])
    position = np.zeros(len(block.vertices), np.int64)
    position[block.order[by_worker]] = np.arange(len(owner)) - starts
    return position[:, np.newaxis] * chunks + np.arange(chunks)


def served_slots(arrived: IntArray, fan_out: IntArray, upload: IntArray, fabric: StarFabric) -> IntArray:
    """``(e, chunks)`` slot in which each contribution is added, uploads in FIFO order, their passes one after another.

    Args:
        arrived: ``(u, chunks)`` slot in which each packet of each upload arrives.
        fan_out: ``(u,)`` passes of each upload.
        upload: ``(e,)`` the upload of each contribution; an upload's are in the order of its passes.
        fabric: its rate of passes.

    Raises:
        OfframpError: a rate of passes that is not above 0.
    """
    if fabric.passes_pps is None or not fabric.passes_pps > 0:
        raise OfframpError(f"passes_pps {fabric.passes_pps}: expected a rate above 0")
    passes = fabric.passes_pps * fabric.slot_s
    packets = arrived.ravel()
    fifo = np.argsort(packets, kind="stable")
    busy = np.cumsum(np.repeat(fan_out, arrived.shape[1])[fifo]) / passes
    before = np.concatenate([[0.0], busy[:-1]])
    start = np.empty(len(packets))
    start[fifo] = before + np.maximum.accumulate(packets[fifo] - before)
    by_upload = np.argsort(upload, kind="stable")
    hop = np.empty(len(upload), np.int64)
    hop[by_upload] = np.arange(len(upload)) - np.repeat(np.cumsum(fan_out) - fan_out, fan_out)
    begun = start.reshape(arrived.shape)[upload]
    # The margin keeps a pass that falls on a slot's edge from slipping into the one before by rounding.
    return np.floor(begun + hop[:, np.newaxis] / passes + 1e-6).astype(np.int64)
