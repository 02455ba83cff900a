# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from offramp.switchgnn.fingerprint import (
    boundary_fingerprint,
    job_fingerprint,
    plan_fingerprint,
    require_fit,
)
from offramp_base.errors import OfframpError
from offramp_sim.switchgnn.jobs import GraphPlans, random_job


def job(seed: int = 1, limit: int = 6, **changes: int) -> GraphPlans:
    return random_job(seed, **{"vertices": 20, "edges": 50, "workers": 3, "limit": limit, **changes})


def test_a_plan_has_the_fingerprint_of_its_boundary_however_it_is_cut() -> None:
    prints = {plan_fingerprint(job(limit=limit).plans[0]) for limit in (4, 6, 50)}
    assert prints == {boundary_fingerprint(job().boundary)}


def test_other_graphs_partitions_and_numbers_of_workers_differ() -> None:
    others = [job(), job(seed=2), job(edges=51), job(workers=4)]
    assert len({boundary_fingerprint(other.boundary) for other in others}) == 4


def test_plans_that_cut_the_same_graph_otherwise_are_other_jobs() -> None:
    assert job_fingerprint(job().plans) == job_fingerprint(job().plans)
    assert job_fingerprint(job(limit=4).plans) != job_fingerprint(job(limit=6).plans)


def test_what_does_not_fit_is_refused() -> None:
    fitting = job()
    require_fit("plan.npz", fitting.plans[0], fitting.boundary, 6 * 128)
    with pytest.raises(OfframpError, match=r"plan\.npz: made for a switch of 6 aggregators, expected 8 \(1024 B\)"):
        require_fit("plan.npz", fitting.plans[0], fitting.boundary, 1024)
    with pytest.raises(OfframpError, match=r"plan\.npz: made for another graph or partition: fingerprint \w{12}, ex"):
        require_fit("plan.npz", fitting.plans[0], job(seed=2).boundary, 6 * 128)
