# SPDX-License-Identifier: Apache-2.0
"""Hermod at packet level: packets per second through the switch program, on both engines of the switch."""

from __future__ import annotations

import time

import pytest

from offramp.hermod.job import HermodJob
from offramp.hermod.models import DecoderTransformer
from offramp_sim.hermod.flow.study import SimulationSetup, prepare
from offramp_sim.hermod.simulate import simulate_packets
from offramp_sim.hermod.wire import WireProperties

pytestmark = pytest.mark.bench

MODEL = DecoderTransformer("dense", 4, 256, 4, 4, 100, 1024)
JOB = HermodJob(MODEL, 16, 4, micro_batches=4, gpus_per_server=1, nics_per_server=1, nic_gbps=4)
PACKETS = 20_000


@pytest.mark.parametrize("leaf", [16, 4])
@pytest.mark.parametrize("engine", ["native", "python"])
def test_packets_a_second(engine: str, leaf: int) -> None:
    """16 servers, two iterations; processor time, without compiling the program."""
    loaded = prepare(JOB, SimulationSetup(2, "ecmp", leaf, granularity="flow"))
    simulate_packets(loaded, "hermod", queues=8, wire=WireProperties(500, engine=engine))
    begun = time.process_time()
    outcome = simulate_packets(loaded, "hermod", queues=8, wire=WireProperties(PACKETS, engine=engine))
    spent = time.process_time() - begun
    speed = f"{outcome.data / spent:,.0f} packets per second"
    print(f"{engine}, {loaded.fabric.leaves} leaves: {speed}, {outcome.events} events")  # noqa: T201
    assert outcome.data >= PACKETS
