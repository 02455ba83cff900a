# SPDX-License-Identifier: Apache-2.0
"""The simulator of G3's pipelines: the specification's golden times, and what must hold on any graph."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.graph.boundary import Boundary
from offramp.graph.data import build_graph
from offramp.graph.generate import generate
from offramp.graph.partition import partition
from offramp_base.errors import OfframpError
from offramp_sim.g3.pipeline import MODES, Costs, simulate

SECONDS = Costs(load_bps=4, unload_bps=4, send_bps=2, latency_s=0, start_s=0, target_s=1, edge_s=0)
"""A second for each row that is loaded, computed or unloaded, two for each that is sent."""


def path(n: int):
    return build_graph("path", n, (np.arange(n - 1), np.arange(1, n)))


@pytest.mark.parametrize(("mode", "seconds"), [("sequential", 20), ("inter", 18), ("intra", 14), ("g3", 14)])
def test_golden_makespans(mode: str, seconds: int) -> None:
    """g3.md section 11: path of four vertices on two workers, bins of one."""
    outcome = simulate(path(4), [0, 0, 1, 1], [1, 1, 1], mode, SECONDS, targets=1)
    assert outcome.seconds == seconds
    assert outcome.bytes_sent == 2 * 4
    assert outcome.bound_s <= seconds


@settings(derandomize=True, max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**31), workers=st.integers(1, 5), targets=st.integers(1, 30), depth=st.integers(1, 4))
def test_order_of_modes_bounds_and_bytes(seed: int, workers: int, targets: int, depth: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(workers, 60))
    graph = build_graph("random", n, tuple(rng.integers(0, n, (2, 3 * n))))
    owner = np.concatenate([np.arange(workers), rng.integers(0, workers, n - workers)])
    widths = rng.integers(1, 50, depth + 1).tolist()
    costs = Costs(send_bps=10.0 ** rng.uniform(5, 9), start_s=10.0 ** rng.uniform(-7, -4))
    done = {mode: simulate(graph, owner, widths, mode, costs, targets=targets) for mode in MODES}
    copies = Boundary(graph, owner, workers).R
    for outcome in done.values():
        assert outcome.bytes_sent == 4 * copies * sum(widths[1:-1])
        assert outcome.seconds >= outcome.bound_s * (1 - 1e-12)
    slowest = done["sequential"].seconds
    assert done["inter"].seconds <= slowest * (1 + 1e-12)
    if targets >= n:  # one bin each: nothing overlaps but what is sent
        assert done["intra"].seconds <= slowest * (1 + 1e-12)


@pytest.mark.full
def test_pipelines_pay_and_come_near_to_the_bound() -> None:
    graph = generate("ba:n=2000,m=5", "1/0/0", 1)
    owner = partition(graph, 8, "g3", 1)
    costs = Costs(send_bps=1e7, start_s=1e-4)
    times = {mode: simulate(graph, owner, [64, 32, 16, 16], mode, costs, targets=16) for mode in MODES}
    g3, sequential = times["g3"], times["sequential"]
    assert g3.seconds <= 1.01 * min(times["inter"].seconds, times["intra"].seconds)
    assert times["inter"].seconds < sequential.seconds
    assert times["intra"].seconds < sequential.seconds
    overlapped = (sequential.seconds - g3.seconds) / (sequential.seconds - sequential.bound_s)
    assert overlapped > 0.6


def test_one_worker_alone_sends_nothing() -> None:
    outcome = simulate(path(6), np.zeros(6, int), [3, 2, 2], "g3", targets=2)
    assert outcome.bytes_sent == 0
    assert outcome.seconds > 0


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"mode": "g4"}, "mode g4: expected one of sequential, inter, intra, g3"),
        ({"widths": [3]}, r"widths \[3\]: expected at least two positive ones"),
        ({"widths": [3, 0]}, r"widths \[3, 0\]: expected at least two positive ones"),
    ],
)
def test_bad_input_is_one_line(how: dict, message: str) -> None:
    with pytest.raises(OfframpError, match=message):
        simulate(path(4), [0, 0, 1, 1], **{"widths": [1, 1], "mode": "g3", **how})
    with pytest.raises(OfframpError, match="send_bps 0: expected a positive number"):
        Costs(send_bps=0)
