# SPDX-License-Identifier: Apache-2.0
"""Values on the wire: cells of registers, headers of packet-in and packet-out, full prefixes. By hand."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from offramp_base.errors import OfframpError
from offramp_base.p4rt.schema import v1
from offramp_base.p4rt.status import Code, RpcError
from offramp_base.p4rt.values import decode, encode
from offramp_p4.runtime.entities.arrays import CounterHandler, P4RuntimeRegister, RegisterHandler
from offramp_p4.runtime.entities.base import ById
from offramp_p4.runtime.entities.matching import _lpm
from offramp_p4.runtime.packet_io import ControllerHeader
from offramp_p4.state.match import Lpm


class Cells:
    """A register's state."""

    def __init__(self, size: int, width: int) -> None:
        self.name, self.size, self.width = "r", size, SimpleNamespace(width=width)
        self.values = [0] * size

    def read(self, index: int) -> int:
        return self.values[index]

    def write(self, index: int, value: int) -> None:
        self.values[index] = value


def spec(kind: str, width: int = 0) -> SimpleNamespace:
    """A P4DataTypeSpec."""
    bits = SimpleNamespace(WhichOneof=lambda _: kind)
    which = kind if kind in ("bool", "struct", "serializable_enum") else "bitstring"
    return SimpleNamespace(WhichOneof=lambda _: which, bitstring=bits, struct=SimpleNamespace(name="s"), width=width)


@pytest.mark.parametrize(
    ("kind", "value", "data"),
    [
        ("bit", 0, v1.P4Data(bitstring=b"\0")),
        ("bit", 0xABC, v1.P4Data(bitstring=b"\x0a\xbc")),
        ("int", 0x7FF, v1.P4Data(bitstring=b"\x07\xff")),
        ("int", 0xFFF, v1.P4Data(bitstring=b"\xff")),
        ("int", 0x800, v1.P4Data(bitstring=b"\xf8\x00")),
        ("serializable_enum", 5, v1.P4Data(enum_value=b"\5")),
    ],
)
def test_a_cell_travels_as_its_type_says(kind: str, value: int, data: v1.P4Data) -> None:
    register = P4RuntimeRegister(Cells(4, 12), spec(kind), None)
    assert register.decode(data) == value
    assert register.encode(value) == data
    with pytest.raises(RpcError, match="register r: expected data of kind"):
        register.decode(v1.P4Data(bool=True))


def test_booleans_and_structs() -> None:
    flag = P4RuntimeRegister(Cells(1, 1), spec("bool"), None)
    assert [flag.encode(value) for value in (0, 1)] == [v1.P4Data(bool=False), v1.P4Data(bool=True)]
    assert flag.decode(v1.P4Data(bool=True)) == 1
    with pytest.raises(RpcError, match="expected data of kind bool, got bitstring"):
        flag.decode(v1.P4Data(bitstring=b"\1"))
    members = [SimpleNamespace(type_spec=spec("bit")) for _ in range(3)]
    types = SimpleNamespace(structs={"s": SimpleNamespace(members=members)})
    triple = P4RuntimeRegister(Cells(1, 24), spec("struct"), types)
    data = v1.P4Data(struct=v1.P4StructLike(members=[v1.P4Data(bitstring=bytes([n])) for n in (1, 2, 255)]))
    assert triple.decode(data) == 0x0102FF
    assert triple.encode(0x0102FF) == data
    for wrong in (v1.P4Data(bitstring=b"\1"), v1.P4Data(struct=v1.P4StructLike(members=data.struct.members[:2]))):
        with pytest.raises(RpcError, match="register r: expected a struct of 3 members"):
            triple.decode(wrong)


def test_one_cell_or_all_are_read_and_written() -> None:
    cells = Cells(3, 8)
    handler = RegisterHandler(ById("register", {7: P4RuntimeRegister(cells, spec("bit"), None)}))
    handler.write(v1.Update.MODIFY, v1.RegisterEntry(register_id=7, data=v1.P4Data(bitstring=b"\5")))
    assert cells.values == [5, 5, 5]
    index = v1.Index(index=1)
    handler.write(v1.Update.MODIFY, v1.RegisterEntry(register_id=7, index=index, data=v1.P4Data(bitstring=b"\6")))
    entries = [e.register_entry for e in handler.read(v1.RegisterEntry(register_id=7))]
    assert [(e.register_id, e.index.index, e.data.bitstring) for e in entries] == [
        (7, 0, b"\5"), (7, 1, b"\6"), (7, 2, b"\5"),
    ]  # fmt: skip
    (one,) = handler.read(v1.RegisterEntry(register_id=7, index=index))
    assert one.register_entry.data.bitstring == b"\6"
    state = SimpleNamespace(name="c", size=2, packets=[1, 2], bytes=[3, 4], write=None)
    counters = CounterHandler(ById("counter", {9: state}))
    read = [e.counter_entry for e in counters.read(v1.CounterEntry(counter_id=9))]
    assert [(e.index.index, e.data.packet_count, e.data.byte_count) for e in read] == [(0, 1, 3), (1, 2, 4)]


def header(*widths: int) -> ControllerHeader:
    """Fields with ids from 1."""
    fields = [SimpleNamespace(id=at, name=f"f{at}", bitwidth=width) for at, width in enumerate(widths, 1)]
    info = SimpleNamespace(
        controller_packet_metadata=[SimpleNamespace(preamble=SimpleNamespace(name="packet_in"), metadata=fields)]
    )

    def codec(field: SimpleNamespace) -> SimpleNamespace:
        return SimpleNamespace(decode=lambda raw, what: decode(raw, field.bitwidth, what), encode=encode)

    return ControllerHeader(info, "packet_in", codec, lambda field: field.bitwidth)


def metadata(*values: int) -> list[v1.PacketMetadata]:
    return [v1.PacketMetadata(metadata_id=at, value=encode(value)) for at, value in enumerate(values, 1)]


@pytest.mark.parametrize(
    ("widths", "values", "raw"),
    [
        ((9, 7), (0x1FF, 0), b"\xff\x80"),
        ((9,), (0x101,), b"\x80\x80"),
        ((9, 2, 16), (1, 3, 0xBEEF), b"\x00\xf7\xdd\xe0"),
        ((8,), (0,), b"\0"),
        ((), (), b""),
    ],
)
def test_fields_are_packed_from_the_first_bit_on(widths: tuple[int, ...], values: tuple[int, ...], raw: bytes) -> None:
    packer = header(*widths)
    assert packer.octets == len(raw)
    assert packer.pack(metadata(*values)) == raw
    assert packer.pack(metadata(*values)[::-1]) == raw
    assert packer.unpack(raw + b"payload") == (metadata(*values), b"payload")
    if raw:
        assert packer.unpack(raw[:-1]) is None


def test_wrong_metadata_is_refused() -> None:
    packer = header(9, 7)
    for given, line in (
        (metadata(1), "packet_in: metadata f2 is missing"),
        ([*metadata(1, 2), *metadata(1)], "packet_in: a metadata field is given twice"),
        (metadata(1, 2, 3), "packet_in has no metadata field with id 3"),
        (metadata(512, 2), "packet_in: metadata f1"),
    ):
        with pytest.raises(OfframpError, match=line):
            packer.pack(given)


@pytest.mark.parametrize("length", [1, 15, 16])
def test_a_prefix_has_one_bit_to_all(length: int) -> None:
    value = (0xFFFF << (16 - length)) & 0xFFFF
    match = SimpleNamespace(value=encode(value), prefix_len=length)
    assert _lpm(match, 16, "key") == Lpm(value, length)


@pytest.mark.parametrize("length", [0, 17, -1])
def test_other_prefixes_are_refused(length: int) -> None:
    with pytest.raises(RpcError, match=f"key: prefix length {length} is outside 1..16"):
        _lpm(SimpleNamespace(value=b"\0", prefix_len=length), 16, "key")


def test_actions_stay_where_the_program_wants_them(plain_lab) -> None:
    """``@tableonly`` and ``@defaultonly``, in tables and for the members of a profile."""
    lab, make = plain_lab, plain_lab.session.make
    text = lab.program.read_text().replace(
        "actions = { to; flood; learn; mirror; drop; NoAction; }",
        "actions = { @tableonly to; flood; learn; mirror; @defaultonly drop; NoAction; }",
    )
    text = text.replace(
        "actions = { to; NoAction; }\n        implementation = hops;",
        "actions = { @tableonly to; @defaultonly NoAction; }\n        implementation = hops;",
    )
    lab.session.push(b"", text.encode())
    key = {"hdr.ethernet.dst": 5}
    entry, wrong = (lab.session.table_entry("flows", key, *a) for a in (("to", {"port": 1}), ("drop",)))
    assert lab.refusal((v1.Update.INSERT, wrong)) == (
        "PERMISSION_DENIED", "table I.flows: action I.drop is not allowed in entries",
    )  # fmt: skip
    lab.write((v1.Update.INSERT, entry))
    assert lab.refusal((v1.Update.MODIFY, make.default_entry("flows", "to", {"port": 1}))) == (
        "PERMISSION_DENIED", "table I.flows: action I.to is not allowed as default action",
    )  # fmt: skip
    lab.write((v1.Update.MODIFY, make.default_entry("flows", "drop")))
    hops = lab.session.index.action_profiles["hops"].preamble.id
    member = v1.ActionProfileMember(action_profile_id=hops, member_id=1, action=make.action("to", {"port": 4}))
    lab.write((v1.Update.INSERT, v1.Entity(action_profile_member=member)))
    idle = v1.ActionProfileMember(action_profile_id=hops, member_id=2, action=make.action("NoAction", {}))
    assert lab.refusal((v1.Update.INSERT, v1.Entity(action_profile_member=idle)))[0] == "PERMISSION_DENIED"


def test_counters_by_colour_are_read_of_entries_with_a_direct_meter_alone(plain_lab) -> None:
    wanted = v1.TableEntry()
    wanted.meter_counter_data.SetInParent()
    read = [each.table_entry for each in plain_lab.device.pipeline.handler("table_entry").read(wanted)]
    handlers = plain_lab.device.pipeline.handler("direct_meter_entry")._tables
    for entry in read:
        metered = handlers.get(entry.table_id).has_meter and not entry.is_default_action
        assert entry.HasField("meter_counter_data") == metered
    assert read


def test_a_set_that_does_not_fit_leaves_nothing_behind(plain_lab) -> None:
    lab = plain_lab

    def shot(number: int, members: int):
        entity = lab.session.table_entry("spread", {"hdr.ethernet.type": number})
        for port in range(members):
            action = lab.session.make.action("to", {"port": port + 1})
            entity.table_entry.action.action_profile_action_set.action_profile_actions.add(action=action, weight=1)
        return entity

    fitting, code = 0, ""
    while not (code := _outcome(lab, shot(fitting + 1, 3))):
        fitting += 1
    assert fitting == 64 // 3  # the selector holds 64 members: one is left
    assert code == "RESOURCE_EXHAUSTED"
    assert _outcome(lab, shot(1000, 2)) == "RESOURCE_EXHAUSTED"
    assert not _outcome(lab, shot(1000, 1))


def _outcome(lab, entity) -> str:
    """The code of a refusal; empty where there is none."""
    try:
        lab.write((v1.Update.INSERT, entity))
    except RpcError as error:
        return Code(error.errors[0].canonical_code).name if error.errors else error.code.name
    return ""
