# SPDX-License-Identifier: Apache-2.0
"""Bytes that an exchange without losses puts on each link of a fabric, counted from its plan alone."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from offramp.fabric import Fabric
from offramp.graph.csr import distinct
from offramp.switchgnn.plan import Plan
from offramp.switchgnn.wire import LANES, SHORT_FRAME_BYTES, frame_bytes
from offramp_base.wire.ethernet import wire_bytes
from offramp_sim.packets.exchange import Acks
from offramp_sim.packets.ports import GOLDEN
from offramp_sim.packets.topology import Floats, Words


def exchange_load(fabric: Fabric, plan: Plan, acks: Acks = "all") -> Floats:
    """``(links,)`` bytes of link time; worker ``k`` is NIC ``k`` of the fabric.

    A host uploads to its switch; a switch sends what it has summed of a vertex to the switch of the vertex's owner,
    which sends the sum to the owner. The owner acknowledges it to all who contributed. At the end of each block every
    host reports to the switch of host 0, which lets all begin the next one.
    """
    count = _ExchangeCount(fabric)
    data, short = wire_bytes(frame_bytes(plan.lanes // LANES)), wire_bytes(SHORT_FRAME_BYTES)
    hosts, leaf = np.arange(plan.workers), count.leaf
    base = 0
    for block in plan.blocks:
        owner, need = block.owner.astype(np.int64), block.need
        row = np.repeat(np.arange(len(need)), need)
        source = owner[block.neighbours]
        np.add.at(count.load, fabric.nics.up[owner[block.order]], data * plan.chunks)
        # One partial sum of a vertex from each switch that has contributions and is not its owner's.
        summed = distinct(row * len(fabric.nodes) + leaf[source])
        vertex, at = np.divmod(summed, len(fabric.nodes))
        away = at != leaf[owner[vertex]]
        count.route(at[away], owner[vertex[away]], base + vertex[away], data * plan.chunks, to_switch=True)
        some = np.flatnonzero(need)
        np.add.at(count.load, fabric.nics.down[owner[some]], data * plan.chunks)
        if acks == "all":
            np.add.at(count.load, fabric.nics.up[owner[some]], short * plan.chunks)
            vertex, host = np.divmod(distinct(row * plan.workers + source), plan.workers)
            count.route(leaf[owner[vertex]], host, base + vertex, short * plan.chunks)
        np.add.at(count.load, fabric.nics.up[hosts], short)
        count.route(leaf, np.zeros_like(hosts), hosts, short, to_switch=True)
        count.route(np.full_like(hosts, leaf[0]), hosts, hosts, short)
        base += len(need)
    return count.load


@dataclass
class _ExchangeCount:
    """Adds what switches send to NICs; ``leaf`` is the switch of each NIC, counted from the first."""

    fabric: Fabric
    leaf: Words = field(init=False)
    load: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.leaf = self.fabric.nics.far - self.fabric.hosts
        self.load = np.zeros(len(self.fabric.ends))
        self._nic_at = np.zeros(len(self.fabric.nodes), np.int64)
        self._nic_at[self.leaf] = np.arange(len(self.leaf))

    def route(self, switch: Words, nic: Words, number: Words, size: int, *, to_switch: bool = False) -> None:
        """``size`` bytes of each packet from a switch to a NIC, or to the switch of that NIC.

        Args:
            switch: ``(p,)`` switches that send, from the first.
            nic: ``(p,)`` NICs that receive.
            number: ``(p,)`` vertex or host, by which ECMP chooses.
            size: bytes.
            to_switch: whether the packets end at the NICs' switches.
        """
        fabric = self.fabric
        choice = fabric.paths.places[nic]
        if fabric.cluster.routing == "ecmp":
            choice = ((number + 1).astype(np.uint64) * np.uint64(GOLDEN)).view(np.int64)
        begin = self._nic_at[switch]
        for packet, link, share in fabric.paths.walk(begin, nic, choice)[1:]:  # the first link leads to the switch
            counts = link != fabric.nics.down[nic[packet]] if to_switch else np.ones(len(link), np.bool_)
            np.add.at(self.load, link[counts], size * share[counts])
