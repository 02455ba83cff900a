# SPDX-License-Identifier: Apache-2.0
"""Random frames through bmv2's simple_switch, which has eight queues a port, and the model."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from hermod_model import CONGESTED, PORTS, Model, random_frame
from offramp.hermod.switch.entries import ThresholdProfile
from offramp.p4src import p4_source
from offramp_p4 import ir, make_switch
from offramp_p4.reference import missing, run
from offramp_sim.hermod import direct

pytestmark = [pytest.mark.p4, pytest.mark.bmv2, pytest.mark.slow]


def test_random_frames(programs: dict[str, ir.Program]) -> None:
    if missing():
        pytest.skip(f"not on PATH: {', '.join(missing())}")
    plan = replace(CONGESTED, profiles=dict.fromkeys(range(8), ThresholdProfile(1000)))  # however busy the machine is
    rng, model = random.Random(13), Model(plan)
    like = make_switch(programs["v1model"], "python")
    direct.load(like, plan)
    frames = [(2000 * i, rng.choice(PORTS), random_frame(rng)) for i in range(400)]
    frames = [(us, port, frame) for us, port, frame in frames if len(frame) >= 14]
    left = run(p4_source("hermod/v1model.p4"), like, frames, PORTS, target_options=["--priority-queues", "8"])
    expected = [out for _, port, frame in frames for out in model.pass_(port, frame)]
    assert Counter((d.port, d.frame) for d in left) == Counter(expected)
    assert len(expected) > 300
