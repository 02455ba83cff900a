"""Speed of the native engine: SwitchGNN, and an IPv4 router with 10,000 routes; the comparison with bmv2.

Workloads: :mod:`offramp_sim.p4.native.bench.workloads`. Compare numbers of one run only: other work on the
machine slows them all down.
"""

from __future__ import annotations

import pytest

from offramp.wire.batch import PacketBatch
from offramp_sim.p4.native import NativeSwitch
from offramp_sim.p4.native.bench import bmv2, run
from offramp_sim.p4.native.bench.workloads import Workload, router, switchgnn

pytestmark = [pytest.mark.bench, pytest.mark.timeout(900)]

WORKLOADS = {
    "SwitchGNN": switchgnn,
    "router 64": lambda: router(64),
    "router 512": lambda: router(512),
    "router 1500": lambda: router(1500),
}


@pytest.fixture(scope="module", params=WORKLOADS)
def workload(request: pytest.FixtureRequest) -> Workload:
    return WORKLOADS[request.param]()


def test_native(benchmark, workload: Workload) -> None:  # type: ignore[no-untyped-def]
    switch = NativeSwitch(workload.program)

    def prepare() -> None:
        switch.reset()
        workload.prepare(switch)
        switch.process(PacketBatch.empty())

    def go() -> None:
        for batch in workload.batches:
            switch.process(batch)

    benchmark.pedantic(go, setup=prepare, rounds=5)
    benchmark.extra_info["ns_per_pass"] = 1e9 * benchmark.stats["min"] / switch.stats.passes
    benchmark.extra_info["passes_per_s"] = switch.stats.passes / benchmark.stats["min"]


@pytest.mark.bmv2
def test_a_hundred_times_bmv2(workload: Workload, record_property) -> None:  # type: ignore[no-untyped-def]
    if bmv2.missing():
        pytest.skip(f"not on PATH: {', '.join(bmv2.missing())}")
    rates = {rate.switch: rate for rate in run(workload, seconds=2.0)}
    for name, rate in rates.items():
        record_property(name, f"{rate.passes_per_s:.0f} passes/s, {rate.ns_per_pass:.0f} ns each")
    assert rates["native"].passes_per_s > 100 * rates["bmv2"].passes_per_s


def test_time_is_linear_in_packets() -> None:
    rates = [run(router(64, packets), switches=("native",))[0] for packets in (2_048, 65_536)]
    fast, slow = sorted(rate.ns_per_pass for rate in rates)
    assert slow < 3 * fast
