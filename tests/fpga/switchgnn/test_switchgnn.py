# SPDX-License-Identifier: Apache-2.0
"""SwitchGNN on an FPGA: the P4 program's packets, byte for byte and in order, over jobs with every fault of a network.

Blind spots: the MAC and the card around the engine, which ``tests/fpga/udp`` has; timing on a chip.
"""

from pathlib import Path

import pytest

from offramp_sim.rtl.bench import run_bench
from offramp_sim.rtl.build import Design

pytestmark = pytest.mark.rtl
BENCH = Path(__file__).with_name("bench_switchgnn.py")
DESIGN = Design("switchgnn", {"AGGREGATORS": 32, "VERTICES": 128, "EDGES": 256})


def run(case, seeds, tmp_path, simulator, jobs="exchanges", pause=0.3, few=False):
    chosen = {"seeds": list(seeds), "jobs": jobs, "pause": pause, "few": few}
    return run_bench(DESIGN, simulator, BENCH, tmp_path, case=case, settings=chosen)


def test_packets_are_the_programs_and_other_frames_leave_no_trace(tmp_path, simulator):
    """All cases of the bench in one run of the simulator."""
    report = run(None, [1], tmp_path, simulator, few=True)
    assert report["sums"] > 10
    assert report["malformed"] + report["stranger"] > 10


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["exchanges", "soak"])
@pytest.mark.parametrize("case", ["whole_jobs", "spoilt_packets"])
def test_sixty_jobs_are_the_programs(case, jobs, tmp_path, fast):
    run(case, range(100, 160), tmp_path, fast, jobs, few=jobs == "exchanges")
