# SPDX-License-Identifier: Apache-2.0
"""Coflows of real processes through the embedded switch: a network namespace for each rank, and one for the switch."""

from offramp_sim.hermod.lab.experiment import LabResult, abuses, measure
from offramp_sim.hermod.lab.scenario import Scenario

__all__ = ["LabResult", "Scenario", "abuses", "measure"]
