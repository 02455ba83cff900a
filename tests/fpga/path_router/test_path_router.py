# SPDX-License-Identifier: Apache-2.0
"""The router against the model of its ways; a simulation says nothing of the clock that it meets."""

from pathlib import Path

import pytest

from offramp_sim.rtl.bench import run_bench
from offramp_sim.rtl.build import Design
from rtl.router import Destination, Model, Port

pytestmark = pytest.mark.rtl
BENCH = Path(__file__).with_name("bench_path_router.py")
NARROW = Design("path_router", {"WIDTH": 64, "DEPTH": 32, "PACKET": 8})
WIDE = Design("path_router")


@pytest.mark.parametrize(("idle", "pause"), [(0.0, 0.0), (0.4, 0.3), (0.0, 0.7)])
def test_random_packets(idle, pause, tmp_path, simulator):
    settings = {"seed": 3, "idle": idle, "pause": pause, "rounds": 6, "packets": 60}
    run_bench(NARROW, simulator, BENCH, tmp_path, case="random_packets", settings=settings)


@pytest.mark.slow
def test_ten_thousand_packets_of_full_width(tmp_path, fast):
    settings = {"seed": 4, "idle": 0.2, "pause": 0.2, "rounds": 25, "packets": 400}
    run_bench(WIDE, fast, BENCH, tmp_path, case="random_packets", settings=settings)


@pytest.mark.parametrize("models", [0b111, 0b100])
def test_a_beat_in_each_cycle(models, tmp_path, either):
    design = Design("path_router", {**NARROW.parameters, "DEPTH": 256, "MODELS": models})
    assert run_bench(design, either, BENCH, tmp_path, case="a_beat_in_each_cycle")["done"]


@pytest.mark.parametrize(
    ("model", "port", "destinations"),
    [
        (Model.ON_PATH, Port.ENDPOINT0, (Destination.ACCELERATOR, Destination.NIC)),
        (Model.ON_PATH, Port.ACCELERATOR, (Destination.CPU, Destination.NIC)),
        (Model.OFF_PATH, Port.ENDPOINT1, (Destination.NIC, Destination.ACCELERATOR)),
        (Model.OFF_PATH, Port.NIC, (Destination.CPU, Destination.ACCELERATOR)),
    ],
)
def test_no_head_of_line_blocking(model, port, destinations, tmp_path, simulator):
    settings = {"model": model, "port": port, "destinations": destinations}
    run_bench(NARROW, simulator, BENCH, tmp_path, case="no_head_of_line_blocking", settings=settings)


def test_reset_within_a_packet(tmp_path, either):
    run_bench(NARROW, either, BENCH, tmp_path, case="reset_within_a_packet")
