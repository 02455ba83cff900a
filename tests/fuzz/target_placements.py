# SPDX-License-Identifier: Apache-2.0
"""Clusters and jobs of the placement, and the plans that launchers read."""

from __future__ import annotations

import random
from pathlib import Path

from fuzzing import render
from offramp.dgtp.plan import read_plan
from offramp.dgtp.setup_file import read_setup

NAME = "placement's clusters, jobs and plans"
_MACHINES = [
    {"name": "a", "count": 2, "cpu": 8, "gpu": 2, "memory": "48GB", "network": "10Gbps"},
    {"name": "b", "cpu": 20, "gpu": 4, "memory": "256GiB", "in": "100G", "out": 5e10, "speed": {"worker": 2.5}},
]
_JOB = {
    "machines": _MACHINES,
    "job": {
        "sync": "ps",
        "iterations": 985,
        "store": {"seconds": 0.01},
        "sampler": {"each": 2, "seconds": 0.02, "cpu": 2, "memory": "7GB"},
        "worker": {"count": 3, "seconds": 0.06, "cpu": 1, "gpu": 1, "memory": "3GB"},
        "ps": {"seconds": 0.003, "cpu": 1, "memory": "5GB", "count": 2},
        "gathered": {"mean": "100MB", "spread": 0.05},
        "subgraph": {"samples": ["90MB", "110MB"]},
        "model": "0.83MB",
        "shares": [1, 2, 1],
        "pipelined": True,
    },
}
_RING = {"machines": _MACHINES, "job": {**_JOB["job"], "sync": "ring", "ring_order": [0, 2, 1]}}  # type: ignore[dict-item]
_GRAPH = {
    "machines": _MACHINES,
    "tasks": [
        {"name": "read", "home": "b", "seconds": 1},
        {"name": "crunch", "seconds": 2, "cpu": 4},
        {"name": "log", "with": "crunch"},
    ],
    "edges": [{"from": "read", "to": "crunch", "bytes": "1GB"}, {"from": "log", "to": "read", "lag": 1}],
    "iterations": 7,
}
_ROLE = {
    "rank": 0,
    "machine": "a",
    "address": "a",
    "local_rank": 0,
    "kind": "store",
    "index": 0,
    "gpu": 0,
    "feeds": [1],
}
_PLAN = {"format": "offramp-placement-1", "ranks": [_ROLE, {**_ROLE, "rank": 1, "gpu": None}], "numbers": {"s": 1.5}}


def run(rng: random.Random) -> None:
    """One file."""
    if rng.random() < 0.2:
        plan = read_plan(render.write(Path("plan.json"), render.document(rng, _PLAN, "json")))
        assert [role.rank for role in plan.roles] == list(range(len(plan.roles)))
        return
    tree = rng.choice((_JOB, _RING, _GRAPH))
    setup = read_setup(render.write(Path("setup.yaml"), render.document(rng, tree, "yaml")))
    assert setup.iterations >= 1
