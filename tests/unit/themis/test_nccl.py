# SPDX-License-Identifier: Apache-2.0
"""Calls of NCCL by hand, from the constants of its tuner. Blind to whether the tuner is right about GPUs."""

from __future__ import annotations

import dataclasses
import itertools
import json
from importlib.resources import files

import pytest
import yaml
from typer.testing import CliRunner

from offramp.themis.bound import best_bound
from offramp.themis.demand import Demand
from offramp.themis.nccl import GpuGeneration, GpuInterconnect, Nccl, NcclAlgorithm, NcclProtocol
from offramp.themis.nccl_constants import NcclConstants
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
    chosen = [NETWORK.best(Collective.ALL_REDUCE, 1 << k, 64)[1:3] for k in range(6, 34)]
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
    with pytest.raises(OfframpError, match="in-network dimension of NVLink: expected one between machines"):
        Network("n", (Dimension(DimensionTopology.IN_NETWORK, 4, 1e9), whole)).by_nccl()
    with pytest.raises(OfframpError, match="0 channels: expected at least 1"):
        Network("n", (whole,)).by_nccl(channels=0)


HOPPER = Nccl(GpuInterconnect.NVLINK, 450 * 8e9, gpu=GpuGeneration.HOPPER, switched=True)
SUMMING = Nccl(GpuInterconnect.NETWORK, 50 * 8e9, 1000, GpuGeneration.HOPPER, switched=True, collnet=True)


@pytest.mark.parametrize(
    ("model", "size", "peers", "algorithm", "microseconds"),
    [
        (HOPPER, 1024 * MIB, 8, "nvls", 23 + 1024 * MIB / (450e3 * 5 / 6)),
        (HOPPER, 1024, 8, "ring", 6.6 + 14 * 0.6 + 1024 / (87.7e3 * 8 / 14)),  # LL at most 87.7 GB/s
        # 16 channels: the direct algorithm counts them as half as many GPUs to a card; 0.85 on Hopper
        (SUMMING, 1024 * MIB, 64, "collnet-direct", 31 + 2 + 1024 * MIB / (50e3 / (17 / 32) * 0.85 / 2)),
        (dataclasses.replace(SUMMING, switched=False), 64 * MIB, 64, "collnet-chain", 30 + 2 + 64 * MIB / 25e3),
    ],
)
def test_nvls_collnet_and_limits_by_hand(model, size, peers, algorithm, microseconds) -> None:
    best = model.best(Collective.ALL_REDUCE, size, peers)
    assert best.algorithm == algorithm
    assert best.microseconds == pytest.approx(microseconds, rel=1e-12)
    assert model.wire_ps(Collective.ALL_REDUCE, size, peers) <= best.microseconds * 1e6


def test_a_channel_has_a_limit() -> None:
    """One channel of a tree among many machines carries 29 GB/s with LL128."""
    narrow = dataclasses.replace(SUMMING, channels=1)
    calls = narrow.calls(Collective.ALL_REDUCE, 1024 * MIB, 64)
    tree = next(c for c in calls if c[1:3] == (NcclAlgorithm.TREE, NcclProtocol.LL128))
    assert tree.microseconds == pytest.approx(14 + 2 * 6 * (8.5 + 1) + 1024 * MIB / (29e3 / 2), rel=1e-12)


def test_who_has_nvls_and_collnet() -> None:
    def of(*dimensions: Dimension, gpu: GpuGeneration | None = GpuGeneration.HOPPER) -> list[set[str]]:
        network = Network("n", dimensions).by_nccl(gpu)
        return [
            {call.algorithm.value for call in d.messages.calls(Collective.ALL_REDUCE, MIB, d.size)}
            for d in network.dimensions
        ]

    switch, ring = Dimension(DimensionTopology.SWITCH, 8, 1e12), Dimension(DimensionTopology.RING, 8, 1e12)
    summing = Dimension(DimensionTopology.IN_NETWORK, 6, 1e11)
    usual = {"ring", "tree"}
    assert of(switch, summing) == [usual | {"nvls"}, usual | {"collnet-chain", "collnet-direct"}]
    assert of(ring, summing) == [usual, usual | {"collnet-chain"}]
    assert of(switch, switch, gpu=GpuGeneration.AMPERE) == [usual, usual]
    assert of(switch, gpu=None) == [usual]


@pytest.mark.parametrize(("size", "channels"), [(1, 1), (512 * 64 * 2 - 1, 1), (512 * 64 * 2, 2), (MIB, 16)])
def test_little_data_takes_few_channels(size: int, channels: int) -> None:
    (call,) = [c for c in NVLINK.choices(Collective.ALL_GATHER, size, 8) if c.protocol is NcclProtocol.SIMPLE]
    assert call.channels == channels


def test_collnet_in_a_plan() -> None:
    dimensions = (
        Dimension(DimensionTopology.SWITCH, 8, 3.6e12, 300),
        Dimension(DimensionTopology.IN_NETWORK, 12, 4e11, 2000),
    )
    demand = [Demand(Collective.ALL_REDUCE, 256 * MIB)]
    summing = Network("pod", dimensions)
    plain = Network("pod", (dimensions[0], dataclasses.replace(dimensions[1], kind=DimensionTopology.SWITCH)))
    times = [make_plan(n.by_nccl(GpuGeneration.HOPPER), demand, "themis+scf", 4).finish_ps for n in (summing, plain)]
    assert times[0] < times[1]
    assert times[0] >= best_bound(summing.by_nccl(GpuGeneration.HOPPER), demand).finish_ps * (1 - 1e-6)


def test_other_constants(tmp_path) -> None:
    path = tmp_path / "nccl.yaml"
    path.write_text("hwLat: {network: {ring: [1.0, 4.0, 14.0]}}\nringPlateau: {value: 1.9}\n")
    constants = NcclConstants.read(path)
    assert constants["hwLat"]["network"] == {**NcclConstants.read()["hwLat"]["network"], "ring": [1.0, 4.0, 14.0]}
    assert constants["ringPlateau"] == 1.9
    faster = dataclasses.replace(NETWORK, constants=constants)
    first, second = (
        next(c for c in n.calls(Collective.ALL_REDUCE, 8, 4) if c.protocol is NcclProtocol.LL)
        for n in (faster, NETWORK)
    )
    assert second.microseconds - first.microseconds == pytest.approx(8 * 1.7)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "expected a table of constants"),
        ("speed: 1", "speed: expected one of baseLat, hwLat"),
        ("hwLat: 3", "hwLat: expected a table with NVLink, network"),
        ("hwLat: {PCI: {}}", "hwLat: PCI: expected one of NVLink, network"),
        ("perChMaxTreeBws: {volta: [1, 2]}", "perChMaxTreeBws: volta: expected 3 numbers"),
        ("ringPlateau: -1", "ringPlateau: -1: expected a number of at least 0"),
        ("ringPlateau: .inf", "ringPlateau: inf: expected a number of at least 0"),
        ("a: [", "line 1"),
    ],
)
def test_bad_constants(tmp_path, text: str, message: str) -> None:
    path = tmp_path / "nccl.yaml"
    path.write_text(text)
    with pytest.raises(OfframpError, match=message) as caught:
        NcclConstants.read(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_every_constant_has_a_source() -> None:
    table = yaml.safe_load(files("offramp.themis").joinpath("nccl_constants.yaml").read_text())
    assert all(row["source"].startswith("src/") and row["unit"] for row in table.values())


def test_by_command(tmp_path) -> None:
    path = tmp_path / "t.json"
    words = ["simulate", "themis", "--size", "16MiB", "--chunks", "2", "--scheduler", "baseline", "--delays"]
    done = CliRunner().invoke(app, [*words, "nccl", "--json", str(path)])
    assert done.exit_code == 0, done.output
    assert json.loads(path.read_text())["settings"]["delays"] == "nccl"
    done = CliRunner().invoke(app, [*words, "nccl", "--execute"])
    assert "serial delays and NCCL's are only simulated" in str(done.exception)
