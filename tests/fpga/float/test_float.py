# SPDX-License-Identifier: Apache-2.0
"""Floating point of the engines: IEEE 754 to the bit."""

from pathlib import Path

import pytest

from offramp_sim.rtl.bench import run_bench
from offramp_sim.rtl.build import Design

pytestmark = pytest.mark.rtl
BENCH = Path(__file__).with_name("bench_float.py")
UNITS = pytest.mark.parametrize("unit", ["fp32_add", "fp32_mul", "fp32_div"])


@UNITS
def test_results_equal_numpys(unit, simulator, tmp_path):
    run_bench(Design(unit), simulator, BENCH, tmp_path, settings={"unit": unit, "count": 1000})


def test_divisors_of_few_bits_need_fewer_registers_for_the_same_quotients(simulator, tmp_path):
    """As of the quantiser's highest codes: 8 bits."""
    wanted = {"unit": "fp32_div", "count": 1000, "divisor": 0xFFFF0000}
    run_bench(Design("fp32_div", {"DIVISOR_BITS": 8}), simulator, BENCH, tmp_path, settings=wanted)


@UNITS
@pytest.mark.slow
def test_a_million_results_equal_numpys(unit, fast, tmp_path):
    run_bench(Design(unit), fast, BENCH, tmp_path, settings={"unit": unit, "count": 1_000_000})
