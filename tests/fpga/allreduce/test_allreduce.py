# SPDX-License-Identifier: Apache-2.0
"""All-reduce on an FPGA: the P4 program's packets, byte for byte and in order, at a gigabit per second; ranks' sums.

Blind spots: the MAC and the card around the engine, which ``tests/fpga/udp`` has; timing on a chip.
"""

from pathlib import Path

import pytest

from offramp_sim.rtl.bench import run_bench
from offramp_sim.rtl.build import Design

pytestmark = pytest.mark.rtl
BENCH = Path(__file__).with_name("bench_allreduce.py")
DESIGN = Design("allreduce", {"PAGES": 4})


@pytest.mark.parametrize(("seed", "pause"), [(1, 0.0), (2, 0.6)])
def test_every_packet_is_the_programs(seed, pause, tmp_path, fast):
    chosen = {"seed": seed, "pause": pause, "frames": 1500}
    report = run_bench(DESIGN, fast, BENCH, tmp_path, case="the_programs_packets", settings=chosen)
    assert report["left"] > 100


@pytest.mark.slow
def test_ten_thousand_packets_are_the_programs(tmp_path, fast):
    chosen = {"seed": 3, "pause": 0.3, "frames": 10_000}
    run_bench(DESIGN, fast, BENCH, tmp_path, case="the_programs_packets", settings=chosen)


def test_other_frames_leave_no_trace_and_pages_are_emptied(tmp_path, simulator):
    run_bench(DESIGN, simulator, BENCH, tmp_path, case="what_is_not_for_the_switch")


@pytest.mark.parametrize(("ranks", "trouble"), [(2, 0.0), (3, 0.05)])
def test_ranks_sum_exactly(ranks, trouble, tmp_path, fast):
    chosen = {"seed": 4, "ranks": ranks, "trouble": trouble}
    run_bench(DESIGN, fast, BENCH, tmp_path, case="ranks_sum", settings=chosen)
