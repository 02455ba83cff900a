# SPDX-License-Identifier: Apache-2.0
"""Task placement and online scheduling of distributed GNN training (DGTP; Luo, Bao and Wu, ToN 2024).

>>> from offramp.dgtp import MachineCluster, DgtpJob, TaskType, Machine, Problem, FlowVolume, initial_feasible
>>> machines = [Machine(name, {"gpu": 2}, ingress_bps=10e9, egress_bps=10e9) for name in ("first", "second")]
>>> sizes = {"gathered": FlowVolume(1e8), "subgraph": FlowVolume(1e7), "model_bytes": 1e6}
>>> job = DgtpJob(workers=2, samplers=1, sync="ring", worker=TaskType(0.06, {"gpu": 1}), **sizes)
>>> problem = Problem(job.graph(len(machines)), MachineCluster(tuple(machines)))
>>> bool(problem.feasible(initial_feasible(problem, seed=1)))
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp.dgtp.cluster import Machine as Machine
    from offramp.dgtp.cluster import MachineCluster as MachineCluster
    from offramp.dgtp.job import DgtpJob as DgtpJob
    from offramp.dgtp.job import TaskType as TaskType
    from offramp.dgtp.packing import initial_feasible as initial_feasible
    from offramp.dgtp.plan import make_plan as make_plan
    from offramp.dgtp.plan import my_role as my_role
    from offramp.dgtp.plan import read_plan as read_plan
    from offramp.dgtp.problem import Problem as Problem
    from offramp.dgtp.search import Search as Search
    from offramp.dgtp.search import search as search_placement
    from offramp.dgtp.volume import FlowVolume as FlowVolume
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "DgtpJob": "offramp.dgtp.job",
            "FlowVolume": "offramp.dgtp.volume",
            "Machine": "offramp.dgtp.cluster",
            "MachineCluster": "offramp.dgtp.cluster",
            "Problem": "offramp.dgtp.problem",
            "Search": "offramp.dgtp.search",
            "TaskType": "offramp.dgtp.job",
            "initial_feasible": "offramp.dgtp.packing",
            "make_plan": "offramp.dgtp.plan",
            "my_role": "offramp.dgtp.plan",
            "read_plan": "offramp.dgtp.plan",
            "search_placement": "offramp.dgtp.search:search",
        },
    )
