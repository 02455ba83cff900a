# SPDX-License-Identifier: Apache-2.0
"""Coflows of real processes through the embedded switch: a network namespace for each rank, and one for the switch.

>>> from offramp_sim.hermod.lab import LabScenario
>>> LabScenario(seed=3).seed
3
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp_sim.hermod.lab.experiment import LabResult as LabResult
    from offramp_sim.hermod.lab.experiment import abuses as abuses
    from offramp_sim.hermod.lab.measuring import measure as measure
    from offramp_sim.hermod.lab.scenario import LabScenario as LabScenario
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "LabResult": "offramp_sim.hermod.lab.experiment",
            "LabScenario": "offramp_sim.hermod.lab.scenario",
            "abuses": "offramp_sim.hermod.lab.experiment",
            "measure": "offramp_sim.hermod.lab.measuring",
        },
    )
