# SPDX-License-Identifier: Apache-2.0
"""SwitchGNN: multicast and aggregation of GNN features inside the switch (Li et al., ATC 2025).

>>> from offramp.graph import Boundary, load_graph, partition_graph
>>> from offramp.switchgnn import make_plan
>>> graph = load_graph("karate")
>>> plan = make_plan(Boundary(graph, partition_graph(graph, 4, "hash")), chunks=1, memory_bytes=64_000)
>>> len(plan.blocks)
1
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp.switchgnn.bfrt_control import SwitchGnnBfrt as SwitchGnnBfrt
    from offramp.switchgnn.control import SwitchGnnControl as SwitchGnnControl
    from offramp.switchgnn.cost import Rates as Rates
    from offramp.switchgnn.cost import load_rates as load_rates
    from offramp.switchgnn.exchange import Exchange as Exchange
    from offramp.switchgnn.plan import Plan as Plan
    from offramp.switchgnn.plan import make_plan as make_plan
    from offramp.switchgnn.planner import Planner as Planner
    from offramp.switchgnn.recovery import Recovery as Recovery
    from offramp.switchgnn.scheme import Scheme as Scheme
    from offramp.switchgnn.scheme import parse_scheme as parse_scheme
    from offramp.switchgnn.worker import Worker as Worker
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "Exchange": "offramp.switchgnn.exchange",
            "Plan": "offramp.switchgnn.plan",
            "Planner": "offramp.switchgnn.planner",
            "Rates": "offramp.switchgnn.cost",
            "Recovery": "offramp.switchgnn.recovery",
            "Scheme": "offramp.switchgnn.scheme",
            "SwitchGnnBfrt": "offramp.switchgnn.bfrt_control",
            "SwitchGnnControl": "offramp.switchgnn.control",
            "Worker": "offramp.switchgnn.worker",
            "load_rates": "offramp.switchgnn.cost",
            "make_plan": "offramp.switchgnn.plan",
            "parse_scheme": "offramp.switchgnn.scheme",
        },
    )
