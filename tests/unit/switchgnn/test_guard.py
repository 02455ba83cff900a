# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from offramp.switchgnn.guard import slot_rows
from offramp.switchgnn.target import TNA
from offramp_sim.switchgnn.jobs import SIX_VERTEX_BLOCKS, random_job, six_vertices


def test_each_vertex_of_each_block_has_the_slot_of_its_rank_and_the_port_of_its_owner() -> None:
    rows = slot_rows(six_vertices(SIX_VERTEX_BLOCKS).plans, [7, 8, 9])
    got = [(*key.values(), *param.values()) for key, param in rows.entries()]
    expected = [
        *[(0, 0, 0, 1, 7), (0, 2, 1, 1, 8), (0, 4, 2, 1, 9)],
        *[(1, 1, 0, 1, 7), (1, 3, 1, 1, 8), (1, 5, 2, 1, 9)],
        *[(2, 0, 0, 1, 7), (2, 3, 1, 1, 8)],
        *[(3, 1, 0, 1, 7), (3, 2, 1, 1, 8)],
    ]
    assert got == expected
    on_tofino = slot_rows(six_vertices(SIX_VERTEX_BLOCKS).plans, [7, 8, 9], TNA)
    assert on_tofino.params["group"].tolist() == [0] * 10  # ACKs are not served


def test_slots_of_a_block_do_not_overlap() -> None:
    job = random_job(1, vertices=30, edges=80, workers=3, limit=8, features=(90, 5))
    taken: set[tuple[int, int]] = set()
    for key, param in slot_rows(job.plans, job.ports).entries():
        cells = {(key["block_id"], param["base"] + chunk) for chunk in range(param["chunks"])}
        assert not cells & taken
        taken |= cells
    largest = max(slot for _, slot in taken)
    assert largest < max(plan.aggregators_peak for plan in job.plans) <= 8 * 3


def test_no_plans_no_slots() -> None:
    assert len(slot_rows([], [])) == 0
