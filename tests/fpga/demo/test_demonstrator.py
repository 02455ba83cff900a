# SPDX-License-Identifier: Apache-2.0
"""The demonstrator of the ULX3S: table, look-ups and sums over its serial line."""

from pathlib import Path

import pytest

from offramp_sim.rtl.bench import run_bench
from offramp_sim.rtl.build import Design

pytestmark = [pytest.mark.rtl, pytest.mark.slow]
BENCH = Path(__file__).with_name("bench_demonstrator.py")


def test_lookups_and_sums_over_the_serial_line(fast, tmp_path):
    run_bench(Design("demonstrator", {"DIVISOR": 8}), fast, BENCH, tmp_path, settings={"divisor": 8})
