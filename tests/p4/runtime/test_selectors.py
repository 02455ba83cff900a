# SPDX-License-Identifier: Apache-2.0
"""Action profiles and selectors (section 9.2): groups, weights, watch ports, one-shots.

Oracle: shares counted over many packets, on both engines.
"""

from __future__ import annotations

from collections import Counter

import pytest

from frames import ethernet
from offramp_base.p4rt.schema import v1
from p4rt_lab import DELETE, INSERT, MODIFY

TYPE = 0x9000


@pytest.fixture
def ways(lab):
    return lab.session.index.action_profiles["ways"].preamble.id


def to(lab, port):
    return lab.session.make.action("to", {"port": port})


def member(lab, profile, number, port):
    profile_member = v1.ActionProfileMember(action_profile_id=profile, member_id=number, action=to(lab, port))
    return v1.Entity(action_profile_member=profile_member)


def group(profile, number, *members, max_size=4):
    """Members are ``(id, weight)`` or ``(id, weight, watch port)``."""
    profile_group = v1.ActionProfileGroup(action_profile_id=profile, group_id=number, max_size=max_size)
    for identifier, weight, *watch in members:
        profile_group.members.add(member_id=identifier, weight=weight, watch_port=bytes(watch))
    return v1.Entity(action_profile_group=profile_group)


def entry(lab, table="spread", **action):
    update = lab.session.table_entry(table, {"hdr.ethernet.type": TYPE})
    update.table_entry.action.CopyFrom(v1.TableAction(**action))
    return update


def one_shot(lab, *ways):
    """Actions are ``(port, weight)`` or ``(port, weight, watch port)``."""
    actions = v1.ActionProfileActionSet()
    for port, weight, *watch in ways:
        actions.action_profile_actions.add(action=to(lab, port), weight=weight, watch_port=bytes(watch))
    return actions


def shares(lab, packets=400):
    out = lab.packets(1, *(ethernet(src=n) for n in range(packets)))
    return {port: count / packets for port, count in Counter(port for port, _ in out).items() if port}


@pytest.fixture
def three(lab, ways):
    lab.write(*((INSERT, member(lab, ways, n, n)) for n in (2, 3, 4)))
    return lab


def test_weights_set_the_shares(three, ways):
    three.write((INSERT, group(ways, 1, (2, 1), (3, 3))), (INSERT, entry(three, action_profile_group_id=1)))
    assert shares(three) == {2: 0.25, 3: 0.75}
    three.write((MODIFY, group(ways, 1, (4, 2), (3, 2))))
    assert shares(three) == {3: 0.5, 4: 0.5}


def test_members_whose_watch_port_is_down_are_left_out(three, ways):
    three.device.set_links({1: True, 2: True, 3: True, 4: True})
    three.write(
        (INSERT, group(ways, 1, (2, 1, 2), (3, 1, 3), (4, 2))), (INSERT, entry(three, action_profile_group_id=1))
    )
    assert shares(three) == {2: 0.25, 3: 0.25, 4: 0.5}
    three.device.set_links({1: True, 2: True, 3: False, 4: False})
    assert shares(three) == {2: pytest.approx(1 / 3, abs=0.01), 4: pytest.approx(2 / 3, abs=0.01)}
    three.device.set_links({1: True, 2: True, 3: True, 4: True})
    assert shares(three) == {2: 0.25, 3: 0.25, 4: 0.5}


def test_a_group_of_which_every_watch_port_is_down_does_nothing(three, ways):
    three.device.set_links({1: True, 2: False})
    three.write((INSERT, group(ways, 1, (2, 1, 2))), (INSERT, entry(three, action_profile_group_id=1)))
    assert shares(three) == {}


def test_groups_are_read_as_they_were_written(three, ways):
    written = group(ways, 7, (3, 1), (2, 2, 3), max_size=4)
    three.write((INSERT, written))
    for wanted in (v1.ActionProfileGroup(), v1.ActionProfileGroup(action_profile_id=ways, group_id=7)):
        assert three.read(action_profile_group=wanted) == [written.action_profile_group]


def test_one_shot_is_a_group_of_its_own(lab):
    wanted = one_shot(lab, (2, 1), (3, 1), (3, 1), (4, 1))
    lab.write((INSERT, entry(lab, action_profile_action_set=wanted)))
    assert shares(lab) == {2: 0.25, 3: 0.5, 4: 0.25}
    (listed,) = lab.session.read_table("spread")
    assert listed.action.action_profile_action_set == wanted
    assert lab.read(action_profile_member=v1.ActionProfileMember()) == []
    assert lab.read(action_profile_group=v1.ActionProfileGroup()) == []
    lab.write((MODIFY, entry(lab, action_profile_action_set=one_shot(lab, (4, 1)))))
    assert shares(lab) == {4: 1.0}
    lab.write((DELETE, entry(lab)))
    assert shares(lab) == {}


def test_one_shots_watch_ports(lab):
    lab.device.set_links({2: True, 3: True})
    lab.write((INSERT, entry(lab, action_profile_action_set=one_shot(lab, (2, 1, 2), (3, 1, 3)))))
    lab.device.set_links({2: False, 3: True})
    assert shares(lab) == {3: 1.0}


def test_one_shots_that_come_and_go_leave_nothing(lab):
    for turn in range(300):
        lab.write((INSERT, entry(lab, action_profile_action_set=one_shot(lab, (2, 1), (3, 1)))))
        if turn % 3:
            lab.write((MODIFY, entry(lab, action_profile_action_set=one_shot(lab, (4, 2)))))
        lab.packets(1, ethernet())
        lab.write((DELETE, entry(lab)))
    state = lab.device.pipeline.switch.profiles["I.ways"]
    assert (state.members, state.groups) == ({}, {})
    assert len(getattr(state, "_members", ())) < 10  # places of the native engine


def test_a_one_shot_has_settings_of_its_own(lab):
    """Sizes by members or weights (the selector's are weights, at most 4), and members by hash or at random."""
    sets = v1.ActionProfileActionSet
    heavy = one_shot(lab, (2, 3), (3, 2))
    for semantics, refused in ((sets.SUM_OF_WEIGHTS, True), (sets.SUM_OF_MEMBERS, False)):
        heavy.size_semantics = semantics
        update = (INSERT, entry(lab, action_profile_action_set=heavy))
        if refused:
            assert lab.refusal(update)[0] == "INVALID_ARGUMENT"
        else:
            lab.write(update)
    assert shares(lab)[2] == pytest.approx(0.6, abs=0.01)
    (listed,) = lab.session.read_table("spread")
    assert listed.action.action_profile_action_set == heavy
    lab.write((DELETE, entry(lab)))
    assert lab.device.pipeline.selectors["I.ways"].filled == 0
    by_hash = one_shot(lab, (2, 1), (3, 1))
    by_hash.action_selection_mode = sets.HASH
    lab.write((INSERT, entry(lab, action_profile_action_set=by_hash)))
    assert shares(lab) == {2: 0.5, 3: 0.5}
    same = [port for port, _ in lab.packets(1, *[ethernet()] * 200)]
    drawn = one_shot(lab, (2, 1), (3, 3))
    drawn.action_selection_mode = sets.RANDOM
    lab.write((MODIFY, entry(lab, action_profile_action_set=drawn)))
    unlike = Counter(port for port, _ in lab.packets(1, *[ethernet()] * 400))
    assert len(set(same)) == 1
    assert unlike[3] / 400 == pytest.approx(0.75, abs=0.08)
    assert unlike[2] + unlike[3] == 400
    lab.write((DELETE, entry(lab)))
    assert lab.device.pipeline.switch.profiles["I.ways"].random_groups == set()


INVALID = "INVALID_ARGUMENT"
REFUSALS = {
    "no id": (lambda p: group(p, 0, (2, 1)), INVALID, "the id of a group is above 0"),
    "weight 0": (lambda p: group(p, 1, (2, 0)), INVALID, "group 1: weight 0 is not above 0"),
    "twice": (lambda p: group(p, 1, (2, 1), (2, 1)), INVALID, "group 1: a member is given twice; use its weight"),
    "unknown member": (lambda p: group(p, 1, (9, 1)), "NOT_FOUND", "no member 9"),
    "no size": (lambda p: group(p, 1, (2, 1), max_size=0), INVALID, "group 1: max_size 0 is outside 1..4"),
    "size": (lambda p: group(p, 1, (2, 1), max_size=5), INVALID, "group 1: max_size 5 is outside 1..4"),
    "too many": (
        lambda p: group(p, 1, (2, 2), (3, 1), max_size=2),
        "RESOURCE_EXHAUSTED",
        "group 1: more than its 2 members or weights",
    ),
    "watch port": (lambda p: group(p, 1, (2, 1, 77)), INVALID, "group 1: watch port 77 does not exist"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_bad_groups(three, ways, case):
    three.device.set_links({1: True, 2: True})
    make, code, message = REFUSALS[case]
    got = three.refusal((INSERT, make(ways)))
    assert got[0] == code
    assert got[1].endswith(message)
    assert three.read(action_profile_group=v1.ActionProfileGroup()) == []


def test_rules_of_members_and_groups(three, ways):
    three.write((INSERT, group(ways, 1, (2, 1), (3, 1))), (INSERT, entry(three, action_profile_group_id=1)))
    assert three.refusal((INSERT, group(ways, 1, (2, 1))))[0] == "ALREADY_EXISTS"
    assert three.refusal((INSERT, member(three, ways, 2, 2)))[0] == "ALREADY_EXISTS"
    assert three.refusal((MODIFY, member(three, ways, 9, 2)))[0] == "NOT_FOUND"
    assert three.refusal((DELETE, member(three, ways, 9, 2)))[0] == "NOT_FOUND"
    assert three.refusal((MODIFY, group(ways, 9, (2, 1))))[0] == "NOT_FOUND"
    assert three.refusal((DELETE, group(ways, 9)))[0] == "NOT_FOUND"
    assert three.refusal((INSERT, member(three, ways, 0, 2)))[0] == INVALID
    assert three.refusal((MODIFY, group(ways, 1, (2, 1), max_size=3)))[1].endswith("max_size cannot be changed")
    assert three.refusal((DELETE, member(three, ways, 2, 2)))[0] == "FAILED_PRECONDITION"
    assert three.refusal((DELETE, group(ways, 1)))[0] == "FAILED_PRECONDITION"
    no_action = member(three, ways, 5, 2)
    no_action.action_profile_member.ClearField("action")
    assert three.refusal((INSERT, no_action))[0] == INVALID
    three.write((DELETE, entry(three)))
    three.write((DELETE, group(ways, 1)))
    three.write((DELETE, member(three, ways, 2, 2)))


def test_rules_of_one_shots(lab, ways):
    def put(message):
        return lab.refusal((INSERT, entry(lab, action_profile_action_set=message)))

    too_many = one_shot(lab, (2, 3), (3, 2))
    assert put(too_many) == (INVALID, "action profile I.ways, one-shot: more than max_group_size 4 allows")
    assert put(one_shot(lab, (2, 0)))[0] == INVALID
    special = one_shot(lab, (2, 1))
    special.group_action.action_id = 1
    assert put(special)[0] == "UNIMPLEMENTED"
    for field in ("action_selection_mode", "size_semantics"):
        unknown = one_shot(lab, (2, 1))
        setattr(unknown, field, 7)
        assert put(unknown)[0] == INVALID
    lab.write((INSERT, member(lab, ways, 1, 2)))
    other = entry(lab, action_profile_member_id=1)
    lab.write((INSERT, other))
    second = entry(lab, action_profile_action_set=one_shot(lab, (2, 1)))
    second.table_entry.match[0].exact.value = b"\x07"
    assert lab.refusal((INSERT, second))[0] == INVALID
    lab.write((DELETE, other))
    lab.write((INSERT, second))
    assert lab.refusal((INSERT, other))[0] == INVALID
    hop = entry(lab, table="shared_hops", action_profile_action_set=one_shot(lab, (2, 1)))
    assert lab.refusal((INSERT, hop)) == (INVALID, "action profile I.hops is not a selector: it takes no action sets")


def test_member_not_inserted_yet(lab):
    for table, action in [("shared_hops", {"action_profile_member_id": 3}), ("spread", {"action_profile_group_id": 3})]:
        assert lab.refusal((INSERT, entry(lab, table=table, **action)))[0] == "NOT_FOUND"
    assert not lab.device.pipeline.selectors["I.hops"].uses


def test_all_groups_together_hold_what_p4info_says(three, ways):
    """Section 9.2: ``size``, 64 here, is the limit of the weights of all groups; one-shots are groups too."""
    three.write(*((INSERT, group(ways, n, (2, 3), (3, 1))) for n in range(1, 17)))
    full = ("RESOURCE_EXHAUSTED", "all groups together would have 65 members or weights, at most 64 fit")
    got = three.refusal((INSERT, group(ways, 17, (2, 1))))
    assert (got[0], got[1].endswith(full[1])) == (full[0], True)
    one = entry(three, action_profile_action_set=one_shot(three, (2, 1)))
    assert three.refusal((INSERT, one))[0] == full[0]
    three.write((MODIFY, group(ways, 16, (2, 3))))
    three.write((INSERT, one))
    assert three.refusal((MODIFY, group(ways, 16, (2, 4))))[0] == full[0]
    three.write((DELETE, one), (MODIFY, group(ways, 16, (2, 4))), (DELETE, group(ways, 1)))
    three.write((INSERT, group(ways, 17, (2, 4))))
