# SPDX-License-Identifier: Apache-2.0
"""What models do to rows beside message passing is exact on ranks, with its gradients, or refused with the reason.

Blind to GPUs and to orders of sums that differ by less than 1e-9.
"""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import gnn_mixed  # noqa: E402
from offramp.workers.processes import run_workers  # noqa: E402


@pytest.mark.full
@pytest.mark.parametrize("ranks", [2, 3])
def test_every_function_of_rows_is_exact_or_refused(ranks):
    results = run_workers(gnn_mixed.compare, [[]] * ranks, print)
    assert {name: results[name] for name in gnn_mixed.EXACT if results[name] != "exact"} == {}
    for name, (_, message) in gnn_mixed.REFUSED.items():
        assert results[name].startswith("refused: ")
        assert message in results[name]


def test_some_functions_of_rows():
    names = ["by mask", "sorted", "random rows", "assign slice", "attention", "kept edges", "written view", "vmap"]
    results = run_workers(gnn_mixed.compare, [names] * 2, print)
    assert [results[name] for name in names[:6]] == ["exact"] * 6
    assert [results[name].partition(":")[0] for name in names[6:]] == ["refused"] * 2


def test_an_edge_index_that_is_whole_on_one_rank_is_of_some_edges_on_all():
    heard = []
    run_workers(gnn_mixed.some_edges, [None] * 2, heard.append)
    assert max(heard) < 1e-12
