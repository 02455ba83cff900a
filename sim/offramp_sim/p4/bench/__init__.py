"""How fast the engines of the P4 switch run a program, and bmv2 beside them."""

from __future__ import annotations

from offramp_sim.p4.bench.bmv2 import measure_bmv2
from offramp_sim.p4.bench.engines import Result, measure
from offramp_sim.p4.bench.workload import Workload, program_workload, switchgnn_workload

__all__ = ["Result", "Workload", "measure", "measure_bmv2", "program_workload", "switchgnn_workload"]
