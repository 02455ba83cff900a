# SPDX-License-Identifier: Apache-2.0
"""Leaves and spines for tests: the P4 program beside the reference, on links of any quality."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache

from offramp.switchgnn.leaf_spine import LeafSpine
from offramp.switchgnn.plan import Plan
from offramp.switchgnn.two_level import leaf_entries, spine_entries
from offramp_base.wire.batch import PacketBatch
from offramp_p4 import PlainSwitch, ir, make_switch
from offramp_sim.switchgnn import direct
from offramp_sim.switchgnn.lockstep import Channel, perfect
from switchgnn_leaf_reference import ReferenceLeaf, ReferenceSpine
from switchgnn_leaf_spine import LeafSpineNetwork


@dataclass
class Pair:
    """One switch beside its oracle; the same packets must leave both."""

    switch: PlainSwitch
    oracle: ReferenceLeaf | ReferenceSpine
    sent: list[bytes] = field(default_factory=list)

    def process(self, batch: PacketBatch) -> PacketBatch:
        got, want = self.switch.process(batch), self.oracle.process(batch)
        assert sorted(got) == sorted(want)
        self.sent += [frame for _, frame in got]
        return got

    def check(self) -> None:
        """Counters and open aggregators, too; none is left open."""
        assert direct.counters(self.switch) == self.oracle.counters()
        assert direct.occupancy(self.switch) == (self.oracle.open, self.oracle.peak)
        assert self.oracle.open == 0, "an aggregator stayed open"


@dataclass
class TwoLevels:
    """All switches of a job."""

    network: LeafSpine
    leaves: list[Pair]
    spines: list[Pair]
    inside: LeafSpineNetwork

    def check(self) -> None:
        for pair in [*self.leaves, *self.spines]:
            pair.check()


MakeTwoLevels = Callable[..., TwoLevels]


def factory(program: ir.Program, engine: str) -> MakeTwoLevels:
    """``make(plans, network, acks=…, link=…, hops=…)``; the switches live as long as the factory."""

    @cache
    def switch(number: int) -> PlainSwitch:
        return make_switch(program, engine)

    def make(
        plans: Sequence[Plan],
        network: LeafSpine,
        *,
        acks: bool = False,
        link: Callable[[], Channel] = lambda: perfect,
        hops: int = 4,
    ) -> TwoLevels:
        entries = [leaf_entries(plans, network, leaf, acks=acks) for leaf in range(network.leaves)]
        entries += [spine_entries(plans, network, acks=acks)] * network.spines
        oracles: list[ReferenceLeaf | ReferenceSpine] = [
            ReferenceLeaf(plans, network, leaf, acks=acks) for leaf in range(network.leaves)
        ]
        oracles += [ReferenceSpine(plans, network, acks=acks) for _ in range(network.spines)]
        pairs = []
        for number, (rows, oracle) in enumerate(zip(entries, oracles, strict=True)):
            switch(number).reset()
            direct.load_place(switch(number), rows)
            pairs.append(Pair(switch(number), oracle))
        leaves, spines = pairs[: network.leaves], pairs[network.leaves :]
        inside = LeafSpineNetwork(
            network, [p.process for p in leaves], [p.process for p in spines], link=link, hops=hops
        )
        return TwoLevels(network, leaves, spines, inside)

    return make
