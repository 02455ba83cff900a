# SPDX-License-Identifier: Apache-2.0
"""The cost model (equations 3.3 and 3.4): goldens of the specification, section 2."""

from __future__ import annotations

import numpy as np
import pytest

from offramp.dgs.cost import communication, halo
from offramp.graph.data import build_graph
from offramp.graph.load import load
from offramp_base.errors import OfframpError

EDGES = "01 02 12 23 34 35 45 56 67 26 17"
OWNER = np.array([0, 0, 0, 1, 1, 1, 2, 2])


def eight():
    u, v = zip(*((int(e[0]), int(e[1])) for e in EDGES.split()), strict=True)
    return build_graph("eight", 8, (u, v))


def test_halos_of_one_hop() -> None:
    halos = [halo(eight(), OWNER, worker, 1).tolist() for worker in range(3)]
    assert halos == [[3, 6, 7], [2, 6], [1, 2, 5]]


@pytest.mark.parametrize("hops", [2, 3])
def test_halos_of_more_hops(hops: int) -> None:
    halos = [halo(eight(), OWNER, worker, hops).tolist() for worker in range(3)]
    assert halos == [[3, 4, 5, 6, 7], [0, 1, 2, 6, 7], [0, 1, 2, 3, 4, 5]]


def test_cost_is_vertices_times_features() -> None:
    assert communication(eight(), OWNER, 3, 1, 10).tolist() == [30, 20, 30]


@pytest.mark.parametrize(("hops", "sizes"), [(1, [9, 8]), (2, [17, 16])])
def test_karate_club(hops: int, sizes: list[int]) -> None:
    graph = load("karate")
    owner = np.arange(34) * 2 // 34
    assert [len(halo(graph, owner, worker, hops)) for worker in (0, 1)] == sizes


def test_no_hop_is_refused() -> None:
    with pytest.raises(OfframpError, match=r"^hops 0: expected at least 1$"):
        halo(eight(), OWNER, 0, 0)
