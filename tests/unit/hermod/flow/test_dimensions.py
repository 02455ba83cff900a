# SPDX-License-Identifier: Apache-2.0
"""Traces and text workloads on networks with dimensions, against closed forms and Themis's own iterations.

Blind to what Themis and the flow level both leave out: chunks that wait for each other, congestion inside a dimension.
"""

from __future__ import annotations

import numpy as np
import pytest

from offramp.hermod.chakra import ChakraNode, ChakraTrace, write_trace
from offramp.hermod.chakra import schema as chakra
from offramp.hermod.dag import Coflow, Flows
from offramp.hermod.factors import CType
from offramp.themis.network import Collective, Dimension, DimensionTopology, Network
from offramp_base.errors import OfframpError
from offramp_sim.hermod.flow.dimensions import Dimensions
from offramp_sim.hermod.flow.simulate import simulate
from offramp_sim.hermod.flow.study import SimulationSetup, prepare_traces_on, prepare_workload
from offramp_sim.themis.iteration import train
from offramp_sim.themis.workload_file import load_workload

RING = Network("ring", (Dimension(DimensionTopology.RING, 8, 100e9, 500),))
GRID = Network(
    "grid", (Dimension(DimensionTopology.RING, 4, 800e9, 500), Dimension(DimensionTopology.SWITCH, 8, 200e9, 2000))
)
TRANSFORMER = """HYBRID_TRANSFORMER model_parallel_NPU_group: 4
2
a -1 1000000 ALLREDUCE 104857600 500000 ALLREDUCE 104857600 500000 ALLREDUCE 1073741824 10
b -1 1000000 ALLGATHER 26214400 500000 ALLTOALL 104857600 500000 ALLREDUCE 1073741824 10
"""
DLRM = """HYBRID_DLRM 1
3
emb -1 100000 ALLTOALL 8388608 50000 ALLTOALL 8388608 20000 NONE 0 10
bottom -1 200000 NONE 0 100000 NONE 0 100000 ALLREDUCE 33554432 10
top -1 300000 NONE 0 100000 NONE 0 100000 ALLREDUCE 33554432 10
"""


def traces(folder, ranks, size, kind=chakra.ALL_REDUCE):
    for rank in range(ranks):
        nodes = [
            ChakraNode(1, "compute", chakra.COMPUTE, [], 1000),
            ChakraNode(2, "sum", chakra.COLLECTIVE, [1], 0, {"comm_type": kind, "comm_size": size}),
        ]
        write_trace(ChakraTrace(nodes), folder / f"theirs.{rank}.et")
    return folder


def iteration_s(loaded, policy="fifo"):
    return simulate(loaded, policy, slack_s=0.0).iteration_s


@pytest.mark.full
def test_a_gibibyte_over_a_ring_ends_at_compute_ring_and_latencies(tmp_path):
    loaded = prepare_traces_on(traces(tmp_path, 8, 1 << 30), RING, SimulationSetup())
    assert iteration_s(loaded) == pytest.approx(1e-3 + 2 * 7 / 8 * (1 << 30) * 8 / 100e9 + 14 * 500e-9, rel=1e-9)


@pytest.mark.parametrize(("bidirectional", "rate"), [(True, 100e9), (False, 50e9)])
def test_a_ring_both_ways_round_or_one(tmp_path, bidirectional, rate):
    ring = RING.with_rings(bidirectional=bidirectional)
    loaded = prepare_traces_on(traces(tmp_path, 8, 1 << 30), ring, SimulationSetup())
    assert iteration_s(loaded) == pytest.approx(1e-3 + 2 * 7 / 8 * (1 << 30) * 8 / rate + 14 * 500e-9, rel=1e-9)
    flows, _ = Dimensions.over(ring).collective(Collective.ALL_REDUCE, 800, range(8))
    assert sorted(set((flows.sink - flows.source) % 8)) == ([1, 7] if bidirectional else [1])
    assert flows.size.sum() == 8 * 2 * 700


def test_a_collective_over_two_dimensions_takes_the_slower_one(tmp_path):
    loaded = prepare_traces_on(traces(tmp_path, 32, 1 << 30), GRID, SimulationSetup())
    first = 2 * 3 / 4 * (1 << 30) * 8 / 800e9
    second = 2 * 7 / 8 * (1 << 28) * 8 / 200e9
    latencies = 2 * (3 * 500e-9 + 3 * 2000e-9)
    assert iteration_s(loaded) == pytest.approx(1e-3 + max(first, second) + latencies, rel=1e-9)


@pytest.mark.full
@pytest.mark.parametrize("text", [TRANSFORMER, DLRM], ids=["transformer", "dlrm"])
def test_a_text_workload_takes_what_themis_says(tmp_path, text):
    """Chunks that cannot be infinitely small cost Themis's baseline some percent."""
    path = tmp_path / "work.txt"
    path.write_text(text)
    ours = iteration_s(prepare_workload(str(path), GRID, SimulationSetup()))
    theirs = train(load_workload(str(path), GRID), GRID, "baseline", 1, 256).total / 1e12
    assert ours == pytest.approx(theirs, rel=0.03)


@pytest.mark.parametrize("policy", ["fair", "hermod", "lina", "host-fifo"])
def test_policies_order_what_shares_cards(tmp_path, policy):
    path = tmp_path / "work.txt"
    path.write_text(TRANSFORMER)
    loaded = prepare_workload(str(path), GRID, SimulationSetup())
    assert iteration_s(loaded, policy) == pytest.approx(iteration_s(loaded), rel=0.05)


def test_flows_travel_dimension_by_dimension():
    fabric = Dimensions.over(GRID)
    flows = Flows(np.array([0, 5]), np.array([30, 5]), np.array([10.0, 7.0]))
    flow, resource, amount = fabric.route(flows, CType.PP)
    # 0 = (0, 0) to 30 = (2, 7): along the first dimension to 2, then along the second
    assert dict(zip(resource.tolist(), amount.tolist(), strict=True)) == {
        0: 10,
        64 + 2: 10,
        32 + 2: 10,
        64 + 32 + 30: 10,
    }
    assert set(flow.tolist()) == {0}
    assert fabric.latency_s(0, 30) == pytest.approx(2500e-9)


def test_groups_that_are_no_grid_keep_their_ring(tmp_path):
    fabric = Dimensions.over(GRID)
    assert fabric.collective(Collective.ALL_REDUCE, 100, [0, 1, 2, 4]) is None
    flows, latency_s = fabric.collective(Collective.ALL_REDUCE, 400, [0, 2, 8, 10])
    assert sorted(zip(flows.source.tolist(), flows.sink.tolist(), strict=True)) == [
        (0, 2), (0, 8), (2, 0), (2, 10), (8, 0), (8, 10), (10, 2), (10, 8),
    ]  # fmt: skip
    assert sorted(set(flows.size.tolist())) == [200, 400]
    assert latency_s == pytest.approx(2 * 500e-9 + 2 * 2000e-9)


def test_every_collective_is_known_on_dimensions(tmp_path):
    for k, kind in enumerate((chakra.ALL_GATHER, chakra.REDUCE_SCATTER, chakra.ALL_TO_ALL, chakra.BROADCAST)):
        (tmp_path / str(k)).mkdir()
        loaded = prepare_traces_on(traces(tmp_path / str(k), 8, 8_000_000, kind), RING, SimulationSetup())
        coflow = next(c for _, c in loaded.dag.coflows())
        assert isinstance(coflow, Coflow)
        moved = {chakra.ALL_GATHER: 56e6, chakra.REDUCE_SCATTER: 7e6, chakra.ALL_TO_ALL: 16e6, chakra.BROADCAST: 8e6}[
            kind
        ]
        assert coflow.flows.size.max() == moved  # of a ring's all-to-all blocks pass the NPUs between


def test_ranks_and_npus_must_agree(tmp_path):
    with pytest.raises(OfframpError, match="4 ranks, ring has 8 NPUs"):
        prepare_traces_on(traces(tmp_path, 4, 8), RING, SimulationSetup())
