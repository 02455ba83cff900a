# SPDX-License-Identifier: Apache-2.0
"""Task placement and online scheduling of distributed GNN training (DGTP; Luo, Bao and Wu, ToN 2024).

>>> from offramp.dgtp import Cluster, Job, Kind, Machine, Problem, Volume, initial_feasible
>>> machines = [Machine(name, {"gpu": 2}, ingress_bps=10e9, egress_bps=10e9) for name in ("first", "second")]
>>> sizes = {"gathered": Volume(1e8), "subgraph": Volume(1e7), "model_bytes": 1e6}
>>> job = Job(workers=2, samplers=1, sync="ring", worker=Kind(0.06, {"gpu": 1}), **sizes)
>>> problem = Problem(job.graph(len(machines)), Cluster(tuple(machines)))
>>> bool(problem.feasible(initial_feasible(problem, seed=1)))
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp.dgtp.cluster import Cluster as Cluster
    from offramp.dgtp.cluster import Machine as Machine
    from offramp.dgtp.job import Job as Job
    from offramp.dgtp.job import Kind as Kind
    from offramp.dgtp.packing import initial_feasible as initial_feasible
    from offramp.dgtp.plan import make_plan as make_plan
    from offramp.dgtp.plan import my_role as my_role
    from offramp.dgtp.plan import read_plan as read_plan
    from offramp.dgtp.problem import Problem as Problem
    from offramp.dgtp.search import Search as Search
    from offramp.dgtp.search import search as search_placement
    from offramp.dgtp.volume import Volume as Volume
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "Cluster": "offramp.dgtp.cluster",
            "Job": "offramp.dgtp.job",
            "Kind": "offramp.dgtp.job",
            "Machine": "offramp.dgtp.cluster",
            "Problem": "offramp.dgtp.problem",
            "Search": "offramp.dgtp.search",
            "Volume": "offramp.dgtp.volume",
            "initial_feasible": "offramp.dgtp.packing",
            "make_plan": "offramp.dgtp.plan",
            "my_role": "offramp.dgtp.plan",
            "read_plan": "offramp.dgtp.plan",
            "search_placement": "offramp.dgtp.search:search",
        },
    )
