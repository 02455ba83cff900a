# SPDX-License-Identifier: Apache-2.0
"""Frames through Hermod's switch with a random plan, from the job's ports and from others, against the model.

Both engines and the program for Tofino must send what the model sends, and count as it does.
"""

from __future__ import annotations

import random
from functools import cache

from hermod_model import HOSTS, PORTS, Model, random_frame
from offramp.hermod.switch.entries import (
    EXCESS,
    POLICED,
    STRANGERS,
    MeterRate,
    SwitchPlan,
    ThresholdProfile,
    cell,
    full_name,
)
from offramp.p4src import p4_source
from offramp_base.wire.batch import PacketBatch
from offramp_p4 import AnySwitch, make_switch
from offramp_p4.frontend import load
from offramp_sim.hermod import direct

NAME = "hermod-frames"
_FRAMES = 60


@cache
def _switches() -> dict[str, AnySwitch]:
    v1model, tna = (load(p4_source(f"hermod/{name}.p4")) for name in ("v1model", "tna"))
    return {
        "python": make_switch(v1model, "python"),
        "native": make_switch(v1model, "native"),
        "tna": make_switch(tna, "python"),
    }


def run(rng: random.Random) -> None:
    """A plan and some frames."""
    plan = _plan(rng)
    frames = [(rng.choice([0, 17, *PORTS, *PORTS]), random_frame(rng)) for _ in range(_FRAMES)]
    steps = [rng.choice([0, 0, 50, 2_000, 10**6]) for _ in frames]
    for name, switch in _switches().items():
        switch.reset()
        direct.load(switch, plan)
        model = Model(plan)
        switch.now_us = 0
        for (port, frame), step in zip(frames, steps, strict=True):
            model.now_us += step
            switch.now_us = model.now_us
            expected = model.pass_(port, frame)
            got = list(switch.process(PacketBatch.of([(port, frame)])))
            assert got == expected, f"{name}, port {port}: {frame.hex()}"
        for port in (0, 17, *PORTS):
            assert _count(switch, STRANGERS, port) == model.strangers[port], name
            assert _count(switch, EXCESS, port) == model.excess[port], name
            for queue in range(8):
                assert _count(switch, POLICED, cell(port, queue)) == model.policed[port, queue], name


def _plan(rng: random.Random) -> SwitchPlan:
    queues = {dscp: rng.randrange(8) for dscp in rng.sample(range(64), rng.randrange(20))}
    profiles = {
        queue: ThresholdProfile(rng.randrange(4), drops=rng.random() < 0.5) for queue in rng.sample(range(8), 3)
    }
    members = rng.choice([None, (), (1,), (1, 2), PORTS])
    police = {queue: _rate(rng) for queue in rng.sample(range(8), rng.randrange(4))}
    if members == ():
        police = {}
    upper = rng.choice([None, _rate(rng)])
    return SwitchPlan(
        queues, rng.randrange(8), rng.randrange(8), profiles, HOSTS, PORTS, members=members, police=police, upper=upper
    )


def _rate(rng: random.Random) -> MeterRate:
    return MeterRate(rng.choice([1, 1_000, 100_000, 10**9]), rng.choice([1, 100, 2_000]))


def _count(switch: AnySwitch, name: str, index: int) -> int:
    return int(switch.counters[full_name(name, switch.tables)].packets[index])
