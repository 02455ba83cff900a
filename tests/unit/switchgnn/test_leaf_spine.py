# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from offramp.switchgnn.leaf_spine import LeafSpine, even_racks
from offramp.switchgnn.two_level import leaf_entries, spine_entries
from offramp.switchgnn.wire import NO_ID
from offramp_base.errors import OfframpError
from offramp_sim.switchgnn.jobs import random_job, six_vertices

NETWORK = LeafSpine((0, 0, 1), spines=2)


def test_ports_lead_to_workers_then_to_spines() -> None:
    assert [NETWORK.host_port(worker) for worker in range(3)] == [1, 2, 1]
    assert [NETWORK.uplink(0, spine) for spine in range(2)] == [3, 4]
    assert NETWORK.leaf_ports(1) == [1, 2, 3]
    assert NETWORK.spine_ports() == [1, 2]


def test_even_racks_hold_neighbouring_workers() -> None:
    assert even_racks(8, 3, 2) == LeafSpine((0, 0, 0, 1, 1, 1, 2, 2), 2)


def test_vertices_spread_over_the_spines() -> None:
    counts = [0] * 4
    for spine in LeafSpine((0, 1), spines=4).spine_of(range(4000)).tolist():
        counts[spine] += 1
    assert min(counts) > 900


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: even_racks(2, 3), r"racks 3: expected at most one for each of 2 workers"),
        (lambda: even_racks(4, 1), r"racks 1: expected 2 to 16"),
        (lambda: even_racks(20, 17), r"racks 17: expected 2 to 16"),
        (lambda: even_racks(4, 2, 0), r"spines 0: expected at least 1"),
        (lambda: LeafSpine((0, 2)), r"racks \[0, 2\]: expected leaves 0, 1, … with a worker each"),
    ],
)
def test_numbers_that_do_not_go_together(make, message: str) -> None:
    with pytest.raises(OfframpError, match=message):
        make()


def test_plans_for_another_number_of_workers() -> None:
    with pytest.raises(OfframpError, match=r"racks: for 2 workers, the plan is for 3"):
        leaf_entries(six_vertices().plans, LeafSpine((0, 1)), 0)


def test_every_contribution_is_at_one_leaf_and_every_sum_is_joined_at_its_home() -> None:
    job = random_job(3, vertices=30, edges=80, workers=5, limit=12, features=(40,))
    network = LeafSpine((0, 1, 2, 0, 1), spines=3)
    leaves = [leaf_entries(job.plans, network, leaf) for leaf in range(3)]
    hops = sum(len(rows) for leaf in leaves for rows in leaf.rows if rows.table.endswith("v2agg"))
    assert hops == 2 * job.boundary.C
    for leaf, entries in enumerate(leaves):
        (contributed,) = [rows for rows in entries.rows if rows.action.endswith("contribute")]
        assert set(contributed.params["port"].tolist()) <= {network.uplink(leaf, spine) for spine in range(3)}
        hosts = [rows for rows in entries.rows if "host_id" in rows.keys]
        ids = {rows.action.split(".")[-1]: rows.keys["host_id"].tolist() for rows in hosts}
        assert ids["rack"] == network.members(leaf)
        assert ids.get("hosts_of_leaf", []) == ([NO_ID] if leaf else [])
        assert ids.get("leaf", []) == ([] if leaf else [5, 6, 7])


def test_a_spine_keeps_no_state() -> None:
    entries = spine_entries(six_vertices().plans, NETWORK)
    assert {rows.table.split(".")[-1] for rows in entries.rows} == {"owners", "hosts", "members"}
