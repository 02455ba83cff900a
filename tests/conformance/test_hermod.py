# SPDX-License-Identifier: Apache-2.0
"""Hermod's program and control plane over every kind of switch, packet for packet against the model."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from hermod_model import CONGESTED, PORTS, Model, random_frame
from offramp.hermod.deploy.p4 import P4Target, switch_plan
from offramp.hermod.plan_file import load_plan
from offramp.hermod.switch.control import HermodControl
from offramp.p4src import p4_text
from offramp_base.errors import OfframpError
from switch_targets import Target

pytestmark = pytest.mark.p4


@pytest.fixture
def target(make_target: Callable[..., Target], tmp_path: Path) -> Target:
    program = tmp_path / "hermod.p4"
    program.touch()
    target = make_target(program, ports=len(PORTS))
    program.write_text(p4_text("hermod/v1model.p4", {"ONE_QUEUE": 1} if target.name == "bmv2" else {}))
    return target


def test_frames_and_counters(target: Target) -> None:
    """One frame at a time, so that no queue is ever long; frames of fewer than 14 bytes do not pass interfaces."""
    target.open_all()
    session = target.session()
    assert P4Target(session, CONGESTED).apply()
    control, model, rng = HermodControl(session), Model(CONGESTED), random.Random(11)
    for _ in range(150):
        frame = random_frame(rng)
        if len(frame) < 14:
            continue
        port = rng.choice(PORTS)
        expected = model.pass_(port, frame)
        target.exchange(port, frame)
        for out, copy in expected:
            assert target.receive(out, 1) == [copy]
    assert all(target.silent(port) for port in PORTS)
    counted = {at: counts for at, counts in control.sent(PORTS).items() if counts[0]}
    assert counted == {at: (model.sent[at], model.sent_bytes[at]) for at in model.sent}
    assert not any(control.marked(PORTS).values())


def test_a_plan_is_deployed_read_back_and_removed(target: Target) -> None:
    session = target.session()
    empty = HermodControl(session).read()
    plan = load_plan("mixtral-8x22b", ecn_bytes={0: 150_000})
    deployed = P4Target(session, switch_plan(plan, PORTS, {0x0200_0000_0001: 2}))
    assert len(deployed.differences()) > 40
    assert deployed.apply()
    assert deployed.differences() == []
    assert not deployed.apply()
    other = P4Target(session, switch_plan(load_plan("mixtral-8x22b", 3), PORTS))
    with pytest.raises(OfframpError, match=r"in use otherwise: DSCP \d+: enqueue\(queue \d, profile \d\), planned"):
        other.apply()
    assert deployed.differences() == []
    assert other.apply(replace=True)
    assert other.differences() == []
    assert other.undo()
    assert HermodControl(session).read() == empty
