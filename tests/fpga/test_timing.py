# SPDX-License-Identifier: Apache-2.0
"""Cycles as :mod:`offramp.fpga.timing` tells them, against the RTL: each beat, in and out, to the cycle."""

from pathlib import Path

import pytest

from offramp_sim.rtl.bench import run_bench
from offramp_sim.rtl.build import Design

pytestmark = pytest.mark.rtl


def long(*values):
    return pytest.param(*values, marks=pytest.mark.slow)


def run(engine, bench, simulator, work, parameters, **settings):
    path = Path(__file__).parent / engine / f"{bench}.py"
    run_bench(Design(engine, parameters), simulator, path, work, settings={"seed": 6} | settings)


@pytest.mark.parametrize(("idle", "latency", "flight"), [long(0.0, 1, 8), (0.3, 40, 8), long(0.0, 7, 64)])
def test_kvs_lookup(simulator, idle, latency, flight, tmp_path):
    parameters = {"WIDTH": 128, "FLIGHT": flight}
    chosen = {"packets": 40, "idle": idle, "latency": latency, "flight": flight}
    run("kvs_lookup", "bench_kvs_timing", simulator, tmp_path, parameters, **chosen)


@pytest.mark.parametrize(("idle", "latency", "flight"), [long(0.0, 1, 8), (0.3, 20, 8), long(0.0, 7, 64)])
def test_ebs_lookup(simulator, idle, latency, flight, tmp_path):
    parameters = {"WIDTH": 128, "FLIGHT": flight}
    chosen = {"packets": 40, "idle": idle, "latency": latency, "flight": flight}
    run("ebs_lookup", "bench_ebs_timing", simulator, tmp_path, parameters, **chosen)


@pytest.mark.parametrize("idle", [long(0.0), 0.3])
def test_reduce(fast, idle, tmp_path):
    run("reduce", "bench_reduce_timing", fast, tmp_path, {"WIDTH": 128, "DEPTH": 16}, packets=60, idle=idle, inputs=8)


def test_reduce_of_two(simulator, tmp_path):
    parameters = {"WIDTH": 128, "DEPTH": 16, "INPUTS": 2, "FLOAT32S": 1, "BFLOAT16S": 1}
    run("reduce", "bench_reduce_timing", simulator, tmp_path, parameters, packets=20, idle=0.2, inputs=2)
