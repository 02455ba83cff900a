# SPDX-License-Identifier: Apache-2.0
"""Themis (Rashidi et al., ISCA 2022): collectives over several dimensions, with a separate order for each chunk.

>>> from offramp.themis import Collective, Demand, load_network, make_plan
>>> network = load_network("3D-SW_SW_SW_homo")
>>> plan = make_plan(network, [Demand(Collective.ALL_REDUCE, 100_000_000)])
>>> plan.finish_ps > 0
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp.themis.bound import best_bound as best_bound
    from offramp.themis.candidate import Candidate as Candidate
    from offramp.themis.demand import Demand as Demand
    from offramp.themis.kinds import Collective as Collective
    from offramp.themis.network import Dimension as Dimension
    from offramp.themis.network import Network as Network
    from offramp.themis.network_file import load_network as load_network
    from offramp.themis.network_file import network_of as network_of
    from offramp.themis.pipeline import ChunkPolicy as ChunkPolicy
    from offramp.themis.plan import CollectivePlan as CollectivePlan
    from offramp.themis.plan import Scheduler as Scheduler
    from offramp.themis.plan import make_plan as make_plan
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "Candidate": "offramp.themis.candidate",
            "ChunkPolicy": "offramp.themis.pipeline",
            "Collective": "offramp.themis.kinds",
            "CollectivePlan": "offramp.themis.plan",
            "Demand": "offramp.themis.demand",
            "Dimension": "offramp.themis.network",
            "Network": "offramp.themis.network",
            "Scheduler": "offramp.themis.plan",
            "best_bound": "offramp.themis.bound",
            "load_network": "offramp.themis.network_file",
            "make_plan": "offramp.themis.plan",
            "network_of": "offramp.themis.network_file",
        },
    )
