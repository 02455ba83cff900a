# SPDX-License-Identifier: Apache-2.0
"""Time of a trace's communication, message by message, where NPUs join a collective at different times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from offramp.themis.demand import Demand
from offramp.themis.kinds import Collective
from offramp.themis.messages import Algorithms, CollectiveAlgorithm, MessageParameters
from offramp.themis.network import Network, coordinates
from offramp.themis.plan import make_plan
from offramp_base.errors import OfframpError

Times = npt.NDArray[np.int64]
_Step = tuple[list[tuple[Times, Times]], int]
"""Senders by a rank's position with the picoseconds of their messages, and the time that follows the last of these."""


class TraceWires:
    """A network whose dimensions carry messages (:meth:`offramp.themis.system_file.SystemFile.on`).

    The scheduler plans collectives of all NPUs, or of all along some dimensions. Any other group runs the algorithm
    of the only dimension among its ranks, as in ASTRA-sim; on several dimensions, it is a ring of them in the order
    in which it names them, and each message of a ring waits for the one before.

    Raises:
        OfframpError: a dimension has no messages.
    """

    def __init__(self, network: Network, scheduler: str, chunks: int) -> None:
        self.network, self.scheduler, self.chunks = network, scheduler, chunks
        self._sizes = [d.size for d in network.dimensions]
        self._planned: dict[tuple[Collective, int, tuple[int, ...] | None], int] = {}
        self._messages: list[MessageParameters | None] = []
        for d in network.dimensions:
            if d.size > 1 and not isinstance(d.messages, MessageParameters):
                raise OfframpError(f"{network.name}: {d.kind} dimension: expected serial delays, which have messages")
            self._messages.append(d.messages if isinstance(d.messages, MessageParameters) else None)

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
        """A rank's coordinates on the dimensions that a collective does not use; its participants share them."""
        places = coordinates(rank, self._sizes)
        return () if dims is None else tuple(c for k, c in enumerate(places) if k not in dims)

    def together_ps(self, kind: Collective, size: int, dims: tuple[int, ...] | None) -> int:
        """Picoseconds of a collective of all NPUs along some dimensions, by default all, each with this many bytes."""
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
        """Number of chunks, and the bytes of each, as ASTRA-sim cuts them: equal ones, plus one with the rest.

        Unless it is gathered, a chunk has at least one byte for each NPU.
        """
        chunk, npus = size // self.chunks, self.network.npus
        if size and kind is not Collective.ALL_GATHER and chunk < npus:
            return self.chunks, npus
        return (-(-size // chunk), chunk) if chunk else (min(size, 1), size)

    def group_ps(self, kind: Collective, size: int, ring: Sequence[int], starts: Sequence[int]) -> list[int]:
        """Picoseconds at which each rank of a group is done.

        Args:
            kind: which collective.
            size: bytes that a rank brings.
            ring: the ranks, each of which sends to the next if they are a ring.
            starts: time at which each begins, in picoseconds.
        """
        first = next((m for m in self._messages if m is not None), None)
        if len(ring) == 1 or first is None:
            return list(starts)
        both_ways = all(m.bidirectional for m in self._messages if m is not None)
        usual: Algorithms = first.algorithms if len(self._messages) == 1 else ("ring", "ring", "ring", "ring")
        messages = replace(first, algorithms=usual, bidirectional=both_ways)
        turned = both_ways and messages.algorithm(kind) == CollectiveAlgorithm.RING
        orders = (ring, ring[::-1]) if turned else (ring,)  # halves of a chunk go opposite ways round
        count, chunk = self._pieces(kind, size)
        steps = [list(self._steps(order, messages, kind, chunk)) for order in orders]
        now = np.array(starts, np.int64)
        for _ in range(0, count, messages.at_once):
            ends = [_through(each, now[:: -1 if k else 1], messages.endpoint_ns * 1000) for k, each in enumerate(steps)]
            now = np.maximum(ends[0], ends[-1][:: -1 if turned else 1])
        return [int(each) for each in now]

    def _steps(self, ring: Sequence[int], messages: MessageParameters, kind: Collective, chunk: int) -> Iterator[_Step]:
        """Per step and position, the messages that a rank waits for: their senders and durations."""
        places, name = np.arange(len(ring)), messages.algorithm(kind)
        for distance, sent, added in messages.steps(kind, chunk, len(ring)):
            if name == CollectiveAlgorithm.RING:
                senders = [np.roll(places, 1)]
            elif name == CollectiveAlgorithm.DIRECT:
                senders = [np.roll(places, k) for k in range(1, len(ring))]
            elif len(ring) & (len(ring) - 1):
                senders = [np.roll(places, distance)]  # Bruck's rounds
            else:
                senders = [places ^ distance]
            took = [
                np.array(
                    [
                        self.message_ps(ring[a], ring[b], sent)
                        for a, b in zip(each.tolist(), places.tolist(), strict=True)
                    ]
                )
                for each in senders
            ]
            yield list(zip(senders, took, strict=True)), (messages.endpoint_ns + messages.added_ns(added)) * 1000


def _through(steps: Sequence[_Step], starts: Times, endpoint_ps: int) -> Times:
    """Time at which each rank has the last message of a chunk."""
    now = starts + endpoint_ps
    for received, after in steps:
        now = np.max([now, *(now[sender] + took for sender, took in received)], axis=0) + after
    return now
