# SPDX-License-Identifier: Apache-2.0
"""Selectors whose members' bits the data plane changes."""

from __future__ import annotations

from random import Random

import pytest

from offramp_p4 import PlainSwitch
from offramp_p4.frontend import load_text
from offramp_p4.source import P4Error, Unsupported
from offramp_p4.state import ActionData, Exact, GroupAction, TableEntry
from offramp_p4.state.match import StateError
from offramp_p4.tna import hashing
from offramp_p4.tna.resources import estimate
from tna_programs import make, packet, tna

pytestmark = pytest.mark.p4

BITS = """
    ActionProfile(64) profile;
    Hash<bit<16>>(HashAlgorithm_t.CRC16) h;
    {register}
    ActionSelector(profile, h, SelectorMode_t.FAIR, {given}{largest}, 3) selector;
    SelectorAction(selector) down = {{ void apply(inout bit<1> value, out bit<1> rv) {{ rv = value; value = 0; }} }};
    SelectorAction(selector) up = {{ void apply(inout bit<1> value) {{ value = 1; }} }};
    action set(bit<8> x) {{ hdr.h.b = x; }}
    action none() {{ hdr.h.b = 255; }}
    table t {{
        key = {{ hdr.h.a: exact; hdr.h.w: selector; }}
        actions = {{ set; none; }}
        default_action = none;
        implementation = selector;
    }}
"""
APPLY = """
    tm.ucast_egress_port = 1; tm.bypass_egress = 1;
    if (hdr.h.c == 0) { t.apply(); }
    else if (hdr.h.c == 1) { hdr.h.b = (bit<8>) down.execute(hdr.h.w); }
    else { up.execute(hdr.h.w); }
"""
PICK, DOWN, UP = range(3)


def local(register: str = "", largest: int = 130) -> str:
    given = "bits, " if register else ""
    return BITS.format(register=register, given=given, largest=largest)


def switch(register: str = "", largest: int = 130) -> PlainSwitch:
    s = make(load_text(tna(APPLY, local=local(register, largest)), "prog.p4"))
    for i in range(10):
        s.profiles["pipe.I.profile"].insert_member(i, ActionData("I.set", (10 + i,)))
    for group in (1, 2, 7):
        s.profiles["pipe.I.selector"].insert_group(group, range(group))
        s.tables["pipe.I.t"].insert(TableEntry((Exact(group),), GroupAction(group)))
    return s


def sent(s: PlainSwitch, what: int, w: int, group: int = 0) -> int:
    """The byte that says what became of a packet."""
    ((_, out),) = s.process_one(0, packet(a=group, c=what, w=w))
    return out[1]


def index(s: PlainSwitch, group: int, member: int) -> int:
    status = s.profiles["pipe.I.selector"].status
    assert status is not None
    return status.index(group, member)


REGISTER = "Register<bit<1>, bit<32>>(1024) bits;"


@pytest.mark.parametrize(("register", "name"), [("", "selector"), (REGISTER, "bits")])
def test_a_selector_picks_among_the_members_whose_bits_are_set(register: str, name: str) -> None:
    s = switch(register)
    rng, up = Random(1), {1: {0}, 2: {0, 1}, 7: set(range(7))}
    crc16 = hashing.crc(hashing.CRCS["CRC16"], 32, 16)
    for _ in range(400):
        group = rng.choice((1, 2, 7))
        member, w = rng.randrange(group), rng.getrandbits(32)
        if rng.random() < 0.3:
            assert sent(s, DOWN, index(s, group, member)) == int(member in up[group])
            up[group] -= {member}
        elif rng.random() < 0.4:
            sent(s, UP, index(s, group, member))
            up[group] |= {member}
        left = sorted(up[group])
        assert sent(s, PICK, w, group) == (10 + left[crc16(w) % len(left)] if left else 0)
    bits = s.registers[f"pipe.I.{name}"]
    assert {i for i in range(bits.size) if bits.read(i)} == {index(s, g, m) for g in up for m in up[g]}


def test_places_in_lines_of_128_bits_of_which_120_are_members() -> None:
    s = switch()
    profile = s.profiles["pipe.I.selector"]
    assert [index(s, g, m) for g, m in ((1, 0), (2, 0), (2, 1), (7, 6))] == [0, 256, 257, 518]
    profile.modify_group(2, [3, 1, 1, 4])  # 1 keeps its bit
    assert profile.status is not None
    assert profile.status.indices(2) == [256, 257, 258, 259]
    profile.modify_group(7, [0] * 122)
    assert profile.status.indices(7)[-3:] == [512 + 119, 512 + 128, 512 + 129]
    profile.delete_group(1)
    profile.insert_group(3, [5])  # takes the free block
    assert index(s, 3, 5) == 0
    with pytest.raises(StateError, match="at most 3 groups"):
        profile.insert_group(4, [])
    with pytest.raises(StateError, match="131 members in a group of at most 130"):
        profile.modify_group(3, [1] * 131)
    with pytest.raises(StateError, match="no member 1 in group 3"):
        index(s, 3, 1)


def test_writing_a_group_lets_its_members_take_packets_again() -> None:
    s = switch()
    at = index(s, 1, 0)
    sent(s, DOWN, at)
    assert sent(s, PICK, 5, 1) == 0
    s.profiles["pipe.I.selector"].modify_group(1, [0])
    assert sent(s, PICK, 5, 1) == 10
    s.reset()
    assert not any(s.registers["pipe.I.selector"].values)


def test_a_bit_of_no_member_changes_no_choice() -> None:
    s = switch()
    sent(s, UP, index(s, 1, 0) + 1)
    sent(s, UP, 1 << 30)
    assert {sent(s, PICK, w, 1) for w in range(20)} == {10}


@pytest.mark.parametrize(
    ("body", "register", "what"),
    [
        ("t.apply(); down.execute(3);", "", "access the memory of selector pipe.I.selector twice"),
        ("t.apply(); down.execute(3);", REGISTER, "access register pipe.I.bits twice"),
        ("down.execute(3); up.execute(4);", "", "access the memory of selector pipe.I.selector twice"),
    ],
)
def test_a_pass_has_one_access(body: str, register: str, what: str) -> None:
    with pytest.raises(P4Error, match=what):
        make(load_text(tna(body, local=local(register)), "prog.p4"))


@pytest.mark.full
def test_refused() -> None:
    with pytest.raises(Unsupported, match=r"SelectorAction\.execute without an index"):
        make(load_text(tna("down.execute();", local=local()), "prog.p4"))
    with pytest.raises(Unsupported, match="other than at least 768 cells of a bit"):
        make(load_text(tna(APPLY, local=local("Register<bit<1>, bit<32>>(767) bits;")), "prog.p4"))


def test_the_resource_report_has_its_memory_and_its_stateful_alu() -> None:
    (resources,) = estimate(load_text(tna(APPLY, local=local()), "prog.p4"))
    assert [register.name for stage in resources.stages for register in stage.stateful] == ["pipe.I.selector"]
