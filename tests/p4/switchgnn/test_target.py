# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.p4src import p4_source
from offramp.switchgnn.control import entries_for, sizes_for
from offramp.switchgnn.target import TNA, V1MODEL, target_of
from offramp_base.errors import OfframpError
from offramp_p4 import make_switch
from offramp_p4.frontend import load
from offramp_sim.switchgnn import direct
from offramp_sim.switchgnn.jobs import random_job, six_vertices
from offramp_sim.switchgnn.lockstep import Lockstep

pytestmark = pytest.mark.p4


@pytest.mark.full
@settings(derandomize=True, deadline=None)
@given(st.integers(1, 255), st.integers(1, 700))
def test_the_chunks_of_a_vertex_share_a_page_and_no_aggregator(chunks: int, vertices: int) -> None:
    bases = TNA.bases(np.arange(vertices), chunks)
    used = bases[:, None] + np.arange(chunks)
    assert np.array_equal(used[:, 0] // 256, used[:, -1] // 256)
    assert len(np.unique(used)) == vertices * chunks
    assert np.array_equal(V1MODEL.bases(np.arange(vertices), chunks), np.arange(vertices) * chunks)


def test_room_counts_what_pages_leave_unused() -> None:
    job = random_job(3, vertices=200, edges=2000, workers=3, limit=200, features=(96,))  # 3 chunks, 85 to a page
    (block,) = job.plans[0].blocks
    assert TNA.slots(job.plans) == (len(block.vertices) - 1) // 85 * 256 + (len(block.vertices) - 1) % 85 * 3 + 3
    assert V1MODEL.slots(job.plans) == len(block.vertices) * 3
    assert TNA.slots([]) == V1MODEL.slots([]) == 0


@pytest.mark.full
def test_a_block_of_several_pages_runs() -> None:
    job = random_job(3, vertices=120, edges=400, workers=3, limit=200, features=(96,))
    sizes = {name: str(size) for name, size in sizes_for(job.plans, target=TNA).items()}
    switch = make_switch(load(p4_source("switchgnn/tna.p4"), defines=sizes), "python")
    assert target_of(switch.tables) is TNA
    direct.load(switch, job.plans, job.ports)
    lockstep = Lockstep(job.plans, job.ports, switch.process)
    lockstep.start()
    x = np.random.default_rng(2).integers(-1000, 1000, (120, 96)).astype(np.int32)
    sums = lockstep.exchange(0, [x[e.boundaries[0]] for e in lockstep.endpoints])
    assert max(len(block.vertices) for block in job.plans[0].blocks) > 85
    for endpoint, got in zip(lockstep.endpoints, sums, strict=True):
        assert np.array_equal(got, job.expected(x)[endpoint.boundaries[0]])


def test_a_program_for_another_pipe_recirculates_there() -> None:
    job = six_vertices()
    target = TNA.on_pipe(1)
    assert sizes_for(job.plans, target=target)["RECIRCULATION_PORT"] == 196
    with pytest.raises(OfframpError, match=r"port 1: expected a port of pipe 1, 128 to 255"):
        entries_for((), job.plans, job.ports, target)
    with pytest.raises(OfframpError, match=r"port 500: v1model recirculates there"):
        entries_for((), job.plans, [1, 2, 500], V1MODEL)
    with pytest.raises(OfframpError, match=r"pipe 4: expected 0 to 3"):
        TNA.on_pipe(4)
    with pytest.raises(OfframpError, match=r"pipe 1: v1model has no pipes"):
        V1MODEL.on_pipe(1)


def test_more_aggregators_than_an_index_can_name() -> None:
    job = random_job(3, vertices=300, edges=2000, workers=3, limit=300, features=(32 * 129,))
    with pytest.raises(OfframpError, match=r"aggregators: the plan needs \d+, the switch program has 65536"):
        entries_for((), job.plans, job.ports, TNA)
