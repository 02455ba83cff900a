# SPDX-License-Identifier: Apache-2.0
"""How long the communication of a trace takes, message by message, where NPUs join a collective one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from offramp.themis.demand import Demand
from offramp.themis.kinds import Collective
from offramp.themis.messages import Messages
from offramp.themis.network import Network, coordinates
from offramp.themis.plan import make_plan
from offramp_base.errors import OfframpError


class TraceWires:
    """A network whose dimensions carry messages (:meth:`offramp.themis.system_file.System.on`).

    What all NPUs do together, or all along some dimensions, is planned by the scheduler. Any other group is a ring of
    its ranks in the order in which it names them, as in ASTRA-sim; each of its messages waits for the one before.

    Raises:
        OfframpError: a dimension has no messages.
    """

    def __init__(self, network: Network, scheduler: str, chunks: int) -> None:
        self.network, self.scheduler, self.chunks = network, scheduler, chunks
        self._sizes = [d.size for d in network.dimensions]
        self._planned: dict[tuple[Collective, int, tuple[int, ...] | None], int] = {}
        self._messages: list[Messages | None] = []
        for d in network.dimensions:
            if d.size > 1 and not isinstance(d.messages, Messages):
                raise OfframpError(f"{network.name}: {d.kind} dimension: expected serial delays, which have messages")
            self._messages.append(d.messages if isinstance(d.messages, Messages) else None)

    def message_ps(self, source: int, sink: int, size: int) -> int:
        """Picoseconds that a message takes; it goes dimension by dimension, cut through at the slowest link."""
        ends = zip(coordinates(source, self._sizes), coordinates(sink, self._sizes), strict=True)
        way = [
            (m, abs(a - b), peers)
            for m, (a, b), peers in zip(self._messages, ends, self._sizes, strict=True)
            if a != b and m is not None
        ]
        if not way:
            return 0
        slowest = min(way, key=lambda step: step[0].link_bps)
        passed = sum(m.message_ns(distance, peers, 0) for m, distance, peers in way if m is not slowest[0])
        return 1000 * (passed + slowest[0].message_ns(slowest[1], slowest[2], size))

    def along(self, rank: int, dims: tuple[int, ...] | None) -> tuple[int, ...]:
        """Where a rank is on the dimensions that a collective does not use: who has the same is in it too."""
        places = coordinates(rank, self._sizes)
        return () if dims is None else tuple(c for k, c in enumerate(places) if k not in dims)

    def together_ps(self, kind: Collective, size: int, dims: tuple[int, ...] | None) -> int:
        """Picoseconds of a collective of all NPUs along some dimensions, by default all, that each bring so much."""
        key = kind, size, dims
        if key not in self._planned:
            count, chunk = self._pieces(kind, size)
            members = Demand(kind, 0, dims).part(self.network).npus
            whole = count * chunk * (members if kind is Collective.ALL_GATHER else 1)
            idle = whole == 0 or members == 1
            plan = None if idle else make_plan(self.network, [Demand(kind, whole, dims)], self.scheduler, count)
            self._planned[key] = 0 if plan is None else plan.finish_ps
        return self._planned[key]

    def _pieces(self, kind: Collective, size: int) -> tuple[int, int]:
        """Chunks, and the bytes of each, as ASTRA-sim cuts: whole ones, one more of which has the rest.

        What is not gathered has at least a byte for each NPU in a chunk.
        """
        chunk, npus = size // self.chunks, self.network.npus
        if size and kind is not Collective.ALL_GATHER and chunk < npus:
            return self.chunks, npus
        return (-(-size // chunk), chunk) if chunk else (min(size, 1), size)

    def ring_ps(self, kind: Collective, size: int, ring: Sequence[int], starts: Sequence[int]) -> list[int]:
        """When each rank of a ring is done.

        Args:
            kind: which collective.
            size: bytes that a rank brings.
            ring: the ranks, each of which sends to the next.
            starts: when each begins, in picoseconds.
        """
        first = next((m for m in self._messages if m is not None), None)
        if len(ring) == 1 or first is None:
            return list(starts)
        now = np.array(starts, np.int64)
        count, chunk = self._pieces(kind, size)
        both = all(m.bidirectional for m in self._messages if m is not None)
        part = (chunk + 1) // 2 if both else chunk
        block = part if kind is Collective.ALL_GATHER else part // len(ring)
        onward = [self.message_ps(a, b, block) for a, b in pairwise([ring[-1], *ring])]
        back = [self.message_ps(a, b, block) for a, b in pairwise([*ring, ring[0]])]
        for _ in range(0, count, first.at_once):
            ways = [(1, onward), (-1, back)] if both else [(1, onward)]
            now = np.max([self._once(kind, block, now, way, hops, first) for way, hops in ways], axis=0)
        return [int(each) for each in now]

    def _once(
        self, kind: Collective, block: int, starts: npt.NDArray[np.int64], way: int, hops: list[int], m: Messages
    ) -> npt.NDArray[np.int64]:
        """When each rank has the last message of a chunk that goes round one way."""
        now = starts + m.endpoint_ns * 1000
        for added in _additions(kind, block, len(hops)):
            now = np.maximum(now, np.roll(now, way) + hops) + (m.endpoint_ns + m.added_ns(added)) * 1000
        return now


def _additions(kind: Collective, block: int, ranks: int) -> list[int]:
    """Bytes that are added after each step of a ring."""
    if kind is Collective.ALL_TO_ALL:
        return [0] * (ranks * (ranks - 1) // 2)
    added = block if kind in (Collective.ALL_REDUCE, Collective.REDUCE_SCATTER) else 0
    return [added] * (ranks - 1) + [0] * (ranks - 1 if kind is Collective.ALL_REDUCE else 0)
