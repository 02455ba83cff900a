# SPDX-License-Identifier: Apache-2.0
"""Every scheme by name, on one graph and one switch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from offramp.graph.boundary import Boundary
from offramp.switchgnn.chunks import chunks_for
from offramp.switchgnn.plan import Plan, make_plan
from offramp_base.errors import OfframpError
from offramp_sim.slot.chunk_major import chunk_major
from offramp_sim.slot.host_based import bns_gcn, g3
from offramp_sim.slot.hybrid import hybrid
from offramp_sim.slot.in_network import planned
from offramp_sim.slot.ports import StarFabric
from offramp_sim.slot.result import ExchangeResult
from offramp_sim.slot.strawman import strawman
from offramp_sim.slot.windows import pairwise, windows


@dataclass(eq=False)
class SchemeParameters:
    """Parameters that all schemes share.

    Attributes:
        boundary: the partitioned graph.
        features: width of a vertex on the wire.
        memory_bytes: bytes of the switch's aggregators.
        fabric: the links.
        acks: whether acknowledgements are charged.
        values: quantised values that share a lane in the switch (1, 2 or 4).
        seed: random seed.
    """

    boundary: Boundary
    features: int
    memory_bytes: int = 100_000_000
    fabric: StarFabric = field(default_factory=StarFabric)
    acks: bool = False
    seed: int = 0
    values: int = 1

    @property
    def chunks(self) -> int:
        """Packets of a vertex."""
        return chunks_for(-(-self.features // self.values))

    @cached_property
    def plan(self) -> Plan:
        """SwitchGNN's plan, in GAMR order."""
        return make_plan(self.boundary, self.chunks, self.memory_bytes, "gamr", self.seed)

    @cached_property
    def shuffled(self) -> Plan:
        """The plan's blocks in random order."""
        return self.plan.reordered("random", self.seed)


SCHEMES: dict[str, Callable[[SchemeParameters], ExchangeResult]] = {
    "bns-gcn": lambda s: bns_gcn(s.boundary, s.features, s.fabric),
    "g3": lambda s: g3(s.boundary, s.features, s.fabric),
    "strawman": lambda s: strawman(s.boundary, s.chunks, s.memory_bytes, s.fabric, s.seed),
    "strawman-hash": lambda s: strawman(s.boundary, s.chunks, s.memory_bytes, s.fabric, s.seed, fixed=True),
    "strawman-unlimited": lambda s: strawman(s.boundary, s.chunks, None, s.fabric, s.seed),
    "switchgnn": lambda s: planned(s.plan, s.fabric, acks=s.acks),
    "switchgnn-random": lambda s: planned(s.shuffled, s.fabric, "switchgnn-random", acks=s.acks),
    "chunk-major": lambda s: chunk_major(s.boundary, s.chunks, s.memory_bytes, s.fabric, s.seed, widest=1),
    "wide-slices": lambda s: chunk_major(s.boundary, s.chunks, s.memory_bytes, s.fabric, s.seed),
    "hybrid": lambda s: hybrid(s.boundary, s.features, s.plan, s.fabric),
    "windows": lambda s: windows(s.boundary, s.chunks, s.memory_bytes, s.fabric),
    "pairwise": lambda s: pairwise(s.boundary, s.chunks, s.memory_bytes, s.fabric),
}


def simulate(setting: SchemeParameters, scheme: str) -> ExchangeResult:
    """Simulate one exchange under ``scheme``.

    Raises:
        OfframpError: unknown scheme, or memory too small for a plan.
    """
    if scheme not in SCHEMES:
        raise OfframpError(f"scheme {scheme!r}: expected one of {', '.join(SCHEMES)}")
    return SCHEMES[scheme](setting)
