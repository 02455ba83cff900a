# SPDX-License-Identifier: Apache-2.0
"""Ranks that open their part of a store train as those that cut the graph in memory. Blind to several machines."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import gnn_plain  # noqa: E402
from offramp import gnn  # noqa: E402
from offramp.graph.cut import cut  # noqa: E402
from offramp.graph.source import in_memory  # noqa: E402
from offramp.graph.store import write_store  # noqa: E402
from offramp.workers.processes import run_workers  # noqa: E402
from offramp_base.errors import OfframpError  # noqa: E402


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    data, folder = gnn_plain.graph(), tmp_path_factory.mktemp("store") / "s"
    fields = {"x": data.x.numpy(), "y": data.y.numpy()}
    u, v = data.edge_index.numpy()
    graph = in_memory("g", data.num_nodes, u, v, fields, {"edge_weight": data.edge_weight.numpy()})
    write_store(graph, cut(graph, 2, "stream", 2, 0), 2, folder, "stream")
    return folder


def work(group, folder, report):
    part = gnn.open_store(folder)
    expected = gnn_plain.train(gnn_plain.make(), gnn_plain.graph())
    return gnn_plain.worst(gnn_plain.train(gnn.distribute(gnn_plain.make(), part), part), expected)


def refused(group, folder, report):
    try:
        gnn.open_store(folder)
    except OfframpError as error:
        line = str(error)
    return group.gather(line, str)


def test_losses_and_gradients_are_those_of_one_process(store):
    assert run_workers(work, [str(store)] * 2, print) < 1e-12


def test_all_ranks_say_what_one_found(store):
    x = store / "part-1" / "vertex.x.npy"
    kept = x.read_bytes()
    x.write_bytes(kept[:-8] + bytes(8))
    try:
        first, second = run_workers(refused, [str(store)] * 2, print)
    finally:
        x.write_bytes(kept)
    assert first == second
    assert first.startswith("rank 1: ")
    assert first.endswith("part-1/vertex.x.npy: damaged: its checksum is not the manifest's")


def test_another_number_of_ranks(store):
    with pytest.raises(OfframpError, match=r"rank 0: .*: has 2 parts, expected one for each of 1 ranks"):
        gnn.open_store(store)
