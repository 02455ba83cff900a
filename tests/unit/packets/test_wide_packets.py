# SPDX-License-Identifier: Apache-2.0
"""Wider packets in simulations: as long on the links as the workers' own, and refused where a slot is a short one."""

from __future__ import annotations

import pytest

from offramp.switchgnn.wire import LANES, frame_bytes
from offramp_base.errors import OfframpError
from offramp_base.wire.ethernet import wire_bytes
from offramp_sim.packets import ExchangeProtocol, LinkProperties, star
from offramp_sim.packets.simulate import simulate
from offramp_sim.slot.in_network import planned
from offramp_sim.slot.ports import StarFabric, exchange_trace
from offramp_sim.switchgnn.jobs import random_job


@pytest.mark.parametrize("lanes", [32, 64, 128])
def test_a_packet_is_as_long_as_its_aggregator_is_wide(lanes: int) -> None:
    (plan,) = random_job(5, vertices=40, edges=120, workers=4, limit=40, features=(256,), lanes=lanes).plans
    run = simulate(star(4, LinkProperties()), plan, protocol=ExchangeProtocol(acks="none"))
    control = 4 * len(plan.blocks) * wire_bytes(frame_bytes(0))
    assert run.up_bytes == plan.packets * wire_bytes(frame_bytes(lanes // LANES)) + control


def test_a_slot_is_no_wide_packet() -> None:
    (plan,) = random_job(5, vertices=40, edges=120, workers=4, limit=40, features=(64,), lanes=64).plans
    for run in (exchange_trace, lambda plan: planned(plan, StarFabric())):
        with pytest.raises(OfframpError, match="plan of 64 lanes: a slot is a packet of 32"):
            run(plan)
