# SPDX-License-Identifier: Apache-2.0
"""The control plane without a switch; tests/p4/switchgnn and tests/conformance run the rest on one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from offramp.switchgnn import acknowledge, barrier, guard
from offramp.switchgnn.control import EntriesByBlocks, check_plans, entries_for, rows_for, sizes_for
from offramp.switchgnn.rows import ActionRows
from offramp.switchgnn.target import TNA, V1MODEL, ProgramTarget
from offramp_base.errors import OfframpError
from offramp_sim.switchgnn.jobs import SIX_VERTEX_BLOCKS, six_vertices


@pytest.mark.parametrize(
    ("ports", "copies", "message"),
    [
        ([1, 2, 2], 1, r"ports \[1, 2, 2\]: expected a port of its own for each worker"),
        ([1, 2], 1, "ports: the plan is for 3 workers, got 2 ports"),
        ([1, 2, 3], 2, "plans: expected disjoint block ids"),
    ],
)
def test_what_does_not_fit_together_is_refused(ports: list[int], copies: int, message: str) -> None:
    with pytest.raises(OfframpError, match=message):
        check_plans(six_vertices().plans * copies, ports)


def test_all_entries_of_a_job() -> None:
    job = six_vertices(SIX_VERTEX_BLOCKS)
    rows = rows_for(job.plans, job.ports)
    assert [len(part) for part in rows] == [3, 3, 6, 10, 8, 6]
    there = {part.table for part in rows}
    by_table, groups = entries_for(there, job.plans, job.ports, V1MODEL)
    assert [len(part) for part in by_table] == [3, 3, 6, 10, 8, 6]
    assert groups == {barrier.GROUP: [(1, 1), (2, 2), (3, 3)]}
    with pytest.raises(OfframpError, match="acks: the switch program does not serve them"):
        entries_for(there, job.plans, job.ports, V1MODEL, acks=True)


@pytest.mark.parametrize(("target", "name"), [(V1MODEL, acknowledge.TABLE), (TNA, guard.TABLE)])
def test_acks_go_to_the_owners_of_neighbours(target: ProgramTarget, name: str) -> None:
    job = six_vertices()
    table = target.full(name)
    rows, groups = entries_for({table}, job.plans, job.ports, target, acks=True)
    (part,) = (part for part in rows if part.table == table)
    members = [{worker - 1 for _, worker in groups[group]} for group in part.params["group"].tolist()]
    owners = [0, 0, 1, 1, 2, 2]
    neighbours = [{2, 3, 4}, {2, 5}, {0, 1, 4}, {0, 5}, {0, 2}, {1, 3}]
    assert members == [{owners[v] for v in vs} for vs in neighbours]


def test_sizes_give_just_the_room() -> None:
    plans = six_vertices(SIX_VERTEX_BLOCKS).plans
    room = {
        "SEGMENTS": 1,
        "AGGREGATORS": 3,
        "VERTICES": 3,
        "PARTIALS": 1,
        "FANOUT_ENTRIES": 14,
        "SLOT_ENTRIES": 10,
        "OWNER_ENTRIES": 6,
        "HOSTS": 3,
    }
    expected = {**room, "RECIRCULATION_PORT": V1MODEL.recirculation_port}
    assert sizes_for(plans) == expected
    assert sizes_for(plans, capacity=2) == {**expected, "AGGREGATORS": 2}
    assert sizes_for([]) == {**expected, **dict.fromkeys(room, 1)}


@pytest.mark.parametrize(("most", "count"), [(1, 9), (7, 5), (1 << 20, 3)])
def test_entries_by_blocks_are_those_of_all_blocks(most: int, count: int) -> None:
    job = six_vertices(SIX_VERTEX_BLOCKS)
    again = [replace(block, block_id=50 + block.block_id) for block in job.plans[0].blocks]
    plans = [*job.plans, replace(job.plans[0], blocks=again)]
    there = {part.table for part in rows_for(plans, job.ports)}
    whole, groups = entries_for(there, plans, job.ports, V1MODEL)
    parts = list(EntriesByBlocks(there, plans, job.ports, V1MODEL, most=most))
    assert len(parts) == count
    assert {number: replicas for _, some in parts for number, replicas in some.items()} == groups

    def entries(rows: Iterable[ActionRows]) -> list[str]:
        return sorted(f"{part.table} {part.action} {entry}" for part in rows for entry in part.entries())

    assert entries(part for rows, _ in parts for part in rows) == entries(whole)
