# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest

from offramp.switchgnn.fanout import by_port, contributions
from offramp.switchgnn.replicate import FIRST_GROUP, MAX_GROUPS, copy_entries
from offramp.switchgnn.target import REPLICATED
from offramp_base.errors import OfframpError
from offramp_sim.switchgnn.jobs import random_job, six_vertices


def test_vertices_with_neighbours_behind_the_same_ports_share_a_group() -> None:
    """Vertices 0 to 5 have neighbours of workers 1 1 2, 1 2, 0 0 2, 0 2, 0 1 and 0 1."""
    job = six_vertices()
    rows, groups = copy_entries(job.plans, job.ports)
    group = dict(zip(rows.keys["src_id"].tolist(), rows.params["group"].tolist(), strict=True))
    replicas = {vertex: groups[number] for vertex, number in group.items()}
    assert replicas == {
        0: [(2, 0), (2, 1), (3, 2)],
        1: [(2, 0), (3, 1)],
        2: [(1, 0), (1, 1), (3, 2)],
        3: [(1, 0), (3, 1)],
        4: [(1, 0), (2, 1)],
        5: [(1, 0), (2, 1)],
    }
    assert group[4] == group[5]
    assert sorted(groups) == list(range(FIRST_GROUP, FIRST_GROUP + 5))


def test_each_hop_of_a_group_leads_to_the_port_of_its_entry() -> None:
    job = random_job(2, vertices=60, edges=300, workers=5, limit=20, features=(40, 5))
    rows, groups = copy_entries(job.plans, job.ports)
    grouped = by_port(contributions(job.plans, REPLICATED), job.ports)
    ports = np.asarray(job.ports)[grouped.dst_owner]
    keys = zip(rows.keys["block_id"].tolist(), rows.keys["src_id"].tolist(), strict=True)
    group = dict(zip(keys, rows.params["group"].tolist(), strict=True))
    copies = set()
    for block, vertex, hop, port in zip(grouped.block_id, grouped.src_id, grouped.hop, ports, strict=True):
        assert (port, hop) in groups[group[block, vertex]]
        copies.add((block, vertex, hop))
    assert len(copies) == len(ports) == sum(len(groups[number]) for number in rows.params["group"].tolist())
    assert len(groups) < len(rows)


def test_more_groups_than_the_switch_has() -> None:
    job = six_vertices()
    message = r"replication: the plan needs 5 multicast groups, the switch has 4; v1model recirculates and needs none"
    with pytest.raises(OfframpError, match=message):
        copy_entries(job.plans, job.ports, groups=4)
    assert FIRST_GROUP + MAX_GROUPS == 1 << 16
    assert len(copy_entries([], [])[0]) == 0
