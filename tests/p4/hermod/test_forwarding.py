# SPDX-License-Identifier: Apache-2.0
"""Random frames through both programs against a model in Python. Blind to queues."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from hermod_model import CONGESTED, PORTS, Model, random_frame
from offramp.hermod.switch.entries import BY_DSCP, SwitchPlan, full_name
from offramp.p4src import p4_source
from offramp_base.wire.batch import PacketBatch
from offramp_p4 import AnySwitch, ir
from offramp_p4.stf import run_stf
from offramp_sim.hermod import direct

pytestmark = pytest.mark.p4


def test_random_frames(make_hermod: Callable[[SwitchPlan], AnySwitch]) -> None:
    rng, model, switch = random.Random(7), Model(CONGESTED), make_hermod(CONGESTED)
    frames = [(rng.choice(PORTS), random_frame(rng)) for _ in range(1500)]
    expected = [out for port, frame in frames for out in model.pass_(port, frame)]
    left = switch.process(PacketBatch.of(frames))
    assert list(zip(left.ports.tolist(), left.frames(), strict=True)) == expected
    assert len(expected) > 1000
    counted = {(p, q): direct.sent(switch, p, q) for p in PORTS for q in range(8)}
    assert counted == {at: (model.sent[at], model.sent_bytes[at]) for at in counted}
    by_dscp = switch.counters[full_name(BY_DSCP, switch.tables)]
    assert list(by_dscp.packets) == [model.by_dscp[d] for d in range(64)]


@pytest.mark.parametrize("engine", ["python", "native", "tna-python", "tna-native"])
def test_stf(engine: str, programs: dict[str, ir.Program]) -> None:
    test = p4_source("hermod/v1model.stf").read_text()
    program, name = (programs["tna" if engine.startswith("tna") else "v1model"], engine.removeprefix("tna-"))
    result = run_stf(program, test, "v1model.stf", engine=name)
    assert result.mismatches == []
    assert result.expectations > 0
