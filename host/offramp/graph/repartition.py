# SPDX-License-Identifier: Apache-2.0
"""Iterative re-partitioning for an even load of remote neighbours (thesis on G3, algorithm 2; specification section 4).

A step takes one vertex of the worker with the largest load and one of the worker with the least and swaps them, so
that workers keep their numbers of vertices. As printed, the algorithm mostly ends in a cycle with a larger maximum than
it began with; ``guarded`` takes only swaps that leave both below that maximum, and where these run out looks at other
workers too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from offramp.graph.csr import Adjacency, IntArray, entries_of
from offramp.graph.remote import RemoteNeighbours
from offramp.splitmix import GOLDEN, mix_word
from offramp_base.errors import OfframpError

MODES: Final = ("guarded", "best", "literal")
BALANCES: Final = ("recv", "max")
STOPS: Final = ("gap", "delta")


@dataclass(frozen=True)
class Repartition:
    """Parameters of swapping vertices.

    Attributes:
        mode: ``guarded``; ``best``: the literal algorithm, of whose states the best is kept; ``literal``: its last one.
        gamma: how near the loads must come to each other, as a share of the largest.
        stop: when the literal algorithm stops: ``gap``: once largest and least load are that near; ``delta``: once
            their ratio changes by no more than that.
        balance: a worker's load: ``recv``, the rows that it receives, or ``max`` of these and those that it sends.
        tau: guarded only: no swap may raise a sum of degrees above (1 + tau) times the mean; None for no such bound.
        tries: candidates on either side of a guarded swap: the c of the specification.
        reach: where none of these swaps helps, as many candidates are tried with every other worker, the least loaded
            first: those whose move takes most from the largest load. 0 for the specification's swaps alone.
        most: swaps; 0 for 10·√n.

    Raises:
        OfframpError: a value that is not one of these.
    """

    mode: str = "guarded"
    gamma: float = 0.005
    stop: str = "gap"
    balance: str = "recv"
    tau: float | None = None
    tries: int = 8
    reach: int = 16
    most: int = 0

    def __post_init__(self) -> None:
        for name, choices in (("mode", MODES), ("stop", STOPS), ("balance", BALANCES)):
            if getattr(self, name) not in choices:
                raise OfframpError(f"{name} {getattr(self, name)}: expected one of {', '.join(choices)}")
        for name, least in (("gamma", 0), ("tries", 1), ("reach", 0), ("most", 0), ("tau", 0)):
            value = getattr(self, name)
            if value is not None and not value >= least:
                raise OfframpError(f"{name} {value}: expected at least {least}")


@dataclass(frozen=True)
class Repartitioned:
    """The result of a repartition.

    Attributes:
        owner: ``(n,)`` int64 worker of each vertex.
        recv: ``(workers,)`` rows that each worker receives.
        send: ``(workers,)`` rows that each sends.
        steps: largest and least load at the start and after each swap.
        reason: why it ended: ``even``, ``stuck`` (no swap helps), ``cycle`` or ``most`` (swaps).
    """

    owner: IntArray
    recv: IntArray
    send: IntArray
    steps: list[tuple[int, int]]
    reason: str


def repartition(graph: Adjacency, owner: npt.ArrayLike, workers: int, how: Repartition | None = None) -> Repartitioned:
    """Swap vertices of a partition of an undirected graph until the loads are even.

    Raises:
        OfframpError: an owner that does not fit the graph.
    """
    how = Repartition() if how is None else how
    search = _RepartitionSearch(graph, owner, workers, how)
    reason = "even" if workers == 1 else search.guarded() if how.mode == "guarded" else search.literal()
    if how.mode == "best":
        search.restore()
    tracker = search.tracker
    return Repartitioned(tracker.owner, tracker.recv, tracker.send, search.steps, reason)


class _RepartitionSearch:
    def __init__(self, graph: Adjacency, owner: npt.ArrayLike, workers: int, how: Repartition) -> None:
        self.how, self._graph, self._workers = how, graph, workers
        self.tracker = RemoteNeighbours(graph, owner, workers)
        self._degree = np.diff(graph.indptr)
        self._degrees = np.bincount(self.tracker.owner, weights=self._degree, minlength=workers).astype(np.int64)
        self._ceiling = math.inf if how.tau is None else (1 + how.tau) * self._degrees.mean()
        self._most = how.most or math.ceil(10 * math.sqrt(len(self._degree)))
        self.steps: list[tuple[int, int]] = []
        self._best = math.inf, 0.0
        self._kept = self.tracker.owner.copy()
        self._note()

    def guarded(self) -> str:
        """Swaps that lower the largest load, until none is found."""
        while len(self.steps) <= self._most:
            load = self._load()
            if self._even(load):
                return "even"
            if not (self._swap_hubs(load) or self._swap_effective(load)):
                return "stuck"
            self._note()
        return "most"

    def _swap_hubs(self, load: IntArray) -> bool:
        """The specification's candidates: between the largest and the least load."""
        high, low = int(load.argmax()), int(load.argmin())
        sides = self._from(high, high, self.how.tries), self._from(low, high, self.how.tries)
        return self._swap_first(load, high, low, *sides)

    def _swap_effective(self, load: IntArray) -> bool:
        """Candidates by what their moves alone do to the largest load."""
        high, reach = int(load.argmax()), self.how.reach
        if not reach:
            return False
        edges, owner = self.tracker.edges[high], self.tracker.owner
        out = np.flatnonzero(owner == high)
        freed = self._near(out, (edges == 1) & (owner != high)) - (edges[out] > 0)
        out = out[np.argsort(-freed, kind="stable")[:reach]]
        for other in np.argsort(load, kind="stable").tolist():
            if other == high:
                continue
            into = np.flatnonzero(owner == other)
            added = self._near(into, (edges == 0) & (owner != high)) - (edges[into] > 0)
            if self._swap_first(load, high, other, out, into[np.argsort(added, kind="stable")[:reach]]):
                return True
        return False

    def _swap_first(self, load: IntArray, high: int, other: int, out: IntArray, into: IntArray) -> bool:
        """Make the first swap that leaves both below the largest load and raises no third one to it."""
        for v in out.tolist():
            for u in into.tolist():
                if self._too_heavy(v, u, high, other):
                    continue
                self.tracker.swap(v, u)
                now = self._load()
                # Among the others none may come to the top: so (largest load, workers that have it) falls.
                if max(now[high], now[other]) < load[high] and ((now < load[high]) | (now <= load)).all():
                    moved = self._degree[v] - self._degree[u]
                    self._degrees[high] -= moved
                    self._degrees[other] += moved
                    return True
                self.tracker.swap(v, u)
        return False

    def _near(self, members: IntArray, flag: npt.NDArray[np.bool_]) -> IntArray:
        """Number of each member's neighbours that have the flag."""
        entries, counts = entries_of(self._graph.indptr, members)
        before = np.concatenate([[0], np.cumsum(flag[self._graph.indices[entries]])])
        ends = np.cumsum(counts)
        neighbours: IntArray = before[ends] - before[ends - counts]
        return neighbours

    def literal(self) -> str:
        """Algorithm 2 as published, until the loads are even, an assignment comes back or nothing is there to swap."""
        signature = 0
        seen = {signature}
        ratio: float | None = None
        while len(self.steps) <= self._most:
            load = self._load()
            high, low = int(load.argmax()), int(load.argmin())
            before, ratio = ratio, load[low] / load[high] if load[high] else 1.0
            if self._even(load) or (
                self.how.stop == "delta" and before is not None and abs(ratio - before) <= self.how.gamma
            ):
                return "even"
            some = self._from(high, high, 1).tolist(), self._from(low, high, 1).tolist()
            if high == low or not all(some):
                return "stuck"
            (v,), (u,) = some
            for vertex, worker in ((v, high), (v, low), (u, low), (u, high)):  # Zobrist 1970: XOR of who is where
                signature ^= mix_word((vertex * self._workers + worker + 1) * GOLDEN)
            self.tracker.swap(v, u)
            self._note()
            if signature in seen:
                return "cycle"
            seen.add(signature)
        return "most"

    def restore(self) -> None:
        """Back to the best state: the smallest largest load, then the largest ratio."""
        if not np.array_equal(self._kept, self.tracker.owner):
            self.tracker = RemoteNeighbours(self._graph, self._kept, self._workers)

    def _load(self) -> IntArray:
        tracker = self.tracker
        return np.maximum(tracker.recv, tracker.send) if self.how.balance == "max" else tracker.recv.copy()

    def _note(self) -> None:
        load = self._load()
        high, low = int(load.max()), int(load.min())
        self.steps.append((high, low))
        rank = float(high), -low / high if high else -1.0
        if self.how.mode == "best" and rank < self._best:
            self._best = rank
            self._kept = self.tracker.owner.copy()

    def _even(self, load: IntArray) -> bool:
        return bool(load.max() - load.min() <= self.how.gamma * load.max())

    def _from(self, worker: int, high: int, count: int) -> IntArray:
        """Vertices of ``worker`` to swap: of ``high`` those with most neighbours outside it, of others with fewest."""
        members = np.flatnonzero(self.tracker.owner == worker)
        outside = self._degree[members] - self.tracker.edges[high, members]
        key = (-outside if worker == high else outside) * len(self._degree) + members
        count = min(count, len(members))
        if not count:
            return members
        chosen = np.argpartition(key, count - 1)[:count]
        return members[chosen[np.argsort(key[chosen])]]

    def _too_heavy(self, v: int, u: int, high: int, other: int) -> bool:
        moved = self._degree[v] - self._degree[u]
        after = max(self._degrees[high] - moved, self._degrees[other] + moved)
        return bool(after > max(self._ceiling, self._degrees[high], self._degrees[other]))
