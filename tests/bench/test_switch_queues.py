# SPDX-License-Identifier: Apache-2.0
"""The P4 switch with a traffic manager on both engines, and how long a program takes to load and to fill."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from offramp.p4src import p4_source
from offramp_base.wire.batch import PacketBatch
from offramp_p4 import make_switch
from offramp_p4.bench.router import router
from offramp_p4.frontend import load
from offramp_p4.native import NativeSwitch
from offramp_p4.optimising import OptimiseWhen
from offramp_p4.queued import QueuedSwitch
from offramp_p4.tm import TmConfig

pytestmark = pytest.mark.bench

SLOT_PS = 67_200  # a frame of 64 bytes on a line of 10 Gbit/s
PACKETS = {"python": 2000, "native": 16_384}


@pytest.fixture(params=["python", "native"])
def engine(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.mark.parametrize("arrivals", ["plain", "spread", "burst", "single"])
def test_router(benchmark, engine: str, arrivals: str) -> None:  # type: ignore[no-untyped-def]
    """Ports of 10 Gbit/s; packets in arrays spread over time, in arrays at one instant, or one call for each."""
    workload = router(64)
    batch = PacketBatch.concatenate(workload.batches).select(slice(PACKETS[engine]))
    switch = make_switch(workload.program, engine, optimise=OptimiseWhen.AT_ONCE)
    workload.prepare(switch)
    switch.process(batch.select(slice(10)))
    if arrivals == "plain":
        benchmark.pedantic(lambda: switch.process(batch), rounds=5)
    else:
        node = QueuedSwitch(switch, TmConfig.uniform(rate_bps=10**10))
        benchmark.pedantic(lambda: through(node, batch, arrivals), rounds=5)
    benchmark.extra_info["ns_per_packet"] = 1e9 * benchmark.stats["min"] / len(batch)


def through(node: QueuedSwitch, batch: PacketBatch, arrivals: str) -> None:
    start = node.switch.now_us * 10**6
    times = start + np.arange(len(batch)) * (0 if arrivals == "burst" else SLOT_PS)
    if arrivals == "single":
        for now_ps, (port, frame) in zip(times.tolist(), batch, strict=True):
            node.receive(now_ps, port, frame)
    else:
        node.receive_batch(times, batch)
    left, _ = node.advance_batch(start + 10**11)
    assert len(left) > 0.9 * len(batch)


PROGRAMS = {"SwitchGNN": p4_source("switchgnn/v1model.p4"), "router": router(64).source}


@pytest.mark.parametrize("cached", [False, True], ids=["cold", "cached"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_load(benchmark, name: str, cached: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    """From source to a switch."""
    folders = iter(range(100))

    def forget() -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ("one" if cached else str(next(folders)))))

    forget()
    NativeSwitch(load(PROGRAMS[name]))
    benchmark.pedantic(lambda: NativeSwitch(load(PROGRAMS[name])), setup=forget, rounds=3)


def test_ten_thousand_routes(benchmark) -> None:  # type: ignore[no-untyped-def]
    """Into the router's empty table, and the first packet."""
    workload = router(64)
    switch = NativeSwitch(workload.program)
    first = workload.batches[0].select(slice(1))

    def fill() -> None:
        workload.prepare(switch)
        assert len(switch.process(first)) == 1

    def setup() -> None:
        switch.reset()
        switch.process(PacketBatch.empty())

    benchmark.pedantic(fill, setup=setup, rounds=3)
