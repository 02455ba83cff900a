# SPDX-License-Identifier: Apache-2.0
"""Speed of the P4 switch: SwitchGNN, and an IPv4 router with 10,000 routes; the comparison with bmv2.

Workloads: :mod:`offramp_p4.bench`. Compare numbers of one run only: other work on the machine slows them all down.
"""

from __future__ import annotations

import os

import pytest

from offramp_p4.bench.bmv2 import measure_bmv2
from offramp_p4.bench.rates import MeasuredRate, fresh, measure
from offramp_p4.bench.router import router
from offramp_p4.bench.veth import measure_veth
from offramp_p4.bench.workload import SwitchWorkload
from offramp_p4.engines import make_switch
from offramp_p4.native import NativeSwitch
from offramp_p4.reference import missing
from offramp_sim.switchgnn.workloads import replicated_switchgnn, switchgnn, tofino_switchgnn

pytestmark = [pytest.mark.bench, pytest.mark.timeout(900)]

WORKLOADS = {
    "SwitchGNN": switchgnn,
    "SwitchGNN, replicated": replicated_switchgnn,
    "router 64": lambda: router(64),
    "router 512": lambda: router(512),
    "router 1500": lambda: router(1500),
}


@pytest.fixture(scope="module", params=WORKLOADS)
def workload(request: pytest.FixtureRequest) -> SwitchWorkload:
    return WORKLOADS[request.param]()


@pytest.fixture
def bmv2() -> None:
    if missing():
        pytest.skip(f"not on PATH: {', '.join(missing())}")


def test_native(benchmark, workload: SwitchWorkload) -> None:  # type: ignore[no-untyped-def]
    switch = NativeSwitch(workload.program)

    def go() -> None:
        for batch in workload.batches:
            switch.process(batch)

    benchmark.pedantic(go, setup=lambda: fresh(switch, workload), rounds=5)
    benchmark.extra_info["ns_per_pass"] = 1e9 * benchmark.stats["min"] / switch.stats.passes
    benchmark.extra_info["passes_per_s"] = switch.stats.passes / benchmark.stats["min"]


@pytest.mark.bmv2
@pytest.mark.usefixtures("bmv2")
def test_a_hundred_times_bmv2(workload: SwitchWorkload, record_property) -> None:  # type: ignore[no-untyped-def]
    ours, theirs = measure(workload, "native", 2.0), measure_bmv2(workload, 2.0)
    for rate in (ours, theirs):
        record_property(rate.switch, f"{rate.passes_per_s:.0f} passes/s, {rate.ns_per_pass:.0f} ns each")
    assert ours.passes_per_s > 100 * theirs.passes_per_s


@pytest.mark.bmv2
@pytest.mark.netns
@pytest.mark.usefixtures("bmv2")
def test_ten_times_bmv2_over_veth(workload: SwitchWorkload, record_property) -> None:  # type: ignore[no-untyped-def]
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    ours, theirs = (measure_veth(workload, switch, 6.0) for switch in ("native", "bmv2"))
    for rate in (ours, theirs):
        record_property(rate.switch, f"{rate.packets_per_s:.0f} packets/s over veth")
    assert ours.packets_per_s > 10 * theirs.packets_per_s


def test_tna_is_a_hundred_times_the_python_engine(record_property) -> None:  # type: ignore[no-untyped-def]
    """In one run: both engines send the same packets, bit for bit."""
    workload = tofino_switchgnn(rounds=1)
    sent = {}
    for engine in ("native", "python"):
        switch = make_switch(workload.program, engine)
        fresh(switch, workload)
        sent[engine] = [list(switch.process(batch)) for batch in workload.batches]
    assert sent["native"] == sent["python"]
    assert sum(map(len, sent["native"])) > 1_000
    ours, theirs = (measure(workload, engine, 3.0) for engine in ("native", "python"))
    for rate in (ours, theirs):
        record_property(rate.switch, f"{rate.passes_per_s:.0f} passes/s, {rate.ns_per_pass:.0f} ns each")
    assert ours.passes_per_s > 100 * theirs.passes_per_s


def test_time_is_linear_in_packets() -> None:
    def rate(packets: int) -> MeasuredRate:
        return measure(router(64, packets), "native", 1.0)

    fast, slow = sorted(rate(packets).ns_per_pass for packets in (2_048, 65_536))
    assert slow < 3 * fast
