# SPDX-License-Identifier: Apache-2.0
"""PNA programs as bmv2's JSON for pna_nic, and what p4c has written of one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from offramp_p4.engines import make_switch
from offramp_p4.frontend import load
from offramp_p4.runtime.p4info import generate
from offramp_p4.source import Unsupported
from offramp_p4.state import ANY, ActionData, Exact, TableEntry, Ternary
from offramp_p4_tools.bmv2.read import from_json
from offramp_p4_tools.bmv2.write import to_json

CARD = Path(__file__).with_name("card.p4")
DPDK = Path(__file__).parents[1] / "portable" / "pna.p4"

pytestmark = pytest.mark.p4


def test_a_card_does_the_same(engine: str) -> None:
    program = load(CARD)
    direct, through = (make_switch(p, engine) for p in (program, from_json(json.dumps(to_json(program)), "card.json")))
    ip = "112233445566 aabbccddee01 0800 40060000 0a000001 ffff"
    sent = []
    for switch in (direct, through):
        table = switch.tables["C.t"]
        table.insert(TableEntry((Exact(0x112233445566), Ternary(3, 0xFFFFFFFF)), ActionData("C.forward", (9,)), 1))
        table.insert(TableEntry((Exact(0x112233445566), Ternary(4, 0xFFFFFFFF)), ActionData("C.discard", ()), 2))
        table.insert(TableEntry((Exact(5), ANY), ActionData("C.forward", (1,)), 3))
        frames = [(2, ip), (3, ip), (4, ip), (2, "000000000005 aabbccddee03 0801"), (2, "1122")]
        sent.append([switch.process_one(port, bytes.fromhex(frame)) for port, frame in frames])
        assert list(switch.registers["C.r"].values) == [0, 0, 3, 1]
        assert list(switch.counters["C.c"].packets) == [1, 3, 0, 1]
        assert [entry.packets for entry in table.entries if entry.action.action == "C.forward"] == [1, 1]
    assert sent[0] == sent[1]
    assert [[port for port, _ in each] for each in sent[0]] == [[7], [9], [], [1], []]
    assert sent[0][0][0][1][16:18] == (0xFFFF - (0x4006 + 0x0A00 + 0x0001)).to_bytes(2, "big")
    infos = [generate(switch.program) for switch in (direct, through)]
    assert infos[0].tables[0].match_fields == infos[1].tables[0].match_fields
    assert infos[1].pkg_info.arch == "pna"


def test_a_pre_control_is_refused_with_its_place() -> None:
    with pytest.raises(Unsupported, match="a pre-control, which pna_nic does not have") as refused:
        to_json(load(DPDK))
    assert refused.value.pos.line > 0


@pytest.mark.full
def test_what_p4c_makes_of_a_program_without_variables() -> None:
    """It then has no name for the header of scalars, and writes what it has in its place."""
    document = to_json(load(CARD))
    types, headers = document["header_types"], document["headers"]
    types.append({"name": "scalars_t", "id": 99, "fields": []})
    headers.append({"name": "<null>", "id": 99, "header_type": "scalars_t", "metadata": False, "pi_omit": True})
    assert make_switch(from_json(json.dumps(document), "p.json")).process_one(0, bytes(14))[0][0] == 7
