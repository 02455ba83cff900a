# SPDX-License-Identifier: Apache-2.0
"""10,000 jobs on 10,240 GPUs within ten minutes of one core and 4 GB: leaves two to one, light and heavy loads.

pytest -s -m bench tests/bench/test_cluster_scale.py
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import time

import numpy as np
import pytest

from offramp.fabric import fabric_of, make_cluster
from offramp_sim.cluster import ClusterJob, ClusterOptions, simulate_cluster

pytestmark = [pytest.mark.bench, pytest.mark.timeout(3600)]

GPUS = ([1, 2, 4, 8, 16, 32, 64, 128, 256], [0.35, 0.12, 0.12, 0.2, 0.08, 0.06, 0.04, 0.02, 0.01])
COMPUTE_S = (0.1, 0.2, 0.4, 0.8)
ALL_REDUCE = (10**8, 5 * 10**8, 13 * 10**8, 7 * 10**9, 14 * 10**9)


def drawn(count: int, gpus: int, load: float, seed: int) -> list[ClusterJob]:
    """Jobs as clusters have them: most are small, times are log-normal, and they ask for this share of all GPUs."""
    random = np.random.default_rng(seed)
    sizes = random.choice(GPUS[0], count, p=GPUS[1])
    seconds = np.exp(random.normal(7, 1.3, count))
    arrivals = np.cumsum(random.exponential(float((sizes * seconds).mean()) / (load * gpus), count))
    compute = random.choice(COMPUTE_S, count)
    return [
        ClusterJob(
            name=f"j{i}",
            gpus=int(sizes[i]),
            iterations=max(1, int(seconds[i] / compute[i])),
            compute_s=float(compute[i]),
            all_reduce=int(random.choice(ALL_REDUCE)),
            arrival_s=float(arrivals[i]),
        )
        for i in range(count)
    ]


def measure(shape: str, routing: str, load: float, answer: multiprocessing.SimpleQueue) -> None:
    """Run in a process of its own, whose memory and processor time are the simulation's."""
    cluster = make_cluster(shape, rate_bps=4 * 10**11, gpus=8, inside_bps=36 * 10**11, routing=routing)
    fabric = fabric_of(cluster)
    jobs = drawn(10_000, fabric.ranks, load, 0)
    begun = time.process_time()
    run = simulate_cluster(fabric, jobs, ClusterOptions())
    seconds = time.process_time() - begun
    slow = [each.slowdown for each in run.outcomes]
    answer.put(
        (seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, run.contended, max(slow), np.mean(slow))
    )


@pytest.mark.parametrize(
    ("shape", "routing", "load"),
    [
        ("fat-tree:16x8x10x5x5", "spray", 0.9),
        ("fat-tree:16x8x10x5x5", "ecmp", 0.9),
        ("fat-tree:16x8x10x5x5", "ecmp", 0.6),
        ("leaf-spine:64x10x20", "ecmp", 0.9),
    ],
)
def test_ten_thousand_jobs(shape: str, routing: str, load: float) -> None:
    context = multiprocessing.get_context("spawn")
    answer = context.SimpleQueue()
    process = context.Process(target=measure, args=(shape, routing, load, answer))
    process.start()
    process.join()
    seconds, gigabytes, *facts = answer.get()
    sys.stdout.write(f"{shape}, {routing}, {load}: {seconds:.0f} s of processor time, {gigabytes:.2f} GB, {facts}\n")
    assert seconds < 600
    assert gigabytes < 4
