# SPDX-License-Identifier: Apache-2.0
"""The ways of a packet through a PSA switch, one by one; the program writes down what it was told.

The expected notes follow the specification's tables of metadata by path (PSA 1.2, section 6), not the switch.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from both_engines import MakeSwitch
from offramp_p4 import PlainSwitch
from offramp_p4.frontend import load
from offramp_p4.state import CloneSession, Replica
from psa_orders import (
    AGAIN,
    AROUND,
    CLONE,
    CLONE_E2E,
    CLONE_I2E,
    CPU,
    DROP,
    EGRESS_CLONE,
    EGRESS_DROP,
    MULTICAST,
    NORMAL,
    RECIRCULATE,
    RESUBMIT,
    UNICAST,
    note,
    order,
)

pytestmark = pytest.mark.p4

PROGRAM = load(Path(__file__).with_name("psa.p4"))


@pytest.fixture
def switch(make_switch: MakeSwitch) -> PlainSwitch:
    psa = make_switch(PROGRAM, cpu_port=255)
    psa.pre.multicast[7] = (Replica(4, 1), Replica(5, 2))
    psa.pre.clones[8] = CloneSession((Replica(6, 3), Replica(CPU, 4)), class_of_service=2)
    psa.pre.clones[9] = CloneSession((Replica(6, 0),), packet_length=10)
    return psa


def test_unicast(switch: PlainSwitch) -> None:
    asked = order(cos=5)
    expected = asked + note(NORMAL, 0, 1) + note(UNICAST, 0x10, 3, cos=5) + b"rest"
    assert switch.process_one(1, asked + b"rest") == [(3, expected)]


def test_multicast(switch: PlainSwitch) -> None:
    asked = order(group=7, cos=1)
    head = asked + note(NORMAL, 0, 1)
    copies = [(port, head + note(MULTICAST, 0x10, port, rid, 1)) for port, rid in ((4, 1), (5, 2))]
    assert switch.process_one(1, asked) == copies
    assert switch.stats.replicas == 2


@pytest.mark.parametrize("asked", [order(DROP), order(group=70), order(port=3, flags=EGRESS_DROP)])
def test_dropped(switch: PlainSwitch, asked: bytes) -> None:
    assert switch.process_one(1, asked) == []
    assert switch.stats.dropped == 1


def test_ingress_clones_the_packet_as_it_came(switch: PlainSwitch) -> None:
    asked = order(CLONE, session=8)
    clones = [
        (port, asked + note(CLONE_I2E, 0xC1, shown, rid, 2) + b"x") for port, shown, rid in ((6, 6, 3), (255, CPU, 4))
    ]
    normal = (3, asked + note(NORMAL, 0, 1) + note(UNICAST, 0x10, 3) + b"x")
    assert switch.process_one(1, asked + b"x") == [*clones, normal]
    assert switch.process_one(1, order(CLONE | DROP, session=8))[0][0] == 6
    assert switch.stats.clones == 4
    assert len(switch.process_one(1, order(CLONE, session=80))) == 1


def test_a_session_cuts_its_clones(switch: PlainSwitch) -> None:
    asked = order(CLONE, session=9)
    (_, clone), _ = switch.process_one(1, asked + b"12345")
    assert clone == asked + note(CLONE_I2E, 0xC1, 6) + b"12"
    assert switch.stats.truncated == 1


def test_resubmission_keeps_packet_and_port(switch: PlainSwitch) -> None:
    asked = order(RESUBMIT)
    expected = asked + note(AGAIN, 0xAE, 1) + note(UNICAST, 0x10, 3) + b"r"
    assert switch.process_one(1, asked + b"r") == [(3, expected)]
    assert (switch.stats.resubmissions, switch.stats.passes) == (1, 2)
    assert switch.process_one(1, order(RESUBMIT | DROP)) == []


def test_recirculation_takes_what_egress_has_made(switch: PlainSwitch) -> None:
    asked = order(port=0xFFFA)
    expected = asked + note(AROUND, 0x4C, RECIRCULATE) + note(UNICAST, 0x10, 9) + b"r"
    assert switch.process_one(1, asked + b"r") == [(9, expected)]
    assert switch.stats.recirculations == 1


def test_egress_clones_what_its_deparser_has_made(make_switch: MakeSwitch) -> None:
    asked = order(EGRESS_CLONE, session=9)
    head = asked + note(NORMAL, 0, 1)
    original = (3, head + note(UNICAST, 0x10, 3))
    cut = make_switch(PROGRAM)
    cut.pre.clones[9] = CloneSession((Replica(6, 0),))
    assert cut.process_one(1, asked) == [original, (6, head + note(CLONE_E2E, 0xCE, 6))]
    assert cut.process_one(1, order(EGRESS_CLONE | EGRESS_DROP, session=9)) == []  # the clone drops itself too


def test_the_cpu_port_is_psas(switch: PlainSwitch, make_switch: MakeSwitch) -> None:
    asked = order(port=0xFFFD)
    expected = asked + note(NORMAL, 0, CPU) + note(UNICAST, 0x10, CPU)
    assert switch.process_one(255, asked) == [(255, expected)]
    without = make_switch(PROGRAM)
    assert without.process_one(1, asked) == []
    assert without.stats.dropped == 1


def test_parser_errors_do_not_end_a_packet(switch: PlainSwitch) -> None:
    """Ingress finds no order and writes its note alone; to egress that is an order and half a note."""
    noted = note(NORMAL, 0, 1, error=1)
    expected = noted[:8] + note(UNICAST, 0x10, 0, error=1) + noted[8:] + b"abc"
    assert switch.process_one(1, b"abc") == [(0, expected)]
    assert switch.stats.parse_errors == 2


def test_a_packet_that_never_ends_uses_up_its_passes(make_switch: MakeSwitch) -> None:
    text = Path(__file__).with_name("psa.p4").read_text().replace("h.order.flags & RESUBMIT != 0 && path != 5", "true")
    switch = make_switch(text, max_passes=10)
    assert switch.process_one(1, order()) == []
    assert (switch.stats.looped, switch.stats.passes) == (1, 10)
    short = make_switch(text, max_steps=1000)
    assert short.process_one(1, order()) == []
    assert short.stats.exhausted == 1
