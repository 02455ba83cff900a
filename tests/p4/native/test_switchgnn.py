# SPDX-License-Identifier: Apache-2.0
"""The SwitchGNN programs on both engines, over random jobs and links that duplicate and delay."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.p4src import p4_source
from offramp.switchgnn.control import POOL
from offramp_base.wire.batch import PacketBatch
from offramp_p4.frontend import load
from offramp_sim.switchgnn import direct
from offramp_sim.switchgnn.jobs import random_job
from offramp_sim.switchgnn.lockstep import Lockstep
from switchgnn_channel import UnrulyChannel
from twins import Twins

pytestmark = [pytest.mark.p4, pytest.mark.full]

SIZES = {"AGGREGATORS": "64", "VERTICES": "64", "FANOUT_ENTRIES": "4096", "SLOT_ENTRIES": "1024", "HOSTS": "16"}


@pytest.fixture(scope="module", params=["v1model", "strawman_v1model"])
def twins(request: pytest.FixtureRequest) -> Twins:
    return Twins(load(p4_source(f"switchgnn/{request.param}.p4"), defines=SIZES), max_passes=10_000)


@pytest.mark.full
@settings(max_examples=25, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32), workers=st.integers(1, 5), limit=st.integers(2, 14), trouble=st.booleans())
def test_random_jobs(twins: Twins, seed: int, workers: int, limit: int, trouble: bool) -> None:
    job = random_job(seed, vertices=14, edges=30, workers=workers, limit=limit, features=(5, 40))
    twins.each(lambda s: s.reset())
    capacity = limit if POOL in twins.engine.tables else None
    twins.each(lambda s: direct.load(s, job.plans, job.ports, capacity=capacity))
    channels = [UnrulyChannel(seed + i, 0.2 * trouble, 0.4 * trouble) for i in range(2)]
    lockstep = Lockstep(job.plans, job.ports, twins.process, window=50, up=channels[0], down=channels[1])
    lockstep.start()
    rng = np.random.default_rng(seed)
    for plan, features in [(0, 5), (1, 40)]:
        x = rng.integers(-(2**31), 2**31, (len(job.boundary.owner), features)).astype(np.int32)
        lockstep.exchange(plan, [x[e.boundaries[plan]] for e in lockstep.endpoints])


@settings(max_examples=40, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32), frames=st.lists(st.binary(max_size=200), min_size=1, max_size=30))
def test_garbage(twins: Twins, seed: int, frames: list[bytes]) -> None:
    rng = np.random.default_rng(seed)
    starts = [b"", bytes(12) + b"\x08\x00", bytes(12) + b"\x08\x00E" + bytes(8) + b"\xfd" + bytes(10)]
    packets = [(int(rng.integers(16)), starts[rng.integers(3)] + frame) for frame in frames]
    twins.process(PacketBatch.of(packets))
