# SPDX-License-Identifier: Apache-2.0
"""The start of the card behind a CMAC, and what a link that goes and comes does to it."""

from pathlib import Path

import pytest

from offramp_sim.rtl.bench import run_bench
from offramp_sim.rtl.build import Design

pytestmark = pytest.mark.rtl


def test_the_link_comes_up_and_goes(tmp_path, simulator):
    run_bench(Design("cmac_link"), simulator, Path(__file__).with_name("bench_cmac_link.py"), tmp_path)
