# SPDX-License-Identifier: Apache-2.0
"""A device's tables as ``bf-rt.json`` describes them. Oracle: by hand. Blind to what the SDE writes beside that."""

from __future__ import annotations

import json
from typing import Any

import pytest

from offramp.bfrt.info import BfrtInfo
from offramp_base.errors import OfframpError
from offramp_p4_tools.bfrt import numbers

pytestmark = pytest.mark.p4
WIDTHS = {"uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64, "bool": 1, "string": None}


def field(name: str, number: int, kind: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "id": number, "type": {"type": kind, **more}}


TABLE = {
    "name": "pipe.t",
    "id": 7,
    "size": 16,
    "key": [field(kind, number, kind) for number, kind in enumerate(WIDTHS)],
    "data": [{"singleton": field("$COUNTER", 90, "bytes", width=12)}, {"oneof": []}],
    "action_specs": [
        {"name": "go", "id": 3, "data": [{**field("port", 1, "bytes", width=9), "repeated": True}]},
        {"name": "stay", "id": 4, "data": [{"singleton": field("why", 2, "uint8")}]},
    ],
}


def table() -> Any:
    return BfrtInfo.parse("", json.dumps({"tables": [TABLE]}))["pipe.t"]


def test_fields_have_their_widths() -> None:
    assert {name: each.width for name, each in table().key.items()} == WIDTHS
    assert [each.id for each in table().key.values()] == [0, 1, 2, 3, 4, 5]
    assert (table().id, table().size, table().actions) == (7, 16, {"go": 3, "stay": 4})
    port = table().params["go"]["port"]
    assert (port.width, port.repeated, table().data["$COUNTER"].repeated) == (9, True, False)


def test_numbers_take_the_field_s_whole_bytes() -> None:
    port, counter = table().params["go"]["port"], table().data["$COUNTER"]
    assert (port.encode(0), port.encode(511), counter.encode(0xABC)) == (b"\0\0", b"\1\xff", b"\x0a\xbc")
    assert table().key["uint8"].encode(255) == b"\xff"
    for value in (-1, 512):
        with pytest.raises(OfframpError, match=rf"port = {value}: expected 0 to 511, it has 9 bits"):
            port.encode(value)


def test_an_entry_has_its_action_s_fields_and_those_of_all() -> None:
    assert list(table().fields_of(None)) == ["$COUNTER"]
    assert list(table().fields_of("stay")) == ["$COUNTER", "why"]
    with pytest.raises(OfframpError, match=r"table pipe\.t: action sty: the device has none; did you mean stay\?"):
        table().fields_of("sty")


def test_tables_are_found_by_name_and_number() -> None:
    info = BfrtInfo.parse(json.dumps({"tables": [TABLE]}))
    assert info.names == ["pipe.t"]
    assert "pipe.t" in info
    assert "pipe.u" not in info
    table_seven = info.by_id(7)
    assert table_seven is not None
    assert table_seven.name == "pipe.t"
    assert info.by_id(8) is None
    with pytest.raises(OfframpError, match=r"BF-RT table pipe\.q: the device has none; did you mean pipe\.t\?"):
        info["pipe.q"]


@pytest.mark.parametrize(
    "text", ["[]", "{}", '{"tables": 1}', json.dumps({"tables": [{**TABLE, "id": True}]}), '{"tables": [{"name": 1}]}']
)
def test_what_is_no_description(text: str) -> None:
    with pytest.raises(OfframpError, match=r"bf-rt\.json: expected BF-RT's description of tables"):
        BfrtInfo.parse(text)


def test_two_objects_whose_names_have_one_hash_have_ids_beside_each_other(monkeypatch):
    monkeypatch.setattr(numbers, "name_hash", lambda name: 0xFF000000 | {"a": 7, "b": 7, "c": 8, "d": 0xFFFFFF}[name])
    prefix = 0x83 << 24
    assert numbers.object_ids("Counter", ["d", "c", "b", "a"]) == {
        "a": prefix | 7, "b": prefix | 8, "c": prefix | 9, "d": prefix | 0xFFFFFF,
    }  # fmt: skip
