# SPDX-License-Identifier: Apache-2.0
"""A network of several dimensions, each with its own links, in place of the fat tree of NICs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from offramp.hermod.dag import Flows
from offramp.hermod.factors import CType
from offramp.themis.network import Collective, Network, coordinates
from offramp.themis.schedule import baseline_order, chunk_for, sent_bytes, stages
from offramp_base.errors import OfframpError
from offramp_sim.hermod.flow.fabric import BisectionFabric

Array = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Dimensions(BisectionFabric):
    """Each NPU has a card for each dimension; messages travel dimension by dimension, the innermost first.

    There is one path between any two NPUs, and there are no leaves.

    Attributes:
        network: network of Themis; ranks count along its first dimension fastest.
    """

    network: Network = field(kw_only=True)

    @classmethod
    def over(cls, network: Network) -> Dimensions:
        """The cards of a network's NPUs."""
        npus, count = np.arange(network.npus), network.npus * len(network.dimensions)
        fastest = max(d.used_bps for d in network.dimensions) / 8
        return cls(npus, npus, count, 1, fastest, leaf=count, network=network)

    @cached_property
    def capacity(self) -> npt.NDArray[np.float64]:
        """Bytes per second of each resource; one of two links for a ring on which collectives run one way."""
        rates = [d.used_bps / 8 for d in self.network.dimensions]
        return np.tile(np.repeat(rates, self.network.npus), 2)

    def route(self, flows: Flows, _ctype: CType) -> tuple[Array, Array, npt.NDArray[np.float64]]:
        """Load as rows ``(flow, resource, bytes)``."""
        rows = []
        at, unit = flows.source.copy(), 1
        for k, d in enumerate(self.network.dimensions):
            step = (flows.sink // unit % d.size - at // unit % d.size) * unit
            flow = np.flatnonzero((step != 0) & (flows.size > 0))
            base = k * self.network.npus
            rows.append((flow, base + at[flow], flows.size[flow]))
            at = at + step
            rows.append((flow, self.count + base + at[flow], flows.size[flow]))
            unit *= d.size
        return tuple(np.concatenate(part) for part in zip(*rows, strict=True))  # type: ignore[return-value]

    def latency_s(self, source: int, sink: int) -> float:
        """Seconds that an empty message takes."""
        sizes = [d.size for d in self.network.dimensions]
        ends = zip(coordinates(source, sizes), coordinates(sink, sizes), self.network.dimensions, strict=True)
        return sum(d.latency_ns for a, b, d in ends if a != b) / 1e9

    def collective(self, kind: Collective, size: int, ranks: Sequence[int]) -> tuple[Flows, float] | None:
        """Load of a collective on the dimensions that its ranks span, and the latency of its steps in seconds.

        This is the hierarchical algorithm of Themis's baseline, with as many chunks as keep all dimensions busy. None
        if the ranks do not form a grid.

        Args:
            kind: which collective.
            size: bytes as :class:`~offramp.themis.demand.Demand` counts them.
            ranks: all of them, ascending.
        """
        sizes = [d.size for d in self.network.dimensions]
        places = np.array([coordinates(rank, sizes) for rank in ranks])
        along = [np.unique(column) for column in places.T]
        if math.prod(map(len, along)) != len(ranks):
            return None
        try:
            mine = Network(
                self.network.name,
                tuple(replace(d, size=len(there)) for d, there in zip(self.network.dimensions, along, strict=True)),
            )
        except OfframpError:  # a part of a switch that no halving reaches
            return None
        chunk = chunk_for(kind, size, baseline_order(mine, kind))
        steps = stages(mine, kind, chunk)
        sent = sent_bytes(mine, [steps])
        source, sink, moved = [], [], []
        unit = 1
        for k, there in enumerate(along):
            both_ways = self.network.dimensions[k].bidirectional and len(there) > 2
            for way in ((-1, 1) if both_ways else (-1,)) if sent[k] > 0 else ():
                peer = dict(zip(there.tolist(), np.roll(there, way).tolist(), strict=True))
                next_ = np.array([peer[c] for c in places[:, k].tolist()])
                source.append(np.array(ranks))
                sink.append(np.array(ranks) + (next_ - places[:, k]) * unit)
                moved.append(np.full(len(ranks), sent[k] / (2 if both_ways else 1)))
            unit *= sizes[k]
        flows = [np.concatenate([*part, np.zeros(0, part[0].dtype)]) for part in (source, sink, moved) if part]
        joined = Flows(*flows) if flows else Flows(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
        return joined, sum(stage.delay_ps for stage in steps) / 1e12
