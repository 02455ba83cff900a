# SPDX-License-Identifier: Apache-2.0
"""Task placement and online scheduling of distributed GNN training (DGTP; Luo, Bao and Wu, ToN 2024)."""

from offramp.dgtp.bounds import Bounds, bounds, critical_path, degrees
from offramp.dgtp.cluster import Cluster, Machine
from offramp.dgtp.draws import draw
from offramp.dgtp.job import Job, Kind
from offramp.dgtp.plan import Plan, Role, make_plan, my_role, read_plan
from offramp.dgtp.problem import Problem
from offramp.dgtp.search import Found, Search, search
from offramp.dgtp.taskgraph import Edge, Task, TaskGraph
from offramp.dgtp.volume import Volume

__all__ = [
    "Bounds",
    "Cluster",
    "Edge",
    "Found",
    "Job",
    "Kind",
    "Machine",
    "Plan",
    "Problem",
    "Role",
    "Search",
    "Task",
    "TaskGraph",
    "Volume",
    "bounds",
    "critical_path",
    "degrees",
    "draw",
    "make_plan",
    "my_role",
    "read_plan",
    "search",
]
