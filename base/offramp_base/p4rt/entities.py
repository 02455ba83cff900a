# SPDX-License-Identifier: Apache-2.0
"""P4Runtime entities from names and numbers (P4Runtime specification, section 9)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from offramp_base.errors import OfframpError
from offramp_base.p4rt.p4info import P4InfoIndex, no_field
from offramp_base.p4rt.schema import config, v1
from offramp_base.p4rt.values import decode, encode, prefix_mask

MatchValue = int | tuple[int, int]
"""A value (exact, optional; a full mask, prefix or one-value range elsewhere) or ``(value, mask | prefix
length)`` or ``(low, high)``."""

_EXACT, _LPM, _TERNARY = config.MatchField.EXACT, config.MatchField.LPM, config.MatchField.TERNARY
_RANGE, _OPTIONAL = config.MatchField.RANGE, config.MatchField.OPTIONAL
_F = v1.FieldMatch


@dataclass(frozen=True, slots=True)
class _EntityField:
    """A match field or parameter; ``what`` is its name in messages, made once because there are many entries."""

    id: int
    width: int
    kind: int
    what: str


def field_match(field: _EntityField, value: MatchValue) -> Any | None:
    """One FieldMatch, or None where the value means "don't care" (section 9.1.1).

    Raises:
        OfframpError: the value does not fit the field.
    """
    what, width, kind = field.what, field.width, field.kind
    if kind in {_EXACT, _OPTIONAL}:
        if not isinstance(value, int):
            raise OfframpError(f"{what}: expected one number, got {value!r}")
        data = encode(value, width, what)
        if kind == _EXACT:
            return _F(field_id=field.id, exact=_F.Exact(value=data))
        return _F(field_id=field.id, optional=_F.Optional(value=data))
    if kind == _LPM:
        number, length = value if isinstance(value, tuple) else (value, width)
        if not 0 <= length <= width:
            raise OfframpError(f"{what}: prefix length {length} is outside 0..{width}")
        data = encode(number, width, what)
        if not length:
            return None
        if number & ~prefix_mask(length, width):
            data = encode(number & prefix_mask(length, width))
        return _F(field_id=field.id, lpm=_F.LPM(value=data, prefix_len=length))
    if kind == _TERNARY:
        number, mask = value if isinstance(value, tuple) else (value, (1 << width) - 1)
        encode(number, width, what)
        masked = _F.Ternary(value=encode(number & mask), mask=encode(mask, width, what))
        return _F(field_id=field.id, ternary=masked) if mask else None
    if kind == _RANGE:
        low, high = value if isinstance(value, tuple) else (value, value)
        if low > high:
            raise OfframpError(f"{what}: range {low}..{high} is empty")
        bounds = _F.Range(low=encode(low, width, what), high=encode(high, width, what))
        return _F(field_id=field.id, range=bounds) if (low, high) != (0, (1 << width) - 1) else None
    raise OfframpError(f"{what}: this match kind is not supported")


class EntityFactory:
    """Builds entities for one pipeline; every method takes control-plane names or aliases.

    All methods raise :class:`OfframpError` when a name is unknown or a value does not fit.
    """

    def __init__(self, index: P4InfoIndex) -> None:
        self.index = index
        self._keys: dict[str, tuple[int, dict[str, _EntityField]]] = {}
        self._params: dict[str, tuple[int, dict[str, _EntityField]]] = {}

    def table_entry(
        self,
        table: str,
        match: Mapping[str, MatchValue],
        action: str | None = None,
        params: Mapping[str, int] | None = None,
        priority: int = 0,
        metadata: bytes = b"",
    ) -> Any:
        """A table entry; ``action`` None leaves the action out (to delete or read)."""
        known = self._keys.get(table)
        if known is None:
            known = self._keys[table] = self._match_fields(table)
        identifier, fields = known
        entry = v1.TableEntry(table_id=identifier, priority=priority, metadata=metadata)
        for key, value in match.items():
            field = fields.get(key)
            if field is None:
                raise no_field(self.index.tables[table], fields, key, "key")
            part = field_match(field, value)
            if part is not None:
                entry.match.append(part)
        if action is not None:
            entry.action.action.CopyFrom(self.action(action, params or {}))
        return v1.Entity(table_entry=entry)

    def default_entry(self, table: str, action: str | None = None, params: Mapping[str, int] | None = None) -> Any:
        """The default entry of a table; ``action`` None resets it to the program's."""
        entry = v1.TableEntry(table_id=self.index.tables[table].preamble.id, is_default_action=True)
        if action is not None:
            entry.action.action.CopyFrom(self.action(action, params or {}))
        return v1.Entity(table_entry=entry)

    def action(self, action: str, params: Mapping[str, int]) -> Any:
        """An action with all of its parameters."""
        known = self._params.get(action)
        if known is None:
            known = self._params[action] = self._parameters(action)
        identifier, fields = known
        if params.keys() != fields.keys():
            for key in params:
                if key not in fields:
                    raise no_field(self.index.actions[action], fields, key, "parameter")
            missing = ", ".join(k for k in fields if k not in params)
            raise OfframpError(f"{self.index.actions[action].preamble.name}: parameter {missing} is missing")
        message = v1.Action(action_id=identifier)
        for key, field in fields.items():
            message.params.add(param_id=field.id, value=encode(params[key], field.width or None, field.what))
        return message

    def counter(self, counter: str, index: int | None = None, packets: int = 0, octets: int = 0) -> Any:
        """A cell of an indirect counter; ``index`` None is all cells."""
        entry = v1.CounterEntry(counter_id=self.index.counters[counter].preamble.id)
        if index is not None:
            entry.index.index = index
        entry.data.packet_count, entry.data.byte_count = packets, octets
        return v1.Entity(counter_entry=entry)

    def register(self, register: str, index: int | None = None, value: int | None = None) -> Any:
        """A cell of a register; ``index`` None is all cells, ``value`` None is for reading."""
        info = self.index.registers[register]
        entry = v1.RegisterEntry(register_id=info.preamble.id)
        if index is not None:
            entry.index.index = index
        if value is not None:
            entry.data.CopyFrom(register_data(info, value))
        return v1.Entity(register_entry=entry)

    def groups(self) -> Any:
        """All multicast groups, for reading."""
        return _pre(multicast_group_entry=v1.MulticastGroupEntry())

    def multicast_group(self, group: int, replicas: Iterable[tuple[int, int]]) -> Any:
        """A multicast group of ``(port, instance)`` replicas."""
        entry = v1.MulticastGroupEntry(multicast_group_id=group, replicas=_replicas(replicas))
        return _pre(multicast_group_entry=entry)

    def clone_session(
        self, session: int, replicas: Iterable[tuple[int, int]], class_of_service: int = 0, max_bytes: int = 0
    ) -> Any:
        """A clone session; ``max_bytes`` 0 does not truncate."""
        entry = v1.CloneSessionEntry(
            session_id=session,
            replicas=_replicas(replicas),
            class_of_service=class_of_service,
            packet_length_bytes=max_bytes,
        )
        return _pre(clone_session_entry=entry)

    def packet_metadata(self, header: str, values: Mapping[str, int]) -> list[Any]:
        """Metadata of a packet-out, one for each field of the controller header (section 16.1)."""
        if header not in self.index.controller_packet_metadata:
            if values:
                raise OfframpError(f"the pipeline has no controller header {header!r} to carry metadata")
            return []
        info = self.index.controller_packet_metadata[header]
        fields = {f.name: f for f in info.metadata}
        for key in values:
            if key not in fields:
                raise no_field(info, fields, key, "field")
        missing = ", ".join(k for k in fields if k not in values)
        if missing:
            raise OfframpError(f"{header}: metadata {missing} is missing")
        return [
            v1.PacketMetadata(metadata_id=f.id, value=encode(values[k], f.bitwidth, f"{header}: {k}"))
            for k, f in fields.items()
        ]

    def _match_fields(self, table: str) -> tuple[int, dict[str, _EntityField]]:
        info = self.index.tables[table]
        fields = {
            f.name: _EntityField(f.id, f.bitwidth, f.match_type, f"{info.preamble.name}: key {f.name}")
            for f in info.match_fields
        }
        return info.preamble.id, fields

    def _parameters(self, action: str) -> tuple[int, dict[str, _EntityField]]:
        info = self.index.actions[action]
        fields = {
            p.name: _EntityField(p.id, p.bitwidth, 0, f"{info.preamble.name}: parameter {p.name}") for p in info.params
        }
        return info.preamble.id, fields


def register_data(info: Any, value: int) -> Any:
    """P4Data for a register of type ``bit<W>`` or ``bool``.

    Raises:
        OfframpError: the value does not fit, or the register holds another type.
    """
    spec, name = info.type_spec, info.preamble.name
    if spec.WhichOneof("type_spec") == "bool":
        return v1.P4Data(bool=bool(value))
    if spec.bitstring.WhichOneof("type_spec") == "bit":
        return v1.P4Data(bitstring=encode(value, spec.bitstring.bit.bitwidth, f"register {name}"))
    raise OfframpError(f"register {name}: only registers of bit<W> and bool are supported")


def register_value(data: Any, name: str) -> int:
    """The number in a register cell.

    Raises:
        OfframpError: it holds no number.
    """
    kind = data.WhichOneof("data")
    if kind == "bitstring":
        return decode(data.bitstring, what=f"register {name}")
    if kind == "bool":
        return int(data.bool)
    raise OfframpError(f"register {name}: a cell of kind {kind} is not supported")


def _replicas(replicas: Iterable[tuple[int, int]]) -> list[Any]:
    # `port` came with P4Runtime 1.4; `egress_port`, now deprecated, is what every switch understands,
    # bmv2 included.
    return [v1.Replica(egress_port=port, instance=instance) for port, instance in replicas]


def _pre(**entry: Any) -> Any:
    return v1.Entity(packet_replication_engine_entry=v1.PacketReplicationEngineEntry(**entry))
