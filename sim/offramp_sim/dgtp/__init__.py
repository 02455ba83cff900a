# SPDX-License-Identifier: Apache-2.0
"""A cluster that runs a placed training job: tasks, flows that share network cards, and comparisons.

>>> from offramp.dgtp import initial_feasible
>>> from offramp_sim.dgtp import compare, make_setup
>>> problem = make_setup("testbed-products-ps").problem
>>> result = compare(problem, initial_feasible(problem, seed=1), iterations=2, policies=["oes"], seed=1)
>>> result.reached <= result.seconds["first feasible"]["oes"]
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp_sim.dgtp.comparison import PlacementComparison as PlacementComparison
    from offramp_sim.dgtp.comparison import compare as compare
    from offramp_sim.dgtp.engine import execute as execute
    from offramp_sim.dgtp.gantt import draw_gantt as draw_gantt
    from offramp_sim.dgtp.native.machine import FastCluster as FastCluster
    from offramp_sim.dgtp.policies import POLICIES as POLICIES
    from offramp_sim.dgtp.policies import make_policy as make_policy
    from offramp_sim.dgtp.setups import DATASETS as DATASETS
    from offramp_sim.dgtp.setups import make_job as make_job
    from offramp_sim.dgtp.setups import make_setup as make_setup
    from offramp_sim.dgtp.trace import PlacementTrace as PlacementTrace
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "DATASETS": "offramp_sim.dgtp.setups",
            "FastCluster": "offramp_sim.dgtp.native.machine",
            "POLICIES": "offramp_sim.dgtp.policies",
            "PlacementComparison": "offramp_sim.dgtp.comparison",
            "PlacementTrace": "offramp_sim.dgtp.trace",
            "compare": "offramp_sim.dgtp.comparison",
            "draw_gantt": "offramp_sim.dgtp.gantt",
            "execute": "offramp_sim.dgtp.engine",
            "make_job": "offramp_sim.dgtp.setups",
            "make_policy": "offramp_sim.dgtp.policies",
            "make_setup": "offramp_sim.dgtp.setups",
        },
    )
