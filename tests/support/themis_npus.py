# SPDX-License-Identifier: Apache-2.0
"""Every NPU of a small network by itself, with jitter: why all of them must keep one order (paper section 4.6.2)."""

from __future__ import annotations

import heapq
import random

from offramp.themis.network import Network, coordinates
from offramp.themis.plan import CollectivePlan
from offramp_base.errors import OfframpError

Peers = tuple[int, tuple[int, ...]]
"""A dimension and the coordinates along the others: the NPUs that communicate there."""


def run_npus(plan: CollectivePlan, jitter_ps: int, seed: int = 0, *, enforce: bool = True) -> int:
    """Picoseconds until all NPUs are through, each up to ``jitter_ps`` late after every operation.

    An operation begins on an NPU when the NPU's dimension is free, and ends when all peers have begun it and its
    bytes are through; until then the dimension waits. With ``enforce`` every dimension keeps the plan's order;
    without, it takes what becomes available first.

    Raises:
        OfframpError: deadlock: NPUs wait for each other, operations are left that cannot run.
    """
    return _World(plan, jitter_ps, random.Random(seed), enforce=enforce).run()


class _World:
    def __init__(self, plan: CollectivePlan, jitter_ps: int, draw: random.Random, *, enforce: bool) -> None:
        self.network: Network = plan.network
        self.stages = plan.stages()
        self.orders = plan.orders()
        self.jitter, self.draw, self.enforce = jitter_ps, draw, enforce
        sizes = [d.size for d in plan.network.dimensions]
        self.npus = plan.network.npus
        self.place = [coordinates(npu, sizes) for npu in range(self.npus)]
        self.ready: list[list[list[tuple[int, int]]]] = [[[] for _ in sizes] for _ in range(self.npus)]
        self.turn = [[0] * len(sizes) for _ in range(self.npus)]
        self.busy = [[False] * len(sizes) for _ in range(self.npus)]
        self.begun: dict[tuple[Peers, int, int], list[int]] = {}
        self.events: list[tuple[int, int, int, int, int]] = []  # time, kind, NPU, chunk, stage
        self.left = sum(map(len, self.stages)) * self.npus

    def run(self) -> int:
        for npu in range(self.npus):
            for chunk, stages in enumerate(self.stages):
                if stages:
                    self._later(0, npu, chunk, 0)
        now = 0
        while self.events:
            now, kind, npu, chunk, index = heapq.heappop(self.events)
            dim = self.stages[chunk][index].dim
            if kind == 0:  # the transfer is through
                self.busy[npu][dim] = False
                self.left -= 1
                if index + 1 < len(self.stages[chunk]):
                    self._later(now + self.stages[chunk][index].delay_ps, npu, chunk, index + 1)
            else:
                self.ready[npu][dim].append((chunk, index))
            self._start(now, npu, dim)
        if self.left:
            raise OfframpError(f"deadlock: NPUs wait for each other with {self.left} operations unfinished")
        return now

    def _later(self, time: int, npu: int, chunk: int, index: int) -> None:
        heapq.heappush(self.events, (time + self.draw.randint(0, self.jitter), 1, npu, chunk, index))

    def _start(self, now: int, npu: int, dim: int) -> None:
        waiting = self.ready[npu][dim]
        if self.busy[npu][dim] or not waiting:
            return
        chosen = self.orders[dim][self.turn[npu][dim]] if self.enforce else waiting[0]
        if chosen not in waiting:
            return
        waiting.remove(chosen)
        self.turn[npu][dim] += 1
        self.busy[npu][dim] = True
        others = tuple(c for k, c in enumerate(self.place[npu]) if k != dim)
        peers = self.begun.setdefault(((dim, others), *chosen), [])
        peers.append(npu)
        if len(peers) == self.network.dimensions[dim].size:
            end = now + self.stages[chosen[0]][chosen[1]].busy_ps
            for peer in peers:
                heapq.heappush(self.events, (end, 0, peer, *chosen))
