# SPDX-License-Identifier: Apache-2.0
"""Cost of a pass of 32, 64 and 128 lanes on the native engine, at 128 features, beside a loop in C that only adds.

docs/results has the table; nothing passes or fails by it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from offramp.switchgnn.chunks import WIDTHS
from offramp_p4.bench.rates import measure
from offramp_sim.switchgnn.workloads import switchgnn

pytestmark = pytest.mark.bench


def test_passes_by_lanes() -> None:
    for lanes in WIDTHS:
        rate = measure(switchgnn(rounds=6, features=128, lanes=lanes), "native", 1.0)
        vector = 128 // lanes * rate.ns_per_pass
        sys.stdout.write(f"\n{lanes} lanes: {rate.ns_per_pass:.0f} ns a pass, {vector:.0f} ns for 128 features")


def test_the_limit_of_a_pass(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("not on PATH: cc")
    source = Path(__file__).parent / "limit" / "lanes.c"
    subprocess.run([compiler, "-O3", "-march=native", "-o", tmp_path / "limit", source], check=True)
    out = subprocess.run([tmp_path / "limit"], check=True, capture_output=True, text=True).stdout
    for line in out.splitlines():
        lanes, ns = line.split()
        sys.stdout.write(f"\n{lanes} lanes: {ns} ns in C")
