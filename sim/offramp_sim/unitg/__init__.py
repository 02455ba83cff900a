# SPDX-License-Identifier: Apache-2.0
"""UniTG simulated: a pipeline, its language model and the network between them, under several policies.

>>> from offramp_sim.unitg import POLICIES, UnitgScenario, simulate
>>> scenario = UnitgScenario(stages=2, microbatches=2, lm_steps=1)
>>> times = {policy: simulate(scenario, policy).makespan_s for policy in POLICIES}
>>> times["interleaved"] <= times["sequential"]
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp_sim.unitg.engine import PipelineResult as PipelineResult
    from offramp_sim.unitg.engine import StageActivity as StageActivity
    from offramp_sim.unitg.engine import simulate as simulate
    from offramp_sim.unitg.picture import draw_outcomes as draw_outcomes
    from offramp_sim.unitg.scenario import POLICIES as POLICIES
    from offramp_sim.unitg.scenario import UnitgScenario as UnitgScenario
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "POLICIES": "offramp_sim.unitg.scenario",
            "PipelineResult": "offramp_sim.unitg.engine",
            "StageActivity": "offramp_sim.unitg.engine",
            "UnitgScenario": "offramp_sim.unitg.scenario",
            "draw_outcomes": "offramp_sim.unitg.picture",
            "simulate": "offramp_sim.unitg.engine",
        },
    )
