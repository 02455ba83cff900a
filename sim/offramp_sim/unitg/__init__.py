# SPDX-License-Identifier: Apache-2.0
"""UniTG simulated: a pipeline, its language model and the network between them, under several policies.

>>> from offramp_sim.unitg import POLICIES, Scenario, simulate
>>> scenario = Scenario(stages=2, microbatches=2, lm_steps=1)
>>> times = {policy: simulate(scenario, policy).makespan_s for policy in POLICIES}
>>> times["interleaved"] <= times["sequential"]
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp_sim.unitg.engine import Bar as Bar
    from offramp_sim.unitg.engine import PipelineResult as PipelineResult
    from offramp_sim.unitg.engine import simulate as simulate
    from offramp_sim.unitg.picture import draw_outcomes as draw_outcomes
    from offramp_sim.unitg.scenario import POLICIES as POLICIES
    from offramp_sim.unitg.scenario import Scenario as Scenario
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "Bar": "offramp_sim.unitg.engine",
            "POLICIES": "offramp_sim.unitg.scenario",
            "PipelineResult": "offramp_sim.unitg.engine",
            "Scenario": "offramp_sim.unitg.scenario",
            "draw_outcomes": "offramp_sim.unitg.picture",
            "simulate": "offramp_sim.unitg.engine",
        },
    )
