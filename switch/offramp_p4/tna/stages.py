# SPDX-License-Identifier: Apache-2.0
"""The halves of a Tofino, for a traffic manager to join, and what goes between them."""

from __future__ import annotations

from dataclasses import dataclass

from offramp_p4.engine.pipeline import EngineStages
from offramp_p4.tna.ports import CELL_BYTES


@dataclass(slots=True)
class IngressArrival:
    """A packet at the entry of ingress; ``resubmitted`` is the data of its first pass."""

    port: int
    frame: bytes
    resubmitted: bytes | None = None


@dataclass(slots=True)
class InQueue:
    """Egress metadata about a packet's time in its queue: arrival, wait, and cells in the queue before and after."""

    enqueued_us: int = 0
    found_cells: int = 0
    waited_us: int = 0
    left_cells: int = 0


@dataclass(slots=True)
class EgressCopy:
    """A packet that the traffic manager hands to egress."""

    port: int
    packet: bytes
    rid: int = 0
    first: int = 0
    qid: int = 0
    cos: int = 0
    bypass: bool = False
    in_queue: InQueue | None = None


class TnaStages(EngineStages):
    """Ingress and egress of a Tofino, apart, and what a traffic manager tells egress of a copy's queue."""

    def recirculated(self, task: IngressArrival | EgressCopy) -> bool:
        """Whether a packet comes back from egress."""
        return isinstance(task, IngressArrival) and task.resubmitted is None

    def queue(self, copy: EgressCopy) -> int:
        """The queue that a copy asks for."""
        return copy.qid

    def frame_bytes(self, copy: EgressCopy) -> int:
        """Size of a copy between ingress and egress."""
        return len(copy.packet)

    def enters_queue(self, copy: EgressCopy, now_us: int, depth: int, depth_bytes: int) -> None:
        """Note when the copy entered the queue, and the cells that it found."""
        del depth
        copy.in_queue = InQueue(now_us, cells(depth_bytes))

    def leaves_queue(self, copy: EgressCopy, waited_us: int, depth: int, depth_bytes: int) -> None:
        """Note how long the copy waited, and the cells that it leaves behind."""
        del depth
        assert copy.in_queue is not None
        copy.in_queue.waited_us, copy.in_queue.left_cells = waited_us, cells(depth_bytes)


def cells(held_bytes: int) -> int:
    """The cells of the chip's buffer that ``held_bytes`` take."""
    return -(-held_bytes // CELL_BYTES)
