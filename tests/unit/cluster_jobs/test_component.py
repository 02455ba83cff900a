# SPDX-License-Identifier: Apache-2.0
"""Samples of many contending jobs: against samples that allocate rates at every start and end, and by brute force."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from offramp.fabric import fabric_of, make_cluster
from offramp_sim.cluster import component
from offramp_sim.cluster.bottlenecks import narrowed
from offramp_sim.cluster.component import Component
from offramp_sim.cluster.job import ClusterJob
from offramp_sim.cluster.orders import ORDERS, SharingJob
from offramp_sim.cluster.progress import first_progress
from offramp_sim.cluster.traffic import job_load


def contenders(seed: int, count: int, routing: str) -> tuple[list[SharingJob], np.ndarray]:
    random = np.random.default_rng(seed)
    shape = "leaf-spine:8x4x8"
    fabric = fabric_of(make_cluster(shape, rate_bps=10**10, uplink_bps=10**10, gpus=8, routing=routing))
    jobs = []
    for i in range(count):
        job = ClusterJob(
            name=f"j{i}",
            gpus=int(random.integers(4, 12)),
            iterations=10**6,
            compute_s=float(random.uniform(0.1, 0.8)),
            all_reduce=int(random.integers(10**7, 3 * 10**8)),
            overlap=float(random.choice([0.0, 0.0, 0.4])),
        )
        ranks = np.sort(random.choice(fabric.ranks, job.gpus, replace=False))
        jobs.append(SharingJob(job, job_load(fabric, job, ranks), float(i)))
    return jobs, fabric.capacity


@pytest.mark.parametrize("order", ["fair", "sebf"])
@pytest.mark.parametrize("routing", ["ecmp", "spray"])
def test_allocations_that_starts_and_ends_share_change_the_pace_little(
    routing: str, order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mean pace within 2 %, and the paces of jobs within 5 % (root mean square), with a sample that takes less."""
    jobs, capacity = contenders(1, 60, routing)
    progress = [first_progress(each, 10**6) for each in jobs]
    pace = []
    for shared in (0.0, component._SHARED):
        monkeypatch.setattr(component, "_SHARED", shared)
        pace.append(Component(jobs, progress, capacity, ORDERS.get(order), 60).forecast().pace)
    exact, sampled = pace
    moves = exact > 0.05 * np.array([1 / each.iteration_s for each in jobs])
    assert sampled.mean() == pytest.approx(exact.mean(), rel=0.02)
    assert np.sqrt(np.mean((sampled[moves] / exact[moves] - 1) ** 2)) < 0.05


@pytest.mark.parametrize("seed", range(5))
def test_resources_that_are_left_out_limit_nobody(seed: int) -> None:
    """Rates of any jobs that the resources kept allow, all others allow as well, and the other way round."""
    jobs, capacity = contenders(seed, 12, "ecmp")
    jobs.append(replace(jobs[0], started_s=99.0))
    kept, limits = narrowed(jobs, capacity)
    random = np.random.default_rng(seed)
    for _ in range(200):
        rate = random.uniform(0, 1, len(jobs)) / [each.load.seconds for each in jobs]
        rate *= random.choice([0.2, 0.5, 1.0])
        whole, few = np.zeros(len(capacity)), np.zeros(len(limits))
        for each, narrow, share in zip(jobs, kept, rate, strict=True):
            whole[each.load.resource] += share * each.load.amount
            few[narrow.load.resource] += share * narrow.load.amount
        assert (whole <= capacity * (1 + 1e-9)).all() == (few <= limits * (1 + 1e-9)).all()
        busiest = (whole / capacity).max()
        if busiest > 1:
            assert few.max() == pytest.approx(busiest)
