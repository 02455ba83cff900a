# SPDX-License-Identifier: Apache-2.0
"""The halves of a v1model pipeline, for a traffic manager to join."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from offramp_p4.engine.layout import GROWTH, LENGTH, Memory
from offramp_p4.engine.pipeline import EnginePipeline, EngineStages
from offramp_p4.v1model import metadata as md

if TYPE_CHECKING:
    from offramp_p4.v1model.metadata import V1Metadata


class V1Arrival(Protocol):
    """A packet at the entry of the parser; ``kind`` is its instance type."""

    frame: bytes
    kind: int


class V1Stages(EngineStages):
    """The stages of :class:`~offramp_p4.tm.stages.SwitchStages` as simple_switch has them."""

    def __init__(self, pipeline: EnginePipeline, cells: V1Metadata) -> None:
        super().__init__(pipeline)
        self._truncate = cells.truncate
        self._priority = cells.field("priority")
        self._enqueued = cells.field("enq_timestamp"), cells.field("enq_qdepth")
        self._dequeued = cells.field("deq_timedelta"), cells.field("deq_qdepth")

    def recirculated(self, arrival: V1Arrival) -> bool:
        """Whether the packet comes back from egress; else it was resubmitted and never left ingress."""
        return arrival.kind == md.RECIRCULATED

    def queue(self, m: Memory) -> int:
        """The queue that a copy asks for (``priority``)."""
        priority: int = m[self._priority]
        return priority

    def frame_bytes(self, m: Memory) -> int:
        """Size of a copy between ingress and egress."""
        size: int = min(m[LENGTH] + m[GROWTH], m[self._truncate])
        return size

    def enters_queue(self, m: Memory, now_us: int, depth: int, depth_bytes: int) -> None:
        """Fill in ``enq_timestamp`` and ``enq_qdepth`` (packets found in the queue), wrapped as in bmv2."""
        del depth_bytes
        timestamp, qdepth = self._enqueued
        m[timestamp], m[qdepth] = now_us & 0xFFFFFFFF, depth & 0x7FFFF

    def leaves_queue(self, m: Memory, waited_us: int, depth: int, depth_bytes: int) -> None:
        """Fill in ``deq_timedelta`` and ``deq_qdepth`` (packets left in the queue), wrapped as in bmv2."""
        del depth_bytes
        timedelta, qdepth = self._dequeued
        m[timedelta], m[qdepth] = waited_us & 0xFFFFFFFF, depth & 0x7FFFF
