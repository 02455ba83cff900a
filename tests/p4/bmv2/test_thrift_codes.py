# SPDX-License-Identifier: Apache-2.0
"""What bmv2's control plane refuses, with its codes.

The codes are those of bmv2's source (``match_tables``, ``match_units``, ``context``); bmv2 is run
outside the repository.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from offramp_p4_tools.dropin.thrift.client import ThriftClient
from offramp_p4_tools.dropin.thrift.services import RequestRefused, TableCode
from thrift_switch import answers, serving

SOURCE = Path(__file__).with_name("control_plane.p4")
RATES = [{"units_per_micros": 1.0, "burst_size": 1}, {"units_per_micros": 2.0, "burst_size": 2}]

pytestmark = pytest.mark.p4


@pytest.fixture(scope="module")
def client() -> Iterator[ThriftClient]:
    with serving(SOURCE) as server, ThriftClient("127.0.0.1", server.port) as client:
        yield client


@pytest.fixture(autouse=True)
def _clean(client: ThriftClient) -> None:
    client.call("standard", "bm_reset_state")


def _exact(value: int, octets: int = 4) -> dict[str, Any]:
    return {"type": 0, "exact": {"key": value.to_bytes(octets, "big")}}


def _lpm(value: int, length: int, octets: int = 4) -> dict[str, Any]:
    return {"type": 1, "lpm": {"key": value.to_bytes(octets, "big"), "prefix_length": length}}


def _ternary(octets: int = 4) -> dict[str, Any]:
    return {"type": 2, "ternary": {"key": bytes(octets), "mask": bytes(octets)}}


def _range(low: int, high: int) -> dict[str, Any]:
    return {"type": 4, "range": {"start": low.to_bytes(2, "big"), "end_": high.to_bytes(2, "big")}}


def _add(table: str, *keys: dict[str, Any], action: str = "I.to", data: tuple[bytes, ...] = (b"\0\1",)) -> Any:
    return "bm_mt_add_entry", {
        "table_name": f"I.{table}",
        "match_key": list(keys),
        "action_name": action,
        "action_data": list(data),
        "options": {"priority": 1},
    }


def _code(client: ThriftClient, method: str, arguments: dict[str, Any]) -> int:
    with pytest.raises(RequestRefused) as refused:
        client.call("standard", method, **arguments)
    return refused.value.code


def _member(table: str, handle: int = 0) -> Any:
    return "bm_mt_indirect_add_entry", {"table_name": f"I.{table}", "match_key": [_exact(1)], "mbr_handle": handle}


def _group(table: str, handle: int = 0) -> Any:
    return "bm_mt_indirect_ws_add_entry", {"table_name": f"I.{table}", "match_key": [_exact(1)], "grp_handle": handle}


def _of(method: str, table: str, **arguments: Any) -> Any:
    return method, {"table_name": f"I.{table}", **arguments}


TO = {"action_name": "I.to", "action_data": [b"\0\1"]}
CASES: dict[str, tuple[Any, int]] = {
    "no key in the table": (_add("keyless"), TableCode.NO_KEY),
    "a key for a table without": (_add("keyless", _exact(1)), TableCode.NO_KEY),
    "no key given": (_add("small"), TableCode.KEY),
    "a key too many": (_add("small", _exact(1), _exact(1)), TableCode.KEY),
    "another kind": (_add("small", _lpm(1, 32)), TableCode.KEY),
    "short": (_add("small", _exact(1, 3)), TableCode.KEY),
    "long": (_add("small", _exact(1, 5)), TableCode.KEY),
    "a prefix longer than the field": (_add("routes", _lpm(1, 33), action="NoAction", data=()), TableCode.KEY),
    "a negative prefix": (_add("routes", _lpm(1, -1), action="NoAction", data=()), TableCode.KEY),
    "a short mask": (_add("ranges", _range(1, 2), _ternary(3)), TableCode.KEY),
    "an empty range": (_add("ranges", _range(3, 2), _ternary()), TableCode.KEY),
    "an unknown action": (_add("small", _exact(1), action="I.no"), TableCode.ACTION),
    "no data": (_add("small", _exact(1), data=()), TableCode.DATA),
    "entries of the program": (_add("fixed", _exact(1)), TableCode.IMMUTABLE),
    "an action for a member": (_add("member", _exact(1)), TableCode.TYPE),
    "an action for a group": (_add("group", _exact(1)), TableCode.TYPE),
    "a member for an action": (_member("small"), TableCode.TYPE),
    "a group for an action": (_group("small"), TableCode.TYPE),
    "a group for a member": (_group("member"), TableCode.TYPE),
    "no such member": (_member("member"), TableCode.MEMBER),
    "no such group": (_group("group"), TableCode.GROUP),
    "default of members": (_of("bm_mt_set_default_action", "member", **TO), TableCode.TYPE),
    "reset of members": (_of("bm_mt_reset_default_entry", "member"), TableCode.TYPE),
    "reset of actions": (_of("bm_mt_indirect_reset_default_entry", "small"), TableCode.TYPE),
    "constant default": (_of("bm_mt_set_default_action", "fixed", **TO), TableCode.DEFAULT_CONST),
    "delete of members": (_of("bm_mt_delete_entry", "member", entry_handle=0), TableCode.TYPE),
    "delete of actions": (_of("bm_mt_indirect_delete_entry", "small", entry_handle=0), TableCode.TYPE),
    "delete of the program's": (_of("bm_mt_delete_entry", "fixed", entry_handle=0), TableCode.IMMUTABLE),
    "change of the program's": (_of("bm_mt_modify_entry", "fixed", entry_handle=7, **TO), TableCode.IMMUTABLE),
    "no ageing, no handle": (_of("bm_mt_set_entry_ttl", "small", entry_handle=5, timeout_ms=1), TableCode.AGEING),
    "ageing, no handle": (_of("bm_mt_set_entry_ttl", "ranges", entry_handle=5, timeout_ms=1), TableCode.HANDLE),
    "no counters": (_of("bm_mt_read_counter", "routes", entry_handle=5), TableCode.COUNTERS),
    "no meters": (_of("bm_mt_set_meter_rates", "small", entry_handle=5, rates=RATES), TableCode.METERS),
    "meters, no handle": (_of("bm_mt_set_meter_rates", "routes", entry_handle=5, rates=RATES), TableCode.HANDLE),
}


@pytest.mark.parametrize("case", CASES)
def test_a_refusal_has_bmv2s_code_and_changes_nothing(client: ThriftClient, case: str) -> None:
    (method, arguments), code = CASES[case]
    table = arguments["table_name"]
    before = client.call("standard", "bm_mt_get_entries", table_name=table)
    default = client.call("standard", "bm_mt_get_default_entry", table_name=table)
    assert _code(client, method, arguments) == code
    assert client.call("standard", "bm_mt_get_entries", table_name=table) == before
    assert client.call("standard", "bm_mt_get_default_entry", table_name=table) == default


def test_a_full_table(client: ThriftClient) -> None:
    for value in (1, 2):
        method, arguments = _add("small", _exact(value))
        client.call("standard", method, **arguments)
    assert _code(client, *_add("small", _exact(3))) == TableCode.FULL
    assert _code(client, *_add("small", _exact(2))) == TableCode.DUPLICATE


def test_groups_without_members_take_no_entry(client: ThriftClient) -> None:
    profile = {"act_prof_name": "I.ways"}
    group = client.call("standard", "bm_mt_act_prof_create_group", **profile)
    assert _code(client, *_group("group", group)) == TableCode.EMPTY_GROUP
    member = client.call("standard", "bm_mt_act_prof_add_member", **profile, **TO)
    client.call("standard", "bm_mt_act_prof_add_member_to_group", **profile, mbr_handle=member, grp_handle=group)
    method, arguments = _group("group", group)
    client.call("standard", method, **arguments)


def test_rates_of_an_entry_that_go_down_are_an_error_of_its_table(client: ThriftClient) -> None:
    method, arguments = _add("routes", _lpm(0, 8), action="NoAction", data=())
    handle = client.call("standard", method, **arguments)
    rates = _of("bm_mt_set_meter_rates", "routes", entry_handle=handle, rates=RATES[::-1])
    assert _code(client, *rates) == TableCode.ERROR


def test_a_look_up_without_a_key_answers_with_the_default(client: ThriftClient) -> None:
    call = {"match_key": [], "options": {"priority": 0}}
    entry = client.call("standard", "bm_mt_get_entry_from_key", table_name="I.keyless", **call)
    assert entry["action_entry"]["action_name"] == "NoAction"


def test_the_command_line_says_it(client: ThriftClient) -> None:
    added, timeout, dumped = answers(
        client, "table_add keyless to => 1", "table_set_timeout small 0 5", "table_dump keyless"
    )
    assert added.endswith("Invalid table operation (NO_TABLE_KEY)\n")
    assert timeout == "Error: Table small does not support entry timeouts\n"
    assert "Dumping entry" not in dumped
