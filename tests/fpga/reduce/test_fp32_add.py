"""The adder of ``reduce``: IEEE 754 to the bit."""

from pathlib import Path

import pytest

from offramp_sim.rtl.bench import run_bench
from offramp_sim.rtl.build import Design

pytestmark = pytest.mark.rtl
BENCH = Path(__file__).with_name("bench_fp32_add.py")


def test_sums_equal_numpys(simulator, tmp_path):
    run_bench(Design("fp32_add"), simulator, BENCH, tmp_path, settings={"count": 8000})


@pytest.mark.slow
def test_a_million_sums_equal_numpys(fast, tmp_path):
    run_bench(Design("fp32_add"), fast, BENCH, tmp_path, settings={"count": 1_000_000})
