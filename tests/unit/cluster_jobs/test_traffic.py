# SPDX-License-Identifier: Apache-2.0
"""Traffic of one iteration of small jobs, counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from offramp.fabric import fabric_of, make_cluster
from offramp_sim.cluster import ClusterJob
from offramp_sim.cluster.traffic import JobLoad, _rings, job_load

RATE = 10**10
FABRIC = fabric_of(make_cluster("leaf-spine:2x1x4", rate_bps=RATE, uplink_bps=RATE, gpus=2))


def load(ranks: list[int], **bytes_: int) -> JobLoad:
    job = ClusterJob(name="job", gpus=len(ranks), iterations=1, compute_s=1.0, **bytes_)
    return job_load(FABRIC, job, np.array(ranks))


def test_what_a_job_of_one_host_sends_stays_there() -> None:
    source, sink, size = _rings(FABRIC, np.array([0, 1]), 7.0)
    assert (source.tolist(), sink.tolist(), size.tolist()) == ([0, 1], [1, 0], [7.0, 7.0])
    assert load([0]).seconds == load([0], all_reduce=8 * 10**9).seconds == 0.0


def test_a_ring_over_two_hosts() -> None:
    """Each GPU sends 3/2 of the bytes; a host's NIC sends and receives them once."""
    source, sink, size = _rings(FABRIC, np.array([0, 1, 2, 3]), 6.0)
    flows = sorted(zip(source.tolist(), sink.tolist(), strict=True))
    assert len(flows) == len(size)
    crossing = FABRIC.rank_host[source] != FABRIC.rank_host[sink]
    assert size[crossing].sum() == 12.0  # to the other host and back
    assert set(size[~crossing]) == {6.0}
    ring = load([0, 1, 2, 3], all_reduce=4 * 10**9)
    assert ring.seconds == pytest.approx(1.5 * 4e9 / (RATE / 8))
    assert ring.amount.max() == pytest.approx(6e9)


def test_an_all_to_all_between_two_hosts() -> None:
    """Each of two GPUs of a host sends two thirds of its bytes to the other host."""
    together = load([0, 1, 2, 3], all_to_all=3 * 10**9)
    assert together.seconds == pytest.approx(2 * 2e9 / (RATE / 8))
    assert together.weight == pytest.approx(1 / 1e9)
    two = load([0, 1, 2, 3], all_reduce=4 * 10**9, all_to_all=3 * 10**9)
    assert two.seconds == pytest.approx((6e9 + 4e9) / (RATE / 8))
