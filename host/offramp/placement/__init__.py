# SPDX-License-Identifier: Apache-2.0
"""Task placement and online scheduling of distributed GNN training (DGTP; Luo, Bao and Wu, ToN 2024)."""

from offramp.placement.bounds import Bounds, bounds, critical_path, degrees
from offramp.placement.cluster import Cluster, Machine
from offramp.placement.job import Job, Kind
from offramp.placement.plan import Plan, Role, make_plan, my_role, read_plan
from offramp.placement.problem import Problem
from offramp.placement.search import Found, Search, search
from offramp.placement.taskgraph import Edge, Task, TaskGraph
from offramp.placement.volume import Volume, draw

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
