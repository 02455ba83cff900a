# SPDX-License-Identifier: Apache-2.0
"""HLS kernels beside the RTL of the same name, at their AXI ports (``bench_beside_rtl``).

Blind to: what Vitis makes of a kernel, which has not been seen; time.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from hls import kernels
from offramp_sim.rtl.bench import run_bench
from offramp_sim.rtl.build import Design, missing

pytestmark = [pytest.mark.rtl, pytest.mark.hls, pytest.mark.timeout(600)]
BENCH = Path(__file__).with_name("bench_beside_rtl.py")
DESIGNS = {
    "kvs_lookup": {"WIDTH": 512, "FLIGHT": 16},
    "ebs_lookup": {"WIDTH": 512, "FLIGHT": 16},
    "reduce_streams": {"WIDTH": 512},
    "p2p_dma": {"WIDTH": 512},
    "path_router": {},
    "quantpack": {"WIDTH": 256, "DEPTH": 16},
}
QUICK = {"kvs_lookup", "ebs_lookup"}


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=() if each in QUICK else pytest.mark.slow) for each in DESIGNS]
)
def test_a_kernel_gives_what_its_rtl_gives(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    simulator = "icarus" if name in QUICK else "verilator"
    if lacking := missing(simulator):
        pytest.skip(f"{simulator} needs {lacking}")
    kernels()  # built here, not within the simulator's time
    for folder in ("kvs_lookup", "ebs_lookup", "reduce", "p2p_dma", "path_router", "quantpack"):
        monkeypatch.syspath_prepend(str(BENCH.parents[1] / folder))  # whose benches drive the RTL
    assert run_bench(Design(name, DESIGNS[name]), simulator, BENCH, tmp_path, case=name)["compared"] > 0
