# SPDX-License-Identifier: Apache-2.0
"""Shortest paths between NICs, over switches only, and how flows are spread over those that are equally short."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from offramp.fabric.model import Fabric

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
_FAR: Final = 1 << 20
_SPREAD: Final = ("spray", "adaptive")
"""Routings that use all equal paths; as fluid they are the same."""
_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX: Final = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))


def hop_choice(choice: Ints, switch: Ints) -> Ints:
    """``(f,)`` the number by which a switch chooses for an ECMP hash: not what the switches before it chose by."""
    word = choice.astype(np.uint64) ^ ((switch.astype(np.uint64) + np.uint64(1)) * _GOLDEN)
    word = (word ^ (word >> np.uint64(29))) * np.uint64(_MIX[0][1])
    number: Ints = (word >> np.uint64(33)).astype(np.int64)
    return number


def _turned(table: Ints, first: Ints, counts: Ints) -> Ints:
    """An order in which the ways of each cell begin anywhere: at the next switch, other places share a way."""
    word = (table.astype(np.uint64) + np.uint64(1)) * _GOLDEN
    begin = ((word ^ (word >> np.uint64(32))) >> np.uint64(8)).astype(np.int64)
    turn = (np.arange(len(table)) - first[table] + begin) % counts[table]
    order: Ints = first[table] + turn
    return order


class Paths:
    """Paths of a fabric; built once, asked for many flows at a time."""

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self._hosts = fabric.hosts
        self._switches = len(fabric.nodes) - fabric.hosts
        near, far = fabric.ends[:, 0] - self._hosts, fabric.ends[:, 1] - self._hosts
        between = fabric.works & (near >= 0) & (far >= 0)
        self._links = np.flatnonzero(between)
        """Links between switches."""
        self._near, self._far = near[between], far[between]

    @cached_property
    def hops(self) -> npt.NDArray[np.int32]:
        """``(switches, switches)`` links of the shortest path between switches."""
        count = self._switches
        hops = np.full((count, count), _FAR, np.int32)
        np.fill_diagonal(hops, 0)
        joined = np.zeros((count, count), np.float32)
        joined[self._near, self._far] = 1
        reached = np.eye(count, dtype=np.float32)
        for distance in range(1, count):
            wider = (reached @ joined > 0) | (reached > 0)
            new = wider & (hops == _FAR)
            if not new.any():
                break
            hops[new] = distance
            reached = wider.astype(np.float32)
        return hops

    @cached_property
    def homes(self) -> Ints:
        """Switches that hosts are at, counted from the first switch."""
        far = self._fabric.nics.far
        return np.unique(far[far >= self._hosts]) - self._hosts

    @cached_property
    def ways(self) -> tuple[Ints, Ints, Ints]:
        """By switch and target switch with hosts: first of its ways, their number, and the links of all ways."""
        hops = self.hops[:, self.homes]
        nearer = hops[self._far] + 1 == hops[self._near]
        link, home = np.nonzero(nearer & (hops[self._near] < _FAR))
        table = self._near[link] * self._switches + self.homes[home]
        by = np.lexsort((link, table))
        counts = np.bincount(table, minlength=self._switches**2)
        first = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)
        if self._fabric.cluster.routing == "destination":
            by = by[_turned(table[by], first, counts)]
        return first, counts, self._links[link[by]]

    @cached_property
    def places(self) -> Ints:
        """``(nics,)`` place of each NIC among those at its switch, by which switches choose where destinations decide.

        Neighbours' traffic thus takes all ways in turn, wherever it comes from.
        """
        far = self._fabric.nics.far
        by = np.argsort(far, kind="stable")
        place = np.empty(len(far), np.int64)
        place[by] = np.arange(len(far)) - np.searchsorted(far[by], far[by])
        return place

    def towards(self, nic: int) -> list[int]:
        """The link by which each switch that reaches a NIC forwards to it, where destinations decide."""
        nics = self._fabric.nics
        if nics.far[nic] < self._hosts:
            return []
        first, count, ways = self.ways
        cells = np.arange(self._switches) * self._switches + nics.far[nic] - self._hosts
        cells = cells[count[cells] > 0]
        return [*ways[first[cells] + self.places[nic] % count[cells]].tolist(), int(nics.down[nic])]

    def between(self, a: Ints, b: Ints) -> Ints:
        """``(f,)`` links of the shortest path from one NIC to another."""
        nics = self._fabric.nics
        x, y = nics.far[a] - self._hosts, nics.far[b] - self._hosts
        cable = nics.up[a] == nics.down[b]
        through = (x >= 0) & (y >= 0)
        hops = np.full(len(a), _FAR, np.int64)
        hops[through] = self.hops[x[through], y[through]] + 2
        hops[cable] = 1
        return np.minimum(hops, _FAR)

    def nics(self, source: Ints, sink: Ints) -> tuple[Ints, Ints]:
        """``(f,)`` NICs by which flows between ranks of different hosts leave and arrive.

        They are the ranks' own unless others of their hosts are nearer to each other.

        Raises:
            OfframpError: hosts that nothing joins.
        """
        fabric = self._fabric
        a, b = fabric.rail[source], fabric.rail[sink]
        lost = np.flatnonzero((a < 0) | (b < 0))
        if len(lost):
            raise self._apart(source[lost[0]], sink[lost[0]])
        best = self.between(a, b)
        first, count = fabric.nics_of_host, np.diff(fabric.nics_of_host)
        from_, to = fabric.rank_host[source], fabric.rank_host[sink]
        fewest = 1 if (fabric.nics.far < self._hosts).any() else 2
        several = np.flatnonzero(((count[from_] > 1) | (count[to] > 1)) & (best > fewest))
        if len(several):
            a, b = a.copy(), b.copy()
            from_, to = from_[several], to[several]
            for i in range(int(count[from_].max())):
                for j in range(int(count[to].max())):
                    other_a = first[from_] + (fabric.rail[source[several]] - first[from_] + i) % count[from_]
                    other_b = first[to] + (fabric.rail[sink[several]] - first[to] + j) % count[to]
                    hops = self.between(other_a, other_b)
                    nearer = hops < best[several]
                    changed = several[nearer]
                    a[changed], b[changed], best[changed] = other_a[nearer], other_b[nearer], hops[nearer]
        lost = np.flatnonzero(best >= _FAR)
        if len(lost):
            raise self._apart(source[lost[0]], sink[lost[0]])
        return a, b

    def rows(self, source: Ints, sink: Ints, key: int = 0) -> tuple[Ints, Ints, Floats]:
        """What flows between ranks put on resources: rows of flow, resource and share of the flow's bytes.

        Raises:
            OfframpError: hosts that nothing joins.
        """
        fabric = self._fabric
        links = len(fabric.ends)
        from_, to = fabric.rank_host[source], fabric.rank_host[sink]
        inside = np.flatnonzero((from_ == to) & (source != sink))
        away = np.flatnonzero(from_ != to)
        rows = [
            (inside, links + source[inside], np.ones(len(inside))),
            (inside, links + fabric.ranks + sink[inside], np.ones(len(inside))),
        ]
        if len(away):
            a, b = self.nics(source[away], sink[away])
            choice = self.hashes(a, b, key) if fabric.cluster.routing == "ecmp" else self.places[b]
            rows += [(away[flow], link, share) for flow, link, share in self.walk(a, b, choice)]
        flow, resource, share = (np.concatenate(part) for part in zip(*rows, strict=True))
        return flow, resource, share

    def walk(self, a: Ints, b: Ints, choice: Ints) -> list[tuple[Ints, Ints, Floats]]:
        """Links from NIC to NIC, hop by hop, as rows of flow, link and share; ``choice`` decides among equal ways."""
        nics = self._fabric.nics
        first, count, ways = self.ways
        flow = np.arange(len(a))
        rows = [(flow, nics.up[a], np.ones(len(a)))]
        through = flow[nics.up[a] != nics.down[b]]
        at, home = nics.far[a[through]] - self._hosts, nics.far[b] - self._hosts
        share = np.ones(len(through))
        flow = through
        ecmp, spread = self._fabric.cluster.routing == "ecmp", self._fabric.cluster.routing in _SPREAD
        while True:
            there = at == home[flow]
            if there.any():
                rows.append((flow[there], nics.down[b[flow[there]]], share[there]))
            flow, at, share = flow[~there], at[~there], share[~there]
            if not len(flow):
                return rows
            cell = at * self._switches + home[flow]
            if spread:
                times = count[cell]
                turn = np.arange(int(times.sum())) - np.repeat(np.cumsum(times) - times, times)
                link = ways[np.repeat(first[cell], times) + turn]
                flow, share = np.repeat(flow, times), np.repeat(share / times, times)
            else:
                turn = hop_choice(choice[flow], at) if ecmp else choice[flow]
                link = ways[first[cell] + turn % count[cell]]
            rows.append((flow, link, share))
            at = self._fabric.ends[link, 1] - self._hosts
            if spread:  # paths that meet again go on as one
                joined, where = np.unique(flow * self._switches + at, return_inverse=True)
                share = np.bincount(where, share, len(joined)).astype(np.float64)
                flow, at = np.divmod(joined, self._switches)

    def delays_ns(self, source: Ints, sink: Ints, key: int = 0) -> Floats:
        """``(f,)`` propagation between ranks; with sprayed packets the mean of their paths."""
        flow, resource, share = self.rows(source, sink, key)
        links = resource < len(self._fabric.ends)
        delay = share[links] * self._fabric.delay_ns[resource[links]]
        return np.bincount(flow[links], delay, len(source)).astype(np.float64)

    def hashes(self, a: Ints, b: Ints, key: int) -> Ints:
        """``(f,)`` the number that ECMP hashes a flow between two NICs to."""
        word = (a.astype(np.uint64) << np.uint64(40)) ^ (b.astype(np.uint64) << np.uint64(16)) ^ np.uint64(key)
        for shift, factor in _MIX:
            word = (word ^ (word >> np.uint64(shift))) * np.uint64(factor)
        return (word >> np.uint64(16)).astype(np.int64)

    def _apart(self, source: int, sink: int) -> OfframpError:
        fabric = self._fabric
        a, b = fabric.rank_host[source], fabric.rank_host[sink]
        return OfframpError(
            f"{fabric.place(a)}: no way from {fabric.nodes[a]} to {fabric.nodes[b]}: expected links that join them"
        )
