# SPDX-License-Identifier: Apache-2.0
"""A switch's state as bmv2's command line takes it."""

from __future__ import annotations

import pytest

from offramp_p4.frontend import load_text
from offramp_p4.reference.commands import commands
from offramp_p4.state import ANY, ActionData, GroupAction, Lpm, MemberAction, TableEntry, Ternary
from offramp_p4.switch import Switch

pytestmark = pytest.mark.p4

PROGRAM = """
#include <v1model.p4>
struct headers { }
struct metadata { bit<16> a; bit<8> b; }
parser read(packet_in p, out headers h, inout metadata meta, inout standard_metadata_t s) {
    state start { transition accept; } }
control none(inout headers h, inout metadata meta) { apply { } }
control ingress(inout headers h, inout metadata meta, inout standard_metadata_t s) {
    action leave(bit<9> port) { s.egress_spec = port; }
    table spread {
        key = { meta.a: lpm; meta.b: ternary; meta.b: selector; }
        actions = { leave; }
        implementation = action_selector(HashAlgorithm.crc16, 8, 8); }
    table shared { key = { meta.a: exact; } actions = { leave; } implementation = action_profile(4); }
    apply { spread.apply(); shared.apply(); }
}
control egress(inout headers h, inout metadata meta, inout standard_metadata_t s) { apply { } }
control write(packet_out p, in headers h) { apply { } }
V1Switch(read(), none(), ingress(), egress(), none(), write()) main;
"""


def test_members_and_groups_have_handles_from_zero_and_the_highest_priority_is_the_smallest() -> None:
    switch = Switch(load_text(PROGRAM))
    spread = switch.tables["ingress.spread"]
    profile = spread.profile
    assert profile is not None
    profile.insert_member(7, ActionData("ingress.leave", (3,)))
    profile.insert_member(5, ActionData("ingress.leave", (4,)))
    profile.insert_group(9, [5, 7])
    spread.insert(TableEntry((Lpm(0x1200, 8), Ternary(1, 3)), GroupAction(9), 2))
    spread.insert(TableEntry((ANY, ANY), MemberAction(5), 6))
    name = profile.name
    assert list(commands(switch, replication=False)) == [
        f"act_prof_create_member {name} ingress.leave 0x3",
        f"act_prof_create_member {name} ingress.leave 0x4",
        f"act_prof_create_group {name}",
        f"act_prof_add_member_to_group {name} 1 0",
        f"act_prof_add_member_to_group {name} 0 0",
        "table_indirect_add_with_group ingress.spread 0x1200/8 0x01&&&0x03 => 0 5",
        "table_indirect_add ingress.spread 0x0000/0 0x00&&&0x00 => 1 1",
    ]


def test_queues_are_deepened_only_where_there_are_some() -> None:
    switch = Switch(load_text(PROGRAM))
    assert next(commands(switch)).startswith("set_queue_depth")
    assert list(commands(switch, replication=False)) == []
