# SPDX-License-Identifier: Apache-2.0
"""Coflows as fluid on a fat tree with strict priorities, for thousands of GPUs.

>>> from offramp.hermod import load_job
>>> from offramp_sim.hermod.flow import SimulationSetup, compare
>>> results = compare(load_job("qwen-moe-12l"), ["fair", "hermod"], SimulationSetup(iterations=2))
>>> results["hermod"].iteration_s <= results["fair"].iteration_s
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp_sim.hermod.flow.dimensions import Dimensions as Dimensions
    from offramp_sim.hermod.flow.fabric import BisectionFabric as BisectionFabric
    from offramp_sim.hermod.flow.network import Loaded as Loaded
    from offramp_sim.hermod.flow.network import load as load_dag
    from offramp_sim.hermod.flow.policies import order_of as order_of
    from offramp_sim.hermod.flow.simulate import FlowResult as FlowResult
    from offramp_sim.hermod.flow.simulate import simulate as run_flows
    from offramp_sim.hermod.flow.study import SimulationSetup as SimulationSetup
    from offramp_sim.hermod.flow.study import compare as compare
    from offramp_sim.hermod.flow.study import prepare as prepare
    from offramp_sim.hermod.flow.study import prepare_traces as prepare_traces
    from offramp_sim.hermod.flow.study import prepare_workload as prepare_workload
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "BisectionFabric": "offramp_sim.hermod.flow.fabric",
            "Dimensions": "offramp_sim.hermod.flow.dimensions",
            "FlowResult": "offramp_sim.hermod.flow.simulate",
            "Loaded": "offramp_sim.hermod.flow.network",
            "SimulationSetup": "offramp_sim.hermod.flow.study",
            "compare": "offramp_sim.hermod.flow.study",
            "load_dag": "offramp_sim.hermod.flow.network:load",
            "order_of": "offramp_sim.hermod.flow.policies",
            "prepare": "offramp_sim.hermod.flow.study",
            "prepare_traces": "offramp_sim.hermod.flow.study",
            "prepare_workload": "offramp_sim.hermod.flow.study",
            "run_flows": "offramp_sim.hermod.flow.simulate:simulate",
        },
    )
