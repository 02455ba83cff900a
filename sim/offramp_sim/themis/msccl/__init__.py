# SPDX-License-Identifier: Apache-2.0
"""MSCCL programs executed on arrays, to check them, and over a network, to time them.

>>> from offramp.themis import Collective, Demand, load_network, make_plan
>>> from offramp.themis.msccl import program_of
>>> from offramp_sim.themis.msccl import faults
>>> plan = make_plan(load_network("example"), [Demand(Collective.ALL_GATHER, 1 << 20)], chunks=2)
>>> faults(program_of(plan))
[]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp_sim.themis.msccl.check import faults as faults
    from offramp_sim.themis.msccl.timing import MscclTiming as MscclTiming
    from offramp_sim.themis.msccl.timing import time_on as time_on
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "MscclTiming": "offramp_sim.themis.msccl.timing",
            "faults": "offramp_sim.themis.msccl.check",
            "time_on": "offramp_sim.themis.msccl.timing",
        },
    )
