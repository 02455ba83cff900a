# SPDX-License-Identifier: Apache-2.0
"""What a switch holds as plain names and numbers, and its P4Runtime entities, which are coded in batches.

A state has table entries whose keys are exact, default actions, multicast groups, and rates of cells of meters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from offramp_base.p4rt.p4info import P4InfoIndex
from offramp_base.p4rt.schema import v1
from offramp_base.p4rt.values import encode

Key = tuple[str, tuple[tuple[str, int], ...]]
"""Table and keys in order; without keys, the default action. Multicast groups are a table of that name, and so is each
meter."""
Value = tuple[str, tuple[tuple[str, int], ...]]
"""Action and parameters; for a group its ports by replica, for a cell of a meter its rate."""
State = dict[Key, Value]

GROUP: Final = "multicast group"
REPLICATE: Final = "replicate"
RATE: Final = "rate"
INDEX: Final = "index"
BYTES_PER_S: Final = "bytes_per_s"
BURST: Final = "burst"

_Fields = dict[str, tuple[int, int]]
"""Id and width of each key or parameter, by its name."""


def group_key(group: int) -> Key:
    """The key of a multicast group."""
    return GROUP, (("id", group),)


class StateCodec:
    """Codes states of one pipeline.

    Args:
        index: names and ids of the pipeline.
    """

    def __init__(self, index: P4InfoIndex) -> None:
        self._index, info = index, index.message
        self._tables = {t.preamble.name: (t.preamble.id, _fields(t.match_fields)) for t in info.tables}
        self._actions = {a.preamble.name: (a.preamble.id, _fields(a.params)) for a in info.actions}
        self._meters = {m.preamble.name: m.preamble.id for m in info.meters}
        self._meter_names = {number: name for name, number in self._meters.items()}
        tables, actions = self._tables.items(), self._actions.items()
        self._table_names = {number: (name, _names(fields)) for name, (number, fields) in tables}
        self._action_names = {number: (name, _names(fields)) for name, (number, fields) in actions}

    def filters(self, tables: Iterable[str], defaults: Iterable[str] = (), *, groups: bool = False) -> list[Any]:
        """Entities to read all entries of tables, default actions of tables, and all multicast groups."""
        numbers = [(self._tables[table][0], False) for table in tables]
        numbers += [(self._tables[table][0], True) for table in defaults]
        entries = (v1.TableEntry(table_id=number, is_default_action=default) for number, default in numbers)
        return [v1.Entity(table_entry=entry) for entry in entries] + ([_group(0)] if groups else [])

    def cells(self, cells: Iterable[Key]) -> list[Any]:
        """Entities to read cells of meters."""
        return [self._entity(cell, None) for cell in cells]

    def updates(self, after: Mapping[Key, Value], before: Mapping[Key, Value]) -> list[Any]:
        """``p4.v1.Update`` messages from one state to another; those of ``before`` first.

        Raises:
            OutOfRangeError: a number does not fit its key or parameter.
            OfframpError: the pipeline does not have a table or an action.
        """
        insert, modify, delete = v1.Update.INSERT, v1.Update.MODIFY, v1.Update.DELETE
        updates = []
        for key in [*before, *(key for key in after if key not in before)]:
            new, old = after.get(key), before.get(key)
            if new == old:
                continue
            operation = delete if new is None else insert if old is None else modify
            if not key[1] or key[0] in self._meters:
                operation = modify  # default actions and cells always exist
            updates.append(v1.Update(type=operation, entity=self._entity(key, new)))
        return updates

    def state(self, entities: Iterable[Any]) -> State:
        """The state that entities of a switch are; cells of meters without a rate are left out."""
        state: State = {}
        for entity in entities:
            entry_type = entity.WhichOneof("entity")
            if entry_type == "packet_replication_engine_entry":
                group = entity.packet_replication_engine_entry.multicast_group_entry
                replicas = sorted((r.instance, r.egress_port or int.from_bytes(r.port, "big")) for r in group.replicas)
                ports = tuple((f"replica {instance}", port) for instance, port in replicas)  # bmv2 reverses them
                state[group_key(group.multicast_group_id)] = REPLICATE, ports
            elif entry_type == "meter_entry":
                cell, config = entity.meter_entry, entity.meter_entry.config
                if config.cir:
                    rate = (BYTES_PER_S, config.cir), (BURST, config.cburst)
                    state[self._meter_names[cell.meter_id], ((INDEX, cell.index.index),)] = RATE, rate
            else:
                entry = entity.table_entry
                table, names = self._table_names[entry.table_id]
                values = {match.field_id: int.from_bytes(match.exact.value, "big") for match in entry.match}
                keys = () if entry.is_default_action else tuple((names[field], values[field]) for field in names)
                action, names = self._action_names[entry.action.action.action_id]
                params = entry.action.action.params
                state[table, keys] = action, tuple((names[p.param_id], int.from_bytes(p.value, "big")) for p in params)
        return state

    def _entity(self, key: Key, value: Value | None) -> Any:
        table, keys = key
        if table == GROUP:
            return _group(keys[0][1], () if value is None else value[1])
        if table in self._meters:
            cell = v1.MeterEntry(meter_id=self._meters[table], index=v1.Index(index=keys[0][1]))
            if value is not None:
                (_, rate), (_, burst) = value[1]
                cell.config.cir = cell.config.pir = rate
                cell.config.cburst = cell.config.pburst = burst
            return v1.Entity(meter_entry=cell)
        if table not in self._tables:
            self._index.tables[table]  # raises the error that names the nearest table
        number, fields = self._tables[table]
        coded = _coded(table, keys, fields)
        matches = [v1.FieldMatch(field_id=field, exact=v1.FieldMatch.Exact(value=data)) for field, data in coded]
        entry = v1.TableEntry(table_id=number, match=matches, is_default_action=not keys)
        if value is not None:
            if value[0] not in self._actions:
                self._index.actions[value[0]]
            number, fields = self._actions[value[0]]
            params = [v1.Action.Param(param_id=param, value=data) for param, data in _coded(value[0], value[1], fields)]
            entry.action.action.CopyFrom(v1.Action(action_id=number, params=params))
        return v1.Entity(table_entry=entry)


def _fields(described: Iterable[Any]) -> _Fields:
    return {field.name: (field.id, field.bitwidth) for field in described}


def _names(fields: _Fields) -> dict[int, str]:
    return {number: name for name, (number, _) in fields.items()}


def _coded(owner: str, numbers: Iterable[tuple[str, int]], fields: _Fields) -> list[tuple[int, bytes]]:
    """Id and canonical binary string of each number (P4Runtime specification, section 8.4)."""
    coded = []
    for name, number in numbers:
        field, width = fields[name]
        if number < 0 or number >> width:
            encode(number, width, f"{owner}: {name}")  # raises
        coded.append((field, number.to_bytes((number.bit_length() + 7) // 8 or 1, "big")))
    return coded


def _group(group: int, ports: Iterable[tuple[str, int]] = ()) -> Any:
    replicas = [v1.Replica(egress_port=port, instance=instance) for instance, (_, port) in enumerate(ports, 1)]
    entry = v1.MulticastGroupEntry(multicast_group_id=group, replicas=replicas)
    return v1.Entity(packet_replication_engine_entry=v1.PacketReplicationEngineEntry(multicast_group_entry=entry))
