# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.switchgnn.fanout import AGGREGATE, DELIVER, TABLE, fanout_rows
from offramp_sim.switchgnn.jobs import SIX_VERTEX_BLOCKS, random_job, six_vertices


def test_six_vertices_in_one_block() -> None:
    job = six_vertices()
    aggregate, deliver = fanout_rows(job.plans, job.ports)
    assert (aggregate.table, aggregate.action, deliver.action) == (TABLE, AGGREGATE, DELIVER)
    assert len(aggregate) == 14
    assert len(deliver) == 0
    of_zero = [(k["hop"], p) for k, p in aggregate.entries() if k["src_id"] == 0]
    assert of_zero == [
        (0, {"base": 2, "need": 3, "port": 2, "dst_id": 2, "last": 0}),
        (1, {"base": 3, "need": 2, "port": 2, "dst_id": 3, "last": 0}),
        (2, {"base": 4, "need": 2, "port": 3, "dst_id": 4, "last": 1}),
    ]


def test_a_vertex_with_one_neighbour_needs_no_aggregator() -> None:
    job = six_vertices(SIX_VERTEX_BLOCKS)
    aggregate, deliver = fanout_rows(job.plans, job.ports)
    assert len(aggregate) + len(deliver) == 14
    alone = {(k["block_id"], p["dst_id"]) for k, p in deliver.entries()}
    assert alone == {(1, 1), (1, 3), (2, 0), (2, 3), (3, 1), (3, 2)}
    assert set(deliver.params) == {"port", "dst_id", "last"}


@pytest.mark.full
@settings(derandomize=True, max_examples=50)
@given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.sampled_from([(1,), (40,), (8, 100)]))
def test_every_directed_cut_edge_has_one_entry_in_one_block(seed: int, limit: int, features: tuple[int, ...]) -> None:
    job = random_job(seed, vertices=20, edges=50, workers=4, limit=limit, features=features)
    entries = [entry for rows in fanout_rows(job.plans, job.ports) for entry in rows.entries()]
    keys = [tuple(k.values()) for k, _ in entries]
    assert len(set(keys)) == len(keys)
    owner = job.boundary.owner
    for plan in job.plans:
        ids = {block.block_id: block for block in plan.blocks}
        mine = [(k, p) for k, p in entries if k["block_id"] in ids]
        edges = Counter((k["src_id"], p["dst_id"]) for k, p in mine)
        both_ways = {(int(u), int(v)) for u, v in job.boundary.cut_edges} | {
            (int(v), int(u)) for u, v in job.boundary.cut_edges
        }
        assert edges == dict.fromkeys(both_ways, 1)
        contributions = Counter((k["block_id"], p["dst_id"]) for k, p in mine)
        for k, p in mine:
            block = ids[k["block_id"]]
            assert p["port"] == job.ports[owner[p["dst_id"]]]
            assert contributions[k["block_id"], p["dst_id"]] == p.get("need", 1)
            assert 0 <= p.get("base", 0) <= (len(block.vertices) - 1) * plan.chunks
            assert p["last"] == ((k["block_id"], k["src_id"], k["hop"] + 1) not in set(keys))


def test_no_plans_no_entries() -> None:
    assert [len(rows) for rows in fanout_rows([], [1])] == [0, 0]
