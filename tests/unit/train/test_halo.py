# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.graph.boundary import Boundary
from offramp.graph.data import build_graph
from offramp.graph.halo_plan import plan_halo_features
from offramp.train.halo import Halo

pytestmark = pytest.mark.full


@settings(derandomize=True, deadline=None, max_examples=100)
@given(n=st.integers(1, 18), workers=st.integers(1, 5), density=st.floats(0, 3), seed=st.integers(0, 999))
def test_every_worker_receives_once_what_it_needs_and_adds_the_right_rows(n, workers, density, seed) -> None:
    rng = np.random.default_rng(seed)
    graph = build_graph("random", n, tuple(rng.integers(0, n, (2, int(n * density)))))
    owner = rng.integers(0, workers, n).astype(np.int32)
    boundary = Boundary(graph, owner, workers)
    halos = [Halo.of(plan, workers) for plan in plan_halo_features(graph, owner, workers)]
    x = rng.integers(-50, 50, (n, 2))
    dense = np.zeros((n, n), np.int64)
    dense[np.repeat(np.arange(n), graph.degrees), graph.indices] = 1
    dense *= owner[:, None] != owner[None, :]
    mine = [boundary.vertices[owner[boundary.vertices] == worker] for worker in range(workers)]
    sends = [np.split(x[mine[w]][h.send_rows], np.cumsum(h.send_counts)[:-1]) for w, h in enumerate(halos)]
    for worker, halo in enumerate(halos):
        received = [sends[source][worker] for source in range(workers)]
        assert [len(part) for part in received] == halo.receive_counts.tolist()
        sums = halo.remote.astype(np.int64) @ np.concatenate(received)
        np.testing.assert_array_equal(sums, (dense @ x)[mine[worker]])
        assert halo.send_counts[worker] == 0
    assert sum(int(halo.send_counts.sum()) for halo in halos) == boundary.R
