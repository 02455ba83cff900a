# SPDX-License-Identifier: Apache-2.0
"""Slot-level models of SwitchGNN, for graphs too large to simulate packet by packet.

>>> from offramp.graph import Boundary, generate_graph, partition_graph
>>> from offramp_sim.slot import SchemeParameters, simulate
>>> graph = generate_graph("rmat:scale=8,degree=8", None, seed=1)
>>> setting = SchemeParameters(Boundary(graph, partition_graph(graph, 4, "random", seed=1)), features=64)
>>> simulate(setting, "switchgnn").seconds > 0
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp_sim.slot.host_based import bns_gcn as bns_gcn
    from offramp_sim.slot.host_based import epoch_seconds as epoch_seconds
    from offramp_sim.slot.in_network import planned as planned
    from offramp_sim.slot.ports import BlockTrace as BlockTrace
    from offramp_sim.slot.ports import ExchangeTrace as ExchangeTrace
    from offramp_sim.slot.ports import StarFabric as StarFabric
    from offramp_sim.slot.ports import exchange_trace as exchange_trace
    from offramp_sim.slot.result import ExchangeResult as ExchangeResult
    from offramp_sim.slot.result import Series as Series
    from offramp_sim.slot.schemes import SCHEMES as SCHEMES
    from offramp_sim.slot.schemes import SchemeParameters as SchemeParameters
    from offramp_sim.slot.schemes import simulate as simulate
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "BlockTrace": "offramp_sim.slot.ports",
            "ExchangeResult": "offramp_sim.slot.result",
            "ExchangeTrace": "offramp_sim.slot.ports",
            "SCHEMES": "offramp_sim.slot.schemes",
            "SchemeParameters": "offramp_sim.slot.schemes",
            "Series": "offramp_sim.slot.result",
            "StarFabric": "offramp_sim.slot.ports",
            "bns_gcn": "offramp_sim.slot.host_based",
            "epoch_seconds": "offramp_sim.slot.host_based",
            "exchange_trace": "offramp_sim.slot.ports",
            "planned": "offramp_sim.slot.in_network",
            "simulate": "offramp_sim.slot.schemes",
        },
    )
