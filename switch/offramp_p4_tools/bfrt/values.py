# SPDX-License-Identifier: Apache-2.0
"""Keys and data of entries between BF-RT messages and Python."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from offramp_base.bfrt.schema import bf
from offramp_base.p4rt.status import Code, RpcError
from offramp_p4.runtime.entities.base import invalid
from offramp_p4.state.match import ANY, Exact, Lpm, Match, Optional, Range, Ternary
from offramp_p4_tools.bfrt.fields import ActionSpec, BfrtField, TableSpec

Value = int | float | str | bool | list[Any]
KeyPart = Match | str
Key = tuple[KeyPart, ...]
"""One part for each field of the table's key; text where the field is text."""


@dataclass(frozen=True)
class EntryData:
    """The data of an entry, by names of fields; a register has a list with a value for each pipe."""

    action: ActionSpec | None = None
    values: Mapping[str, Value] = field(default_factory=dict)


def decode_key(spec: TableSpec, message: Any) -> Key:
    """The key of an entry; fields that are missing match everything, or 0.

    Raises:
        RpcError: a field is unknown, double, of another match type, or does not fit.
    """
    by_id = {f.id: f for f in spec.key}
    parts: dict[int, KeyPart] = {}
    for part in message.fields:
        known = by_id.get(part.field_id)
        if known is None:
            raise invalid(f"table {spec.name}: no key field has id {part.field_id}")
        if part.field_id in parts:
            raise invalid(f"table {spec.name}: key {known.name} is given twice")
        parts[part.field_id] = _match(spec, known, part)
    missing = next((f for f in spec.key if f.mandatory and f.id not in parts), None)
    if missing is not None:
        raise invalid(f"table {spec.name}: key {missing.name} is missing")
    return tuple(parts.get(f.id, _nothing(f)) for f in spec.key)


def _nothing(known: BfrtField) -> KeyPart:
    return "" if known.kind == "string" else Exact(0) if known.match in {"Exact", "ATCAM"} else ANY


def _match(spec: TableSpec, known: BfrtField, part: Any) -> KeyPart:
    what = f"table {spec.name}: key {known.name}"
    kind = part.WhichOneof("match_type")
    wanted = "exact" if known.match == "ATCAM" else known.match.lower()
    if kind is None and known.mandatory:
        raise invalid(f"{what}: no value")
    if kind is None:
        return _nothing(known)
    if kind != wanted:
        raise invalid(f"{what}: {kind} match given, expected {wanted}")
    match kind:
        case "exact" if known.kind == "string":
            return _text(part.exact.value, what)
        case "exact":
            return Exact(number(part.exact.value, known, what))
        case "ternary":
            return Ternary(number(part.ternary.value, known, what), number(part.ternary.mask, known, what))
        case "lpm":
            return Lpm(number(part.lpm.value, known, what), part.lpm.prefix_len)
        case "range":
            return Range(number(part.range.low, known, what), number(part.range.high, known, what))
        case _:
            return Optional(number(part.optional.value, known, what)) if part.optional.is_valid else ANY


def _text(octets: bytes, what: str) -> str:
    try:
        return octets.decode()
    except UnicodeDecodeError:
        raise invalid(f"{what}: it is not text") from None


def number(octets: bytes, known: BfrtField, what: str) -> int:
    """A number as BF-RT sends it, big-endian in the field's bytes.

    Raises:
        RpcError: it has more bytes, or more bits than the field.
    """
    value = int.from_bytes(octets, "big")
    if len(octets) > max(known.octets, 1):
        raise invalid(f"{what}: {len(octets)} bytes given, it has {known.octets}")
    if value >> known.width:
        raise invalid(f"{what}: {value:#x} does not fit {known.width} bits")
    return value


def encode_key(spec: TableSpec, key: Key) -> Any:
    """A TableKey message."""
    message = bf.TableKey()
    for known, part in zip(spec.key, key, strict=True):
        one = message.fields.add(field_id=known.id)
        if isinstance(part, str):
            one.exact.value = part.encode()
            continue
        _encode_match(one, known, part)
    return message


def _encode_match(one: Any, known: BfrtField, part: Match) -> None:
    size, top = known.octets, (1 << known.width) - 1

    def octets(value: int) -> bytes:
        return value.to_bytes(size, "big")

    match known.match:
        case "Ternary":
            value, mask = (part.value, part.mask) if isinstance(part, Ternary) else (0, 0)
            one.ternary.value, one.ternary.mask = octets(value), octets(mask)
        case "LPM":
            value, length = (part.value, part.prefix_len) if isinstance(part, Lpm) else (0, 0)
            one.lpm.value, one.lpm.prefix_len = octets(value), length
        case "Range":
            low, high = (part.low, part.high) if isinstance(part, Range) else (0, top)
            one.range.low, one.range.high = octets(low), octets(high)
        case "Optional":
            value = part.value if isinstance(part, Optional) else 0
            one.optional.value, one.optional.is_valid = octets(value), isinstance(part, Optional)
        case _:
            one.exact.value = octets(part.value if isinstance(part, Exact) else 0)


def decode_data(spec: TableSpec, message: Any) -> EntryData:
    """The data that a message gives an entry.

    Raises:
        RpcError: the action or a field is unknown, double, read-only, of another type, or does not fit.
    """
    action = action_of(spec, message.action_id)
    known = spec.fields(action)
    values: dict[str, Value] = {}
    for part in message.fields:
        field = known.get(part.field_id)
        if field is None:
            raise invalid(f"table {spec.name}: no field of its data has id {part.field_id}")
        if field.name in values:
            raise invalid(f"table {spec.name}: {field.name} is given twice")
        if field.read_only:
            raise invalid(f"table {spec.name}: {field.name} can only be read")
        values[field.name] = decode_value(field, part, f"table {spec.name}: {field.name}")
    return EntryData(action, values)


def wanted_fields(spec: TableSpec, message: Any) -> frozenset[str] | None:
    """The names of the fields that a read asks for; None: all.

    Raises:
        RpcError: one is unknown.
    """
    action = action_of(spec, message.action_id)
    known = spec.fields(action)
    unknown = next((p.field_id for p in message.fields if p.field_id not in known), None)
    if unknown is not None:
        raise invalid(f"table {spec.name}: no field of its data has id {unknown}")
    return frozenset(known[p.field_id].name for p in message.fields) or None


def action_of(spec: TableSpec, identifier: int) -> ActionSpec | None:
    """The action with an id; None for 0.

    Raises:
        RpcError: the table has none with it.
    """
    action = spec.action(identifier) if identifier else None
    if identifier and action is None:
        raise invalid(f"table {spec.name}: no action has id {identifier}")
    return action


_ARRAYS = {"bool": "bool_arr_val", "string": "str_arr_val"}


def decode_value(known: BfrtField, part: Any, what: str) -> Value:
    """One field of data.

    Raises:
        RpcError: it is of another type, or does not fit.
    """
    how = part.WhichOneof("value")
    if known.repeated:
        expected = _ARRAYS.get(known.kind, "int_arr_val")
        if how == "stream" and (known.kind, known.width) == ("bytes", 8):  # as the SDE's client sends a list of bytes
            return list(part.stream)
        if how not in {expected, None}:
            raise invalid(f"{what}: {how} given, expected {expected}")
        numbers = list(getattr(part, expected).val)
        if expected == "int_arr_val" and any(n >> known.width for n in numbers):
            raise invalid(f"{what}: {max(numbers)} does not fit {known.width} bits")
        return numbers
    expected = {"bool": "bool_val", "string": "str_val", "float": "float_val"}.get(known.kind, "stream")
    if how not in {expected, None}:
        raise invalid(f"{what}: {how} given, expected {expected}")
    if expected == "stream":
        value = number(part.stream, known, what)
        return value - (1 << known.width) if known.kind[0] == "i" and value >> known.width - 1 else value
    value = getattr(part, expected)
    if known.choices and value not in known.choices:
        raise invalid(f"{what}: {value[:40]!r}; expected {', '.join(known.choices)}")
    if isinstance(value, float) and not math.isfinite(value):
        raise invalid(f"{what}: {value} is not a number")
    return value  # type: ignore[no-any-return]


def encode_data(spec: TableSpec, data: EntryData, wanted: frozenset[str] | None = None) -> Any:
    """A TableData message with the fields that are ``wanted``, None for all."""
    message = bf.TableData(action_id=0 if data.action is None else data.action.id)
    for known in spec.fields(data.action).values():
        if known.name in data.values and (wanted is None or known.name in wanted):
            encode_value(message.fields, known, data.values[known.name])
    return message


def encode_value(fields: Any, known: BfrtField, value: Value) -> None:
    """Add one field of data; a register adds one for each pipe."""
    if known.is_register and isinstance(value, list):
        for one in value:
            fields.add(field_id=known.id).stream = one.to_bytes(known.octets, "big")
        return
    field = fields.add(field_id=known.id)
    if isinstance(value, list):
        array = getattr(field, _ARRAYS.get(known.kind, "int_arr_val"))
        array.SetInParent()
        array.val.extend(value)
    elif known.kind == "bool":
        field.bool_val = bool(value)
    elif known.kind == "float":
        field.float_val = float(value)
    elif isinstance(value, str):
        field.str_val = value
    else:
        field.stream = (int(value) & (1 << known.width) - 1).to_bytes(known.octets, "big")


def numbers(key: Iterable[KeyPart]) -> tuple[int, ...]:
    """The values of an exact key."""
    return tuple(part.value for part in key if isinstance(part, Exact))


def only(key: Key) -> int:
    """The value of an exact key of one field."""
    (number,) = numbers(key)
    return number


def not_found(spec: TableSpec) -> RpcError:
    """There is no entry with a key."""
    return RpcError(Code.NOT_FOUND, f"table {spec.name}: no entry with this key")


def exists(spec: TableSpec) -> RpcError:
    """There is an entry with a key already."""
    return RpcError(Code.ALREADY_EXISTS, f"table {spec.name}: an entry with this key exists")
