# SPDX-License-Identifier: Apache-2.0
"""UniTG's gates: random frames and times on every engine against the model; what a closed gate lets through: nothing.

Blind to: a Tofino's registers of several pipes.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from hermod_model import CONGESTED, HOSTS, LEASE, PORTS, QUIET, Model, ipv4, random_frame
from offramp.hermod.switch.entries import CLASSES, GateRole, SwitchPlan
from offramp_base.errors import OfframpError
from offramp_p4 import AnySwitch, ir, make_switch
from offramp_p4.queued import QueuedSwitch
from offramp_p4.tm import TmConfig
from offramp_sim.hermod import direct

pytestmark = pytest.mark.p4

FIRST, MIDDLE, LAST, ONLY, GRADIENTS = 48, 45, 42, 39, 3
ROLES = {
    FIRST: GateRole(closes=True),
    LAST: GateRole(opens=True),
    ONLY: GateRole(closes=True, opens=True),
    GRADIENTS: GateRole(held=True),
}
GATED = replace(QUIET, roles=ROLES)
STAGES = {stage: mac for mac, stage in HOSTS.items()}
MILLISECOND = 10**9


def tick_us(switch: AnySwitch) -> float:
    """64 on v1model, 2^16 ns on a Tofino."""
    return 64 if CLASSES in switch.tables else 65.536


def packet(source: int, target: int, dscp: int, length: int = 100) -> bytes:
    header = ipv4(random.Random(dscp), dscp << 2)
    frame = STAGES[target].to_bytes(6, "big") + STAGES[source].to_bytes(6, "big") + b"\x08\x00" + header
    return frame.ljust(length, b"\0")


@pytest.mark.parametrize("plan", [GATED, replace(CONGESTED, roles=ROLES)])
def test_random_frames(make_hermod: Callable[[SwitchPlan], AnySwitch], plan: SwitchPlan) -> None:
    rng, model, switch = random.Random(21), Model(plan), make_hermod(plan)
    held = 0
    for _ in range(800):
        port, frame = rng.choice(PORTS), random_frame(rng)
        if rng.random() < 0.7:
            source, target = rng.sample(sorted(STAGES), 2)
            port, frame = source, packet(source, target, rng.choice([*ROLES, GRADIENTS, MIDDLE]))
        switch.now_us += rng.choice([0, 60, 2_000, 2_000, 300_000])
        model.tick = int(switch.now_us / tick_us(switch))
        before = model.dropped.total()
        assert switch.process_one(port, frame) == model.pass_(port, frame)
        held += model.dropped.total() - before
    for at in ((p, q) for p in PORTS for q in range(8)):
        assert direct.sent(switch, *at) == (model.sent[at], model.sent_bytes[at])
        assert (direct.marked(switch, *at), direct.dropped(switch, *at)[0]) == (model.marked[at], model.dropped[at])
    assert held > 50


def test_a_bubble_from_end_to_end(make_hermod: Callable[[SwitchPlan], AnySwitch]) -> None:
    """Stage 2 computes from the first packet that it gets to the first of the last microbatch that it sends."""
    switch = make_hermod(GATED)

    def passes(at_us: int, source: int, target: int, dscp: int) -> bool:
        switch.now_us = at_us
        return bool(switch.process_one(source, packet(source, target, dscp)))

    assert passes(1_000, 3, 2, GRADIENTS)
    assert passes(2_000, 1, 2, FIRST)
    assert not passes(2_100, 3, 2, GRADIENTS)
    assert not passes(9_000, 1, 2, GRADIENTS)
    assert passes(9_000, 2, 1, GRADIENTS)  # the other stages' gates are their own
    assert passes(9_000, 2, 3, GRADIENTS)
    assert passes(9_100, 1, 2, MIDDLE)
    assert passes(9_200, 1, 2, LAST)  # opens stage 1's gate, not stage 2's
    assert not passes(9_300, 3, 2, GRADIENTS)
    assert passes(10_000, 2, 3, LAST)
    assert passes(10_100, 3, 2, GRADIENTS)
    assert passes(11_000, 3, 2, ONLY)
    assert not passes(12_000, 1, 2, GRADIENTS)
    assert passes(12_000, 1, 3, GRADIENTS)


def test_a_lost_opening_costs_a_lease(make_hermod: Callable[[SwitchPlan], AnySwitch]) -> None:
    """And packets that come twice, or late, do no more harm than that."""
    switch = make_hermod(GATED)
    switch.now_us = 1_000
    assert switch.process_one(1, packet(1, 2, FIRST))
    assert switch.process_one(1, packet(1, 2, FIRST))
    for after, passes in ((LEASE - 2, False), (LEASE + 2, True)):
        switch.now_us = 1_000 + int(after * tick_us(switch))
        assert bool(switch.process_one(3, packet(3, 2, GRADIENTS))) == passes


@pytest.mark.parametrize("engine", ["python", "native"])
def test_nothing_held_leaves_a_closed_port_even_if_it_was_queued_before(
    programs: dict[str, ir.Program], engine: str
) -> None:
    """At 100 Mb/s: gradients in the queue do not slow the activation down, nor leave while the gate is closed."""
    times = {}
    for with_gradients in (False, True):
        switch = make_switch(programs["v1model"], engine)
        direct.load(switch, GATED)
        queued = QueuedSwitch(switch, TmConfig.uniform(rate_bps=10**8))
        start = MILLISECOND
        if with_gradients:
            for number in range(200):
                queued.receive(start + number, 3, packet(3, 2, GRADIENTS, 1500))
        for number in range(20):
            queued.receive(start + MILLISECOND + number, 1, packet(1, 2, FIRST if number < 10 else MIDDLE, 1500))
        queued.receive(start + 10 * MILLISECOND, 2, packet(2, 1, LAST, 1500))
        queued.receive(start + 20 * MILLISECOND, 3, packet(3, 2, GRADIENTS, 1500))
        left = queued.advance(start + 100 * MILLISECOND)
        to_stage = [d for d in left if d.port == 2]
        urgent = [d.ps for d in to_stage if d.frame[15] >> 2 != GRADIENTS]
        held = [d.ps for d in to_stage if d.frame[15] >> 2 == GRADIENTS]
        times[with_gradients] = urgent
        assert len(urgent) == 20
        if with_gradients:
            one = 122 * 10**6  # picoseconds of a frame, with what the line adds
            closed = [t for t in held if urgent[0] + one < t < start + 10 * MILLISECOND]
            assert not closed
            assert len([t for t in held if t < urgent[0]]) > 3
            assert held[-1] > start + 20 * MILLISECOND
            assert direct.dropped(switch, 2, GATED.queues[GRADIENTS])[0] > 50
    assert times[True][-1] <= times[False][-1] + 2 * 122 * 10**6


def test_roles_that_contradict_themselves() -> None:
    with pytest.raises(OfframpError, match=r"^role of DSCP 3: what is held neither opens nor closes a gate$"):
        replace(QUIET, roles={3: GateRole(opens=True, held=True)})
    with pytest.raises(OfframpError, match=r"^role of DSCP 64: expected 0 to 63$"):
        replace(QUIET, roles={64: GateRole()})
