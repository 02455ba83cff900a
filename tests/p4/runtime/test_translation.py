# SPDX-License-Identifier: Apache-2.0
"""Translated values (sections 10.4.6 and 20): names and numbers of the controller, other ones in the data plane."""

from __future__ import annotations

from pathlib import Path

import pytest

from frames import ethernet, mac
from offramp_base.errors import OfframpError
from offramp_base.p4rt.schema import v1
from offramp_p4.runtime.translation import MAX_STRINGS, Renumbered, StringTranslation, Translations, read_tables
from p4rt_lab import CPU_PORT, INSERT, Lab

FEATURES = Path(__file__).with_name("features.p4")


@pytest.fixture(params=["python", "native"])
def mapped(request):
    tables = {"sdn_port_t": {"Ethernet0": 1, "Ethernet4": 2, "cpu": CPU_PORT}, "vrf_t": {"70000": 1, "70001": 2}}
    opened = Lab(request.param, FEATURES, Translations(tables))
    yield opened
    opened.close()


def named(lab, vrf=70000, port=b"Ethernet0", to=b"Ethernet4"):
    """An entry of the table whose keys and parameters are translated."""
    table = lab.session.index.tables["named"]
    keys = {f.name: f.id for f in table.match_fields}
    entry = v1.TableEntry(table_id=table.preamble.id, priority=1)
    entry.match.add(field_id=keys["std.ingress_port"]).exact.value = b"\x01"
    entry.match.add(field_id=keys["vrf"]).exact.value = vrf.to_bytes(4, "big").lstrip(b"\0")
    if port:
        entry.match.add(field_id=keys["port"]).optional.value = port
    action = lab.session.index.actions["to_named"]
    entry.action.action.action_id = action.preamble.id
    entry.action.action.params.add(param_id=1, value=to)
    entry.match.sort(key=lambda m: m.field_id)
    return v1.Entity(table_entry=entry)


def test_names_reach_the_data_plane_and_come_back(mapped):
    written = named(mapped)
    mapped.write((INSERT, written))
    assert mapped.packets(1, ethernet()) == [(2, ethernet())]
    (entry,) = mapped.session.read_table("named")
    assert entry == written.table_entry


def test_packets_carry_names(mapped):
    punt = mapped.session.table_entry("flows", {"hdr.ethernet.dst": mac(1)}, "to", {"port": CPU_PORT})
    mapped.write((INSERT, punt))
    mapped.packets(2, ethernet())
    message = mapped.session.stream.next("packet", 5)
    assert [m.value for m in message.metadata] == [b"Ethernet4", b"\x01"]
    out = v1.PacketOut(payload=ethernet(dst=9))
    out.metadata.add(metadata_id=1, value=b"Ethernet4")
    out.metadata.add(metadata_id=2, value=b"\0")
    mapped.session.stream.send(packet=out)
    assert mapped.session.packet_in(0.3) is None
    assert mapped.sent == [(2, ethernet(dst=9))]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vrf": 5}, "table I.named, key vrf: 5 is translated to nothing"),
        ({"port": b"\xff"}, "table I.named, key port: expected a string in UTF-8"),
        ({"to": b""}, "action I.to_named, parameter port: an empty string is not a value"),
    ],
)
def test_golden_refusals(mapped, change, message):
    assert mapped.refusal((INSERT, named(mapped, **change))) == ("INVALID_ARGUMENT", message)


def test_without_a_table_names_get_the_lowest_free_numbers(plain_lab):
    plain_lab.write((INSERT, named(plain_lab, vrf=1, port=b"", to=b"first")))
    assert plain_lab.packets(1, ethernet()) == [(0, ethernet())]
    (entry,) = plain_lab.session.read_table("named")
    assert entry.action.action.params[0].value == b"first"


def test_numbers_of_the_data_plane_are_called_by_their_digits(plain_lab):
    punt = plain_lab.session.table_entry("flows", {"hdr.ethernet.dst": mac(1)}, "to", {"port": CPU_PORT})
    plain_lab.write((INSERT, punt))
    plain_lab.packets(3, ethernet())
    assert plain_lab.session.stream.next("packet", 5).metadata[0].value == b"3"


def test_names_outlive_the_pipeline(plain_lab):
    plain_lab.write((INSERT, named(plain_lab, vrf=1, port=b"one", to=b"two")))
    numbers = [plain_lab.device.environment.translations._named["sdn_port_t", 9]._numbers.copy()]
    plain_lab.session.push(b"", plain_lab.program.read_bytes())
    plain_lab.write((INSERT, named(plain_lab, vrf=1, port=b"two", to=b"one")))
    numbers.append(plain_lab.device.environment.translations._named["sdn_port_t", 9]._numbers)
    assert numbers[0] == numbers[1]


def test_named_is_one_to_one_under_any_order():
    codec = StringTranslation(4, {"a": 3})
    seen = {codec.decode(name, "x") for name in (b"b", b"7", b"a", b"c")}
    assert len(seen) == 4
    for value in range(16):
        name = codec.encode(value)
        assert codec.decode(name, "x") == value
    assert len({codec.encode(value) for value in range(16)}) == 16
    with pytest.raises(OfframpError, match="RESOURCE_EXHAUSTED: x: all 16 values have names"):
        codec.decode(b"one more", "x")
    assert StringTranslation(32, {})._limit == MAX_STRINGS


def test_renumbered_without_a_table_is_the_identity_that_fits():
    codec = Renumbered(32, 9, {})
    assert codec.decode(b"\x01\xff", "x") == 511
    with pytest.raises(OfframpError, match="x: 0x200 does not fit the 9 bits of the data plane"):
        codec.decode(b"\x02\0", "x")


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"sdn_port_t": {"a": 512}}, "translation of sdn_port_t: the value of 'a' does not fit 9 bits"),
        ({"sdn_port_t": {"a": 1, "b": 1}}, "translation of sdn_port_t: two names have one value"),
        ({"vrf_t": {"a": 1}}, "translation of vrf_t: the controller's values are numbers"),
    ],
)
def test_golden_errors_of_tables(tables, message):
    with pytest.raises(OfframpError) as failure:
        Lab("python", FEATURES, Translations(tables))
    assert message in str(failure.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", 'expected a table for each type, {"TYPE": {"VALUE": NUMBER}}'),
        ('{"t": {"a": "b"}}', 'expected a table for each type, {"TYPE": {"VALUE": NUMBER}}'),
        ("{", "expected JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
    ],
)
def test_golden_errors_of_the_file(tmp_path, text, message):
    path = tmp_path / "t.json"
    path.write_text(text)
    with pytest.raises(OfframpError) as failure:
        read_tables(path)
    assert str(failure.value) == f"{path}: {message}"
    with pytest.raises(OfframpError, match="No such file or directory"):
        read_tables(tmp_path / "none")
