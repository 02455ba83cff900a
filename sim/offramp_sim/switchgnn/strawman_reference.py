# SPDX-License-Identifier: Apache-2.0
"""The strawman's switch in plain Python (specification section 10): the oracle for its P4 program."""

from __future__ import annotations

from collections.abc import Sequence

from offramp.switchgnn.plan import BlockPlan, Plan
from offramp.switchgnn.telemetry import Disposition
from offramp.switchgnn.wire import SHORT_FRAME_BYTES, SwitchGnnPacketType
from offramp_sim.switchgnn.frames import Header, reply
from offramp_sim.switchgnn.reference import Output, ReferenceSwitch


class ReferenceStrawman(ReferenceSwitch):
    """The strawman: it allocates an aggregator at a vertex's first contribution, or decides against one for the round.

    Args:
        plans: their blocks need not fit the memory.
        ports: switch port of each worker.
        capacity: aggregators that may be open at once.
    """

    _served = frozenset({SwitchGnnPacketType.DATA})

    def __init__(self, plans: Sequence[Plan], ports: Sequence[int], capacity: int) -> None:
        super().__init__(plans, ports)
        self._capacity = capacity
        self._refused: dict[int, int] = {}  # vertex chunk to the round in which it got no aggregator

    def _multicast(self, frame: bytes, header: Header, block: BlockPlan, chunks: int, neighbours: list[int]) -> Output:
        out: Output = []
        served: set[int] = set()
        for v in neighbours:
            index, port = v * chunks + header["chunk_id"], self._ports[block.owner[v]]
            if not self._refuses(index, int(block.need[v])):
                out += super()._multicast(frame, header, block, chunks, [v])
            elif port in served:
                self.outcomes[Disposition.SHARED] += 1
            else:
                served.add(port)
                self.outcomes[Disposition.RAW] += 1
                out.append((port, reply(frame, {**header, "count": 1}, frame[SHORT_FRAME_BYTES:])))
        return out

    def _refuses(self, index: int, need: int) -> bool:
        if self._refused.get(index) == self.round:
            return True
        aggregator = self._aggregators.get(index)
        if aggregator is not None and aggregator.round == self.round:
            return False
        if self.open < self._capacity:
            return False
        if need > 1:
            self._refused[index] = self.round
        return True
