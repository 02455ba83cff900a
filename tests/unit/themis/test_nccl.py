# SPDX-License-Identifier: Apache-2.0
"""Calls of NCCL by hand, from the constants of its tuner. Blind to whether the tuner is right about GPUs."""

from __future__ import annotations

import itertools
import json

import pytest
from typer.testing import CliRunner

from offramp.themis.bound import best_bound
from offramp.themis.demand import Demand
from offramp.themis.nccl import GpuInterconnect, Nccl, NcclAlgorithm, NcclProtocol
from offramp.themis.network import Collective, Dimension, DimensionTopology, Network
from offramp.themis.plan import Scheduler, make_plan
from offramp.themis.topologies import PAPER
from offramp_base.errors import OfframpError
from offramp_cli.app import app

NVLINK = Nccl(GpuInterconnect.NVLINK, 300 * 8e9)
NETWORK = Nccl(GpuInterconnect.NETWORK, 50 * 8e9, hop_ns=1000)
MIB = 1 << 20


@pytest.mark.parametrize(
    ("model", "stage", "size", "peers", "algorithm", "protocol", "microseconds"),
    [
        # 14 steps of 0.6 us; a quarter of 300 GB/s, 8/14 of it
        (NVLINK, "all-reduce", 1024, 8, "ring", "LL", 6.6 + 14 * 0.6 + 1024 / (75e3 * 8 / 14)),
        (NVLINK, "all-reduce", 1024 * MIB, 8, "ring", "Simple", 8.4 + 14 * 3.4 + 1024 * MIB / (300e3 * 8 / 14)),
        # a third of the bandwidth where nothing is added on the way back
        (NVLINK, "reduce-scatter", 1024, 8, "ring", "LL", 6.6 + 7 * 0.6 + 1024 / (100e3 * 8 / 7)),
        (NVLINK, "all-gather", 128, 8, "ring", "LL", 6.6 + 7 * 0.6 + 1024 / (100e3 * 8 / 7)),
        (NVLINK, "all-to-all", 8 * MIB, 8, "ring", "Simple", 8.4 + 3.4 + 7 * MIB / 300e3),
        # four levels up and down; 8 bytes are less than a tree's first size
        (NETWORK, "all-reduce", 8, 16, "tree", "LL", 6.8 + 8 * 6 + 8 / (50e3 * 0.92 / 3.8 / 2)),
        (
            *(NETWORK, "all-reduce", 4096 * MIB, 4, "ring", "Simple"),
            (8.4 + 8 * 16 - 2 * 3.4) * 1.4 + 4096 * MIB / (50e3 * 4 / 6),
        ),
    ],
)
def test_by_hand(model, stage, size, peers, algorithm, protocol, microseconds) -> None:
    best = model.best(Collective(stage), size, peers)
    assert (best.algorithm, best.protocol) == (algorithm, protocol)
    assert best.microseconds == pytest.approx(microseconds, rel=1e-12)


def test_trees_are_for_many_machines_and_few_bytes() -> None:
    chosen = [NETWORK.best(Collective.ALL_REDUCE, 1 << k, 64)[1:] for k in range(6, 34)]
    assert chosen[0] == (NcclAlgorithm.TREE, NcclProtocol.LL)
    assert chosen[-1] == (NcclAlgorithm.RING, NcclProtocol.SIMPLE)
    algorithms = [algorithm for algorithm, _ in chosen]
    assert sum(a != b for a, b in itertools.pairwise(algorithms)) == 1


@pytest.mark.parametrize("name", PAPER)
@pytest.mark.parametrize("collective", list(Collective))
def test_no_schedule_beats_the_bound(name, collective) -> None:
    network, demand = PAPER[name].by_nccl(), [Demand(collective, 64 * MIB)]
    least = best_bound(network, demand).finish_ps
    for scheduler in (Scheduler.BASELINE, Scheduler.THEMIS_SCF):
        assert make_plan(network, demand, scheduler, 8).finish_ps >= least * (1 - 1e-6)


def test_parts_and_speeds() -> None:
    (whole,) = Network("ring", (Dimension(DimensionTopology.RING, 8, 100e9, 500),)).by_nccl().dimensions
    near, far = whole.divided(4)
    assert [d.messages.bandwidth_bps for d in (near, far)] == [d.bandwidth_bps for d in (near, far)] == [50e9, 25e9]
    fast = whole.at_speed(2)
    assert fast.messages.bandwidth_bps == fast.bandwidth_bps
    assert fast.transfer_ps(Collective.ALL_REDUCE, 1e9) < whole.transfer_ps(Collective.ALL_REDUCE, 1e9)
    with pytest.raises(OfframpError, match="in-network dimension: expected one whose GPUs send each other messages"):
        Network("n", (Dimension(DimensionTopology.IN_NETWORK, 4, 1e9),)).by_nccl()


def test_by_command(tmp_path) -> None:
    path = tmp_path / "t.json"
    words = ["simulate", "themis", "--size", "16MiB", "--chunks", "2", "--scheduler", "baseline", "--delays"]
    done = CliRunner().invoke(app, [*words, "nccl", "--json", str(path)])
    assert done.exit_code == 0, done.output
    assert json.loads(path.read_text())["settings"]["delays"] == "nccl"
    done = CliRunner().invoke(app, [*words, "nccl", "--execute"])
    assert "serial delays and NCCL's are only simulated" in str(done.exception)
