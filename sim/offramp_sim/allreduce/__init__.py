# SPDX-License-Identifier: Apache-2.0
"""All-reduce through embedded switches without sockets, in lockstep: for tests and campaigns.

>>> from offramp_sim.allreduce import Experiment
>>> experiment = Experiment(ranks=2, segments=4)
>>> experiment.frame_bytes, round(experiment.overhead, 3)
(1078, 1.094)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp_sim.allreduce.direct import load as load_job
    from offramp_sim.allreduce.direct import outcomes as outcomes
    from offramp_sim.allreduce.direct import prefix_of as prefix_of
    from offramp_sim.allreduce.direct import strangers as strangers
    from offramp_sim.allreduce.experiment import AllReduceTimings as AllReduceTimings
    from offramp_sim.allreduce.experiment import Experiment as Experiment
    from offramp_sim.allreduce.experiment import SizeTiming as SizeTiming
    from offramp_sim.allreduce.lockstep import AllReduceLockstep as AllReduceLockstep
    from offramp_sim.allreduce.measure import measure as measure_allreduce
    from offramp_sim.allreduce.rated import RatedLinks as RatedLinks
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "AllReduceLockstep": "offramp_sim.allreduce.lockstep",
            "AllReduceTimings": "offramp_sim.allreduce.experiment",
            "Experiment": "offramp_sim.allreduce.experiment",
            "RatedLinks": "offramp_sim.allreduce.rated",
            "SizeTiming": "offramp_sim.allreduce.experiment",
            "load_job": "offramp_sim.allreduce.direct:load",
            "measure_allreduce": "offramp_sim.allreduce.measure:measure",
            "outcomes": "offramp_sim.allreduce.direct",
            "prefix_of": "offramp_sim.allreduce.direct",
            "strangers": "offramp_sim.allreduce.direct",
        },
    )
