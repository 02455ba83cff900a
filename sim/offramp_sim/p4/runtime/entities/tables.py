"""TableEntry, DirectCounterEntry and DirectMeterEntry (sections 9.1, 9.3, 9.4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from offramp.switch.p4rt.schema import config, v1
from offramp.switch.p4rt.status import Code, RpcError
from offramp_sim.p4.runtime.entities.base import DELETE, INSERT, MODIFY, ById, invalid, modify_only
from offramp_sim.p4.runtime.entities.matching import ActionCodec, KeyCodec, ScopedActions
from offramp_sim.p4.runtime.entities.meters import configure, meter_config
from offramp_sim.p4.state import ActionData, Group, Member, MeterCell, TableEntry, TableState


class Table:
    """One table as the control plane sees it."""

    def __init__(self, info: Any, state: TableState, actions: ActionCodec, p4info: Any) -> None:
        self.info = info
        self.state = state
        self.id = info.preamble.id
        self.what = f"table {info.preamble.name}"
        self.keys = KeyCodec(info.match_fields, self.what)
        self.codec = actions
        self.actions = ScopedActions(info, actions, self.what)
        resources = set(info.direct_resource_ids)
        self.has_counter = any(c.preamble.id in resources for c in p4info.direct_counters)
        self.has_meter = any(m.preamble.id in resources for m in p4info.direct_meters)

    def priority(self, entry: Any) -> int:
        """The priority of an entry, checked against the match kinds."""
        if self.keys.needs_priority and entry.priority <= 0:
            raise invalid(f"{self.what}: priority must be above 0, got {entry.priority}")
        if not self.keys.needs_priority and entry.priority:
            raise invalid(f"{self.what}: exact and lpm entries have priority 0, got {entry.priority}")
        return int(entry.priority)

    def find(self, entry: Any) -> TableEntry:
        """The entry with the match and priority of a message.

        Raises:
            RpcError: NOT_FOUND.
        """
        found = self.state.get(self.keys.decode(entry.match), self.priority(entry))
        if found is None:
            raise RpcError(Code.NOT_FOUND, f"{self.what}: no entry with this match")
        return found

    def decode_action(self, action: Any) -> ActionData | Member | Group:
        """What an entry does."""
        kind = action.WhichOneof("type")
        if kind == "action_profile_action_set":
            raise RpcError(Code.UNIMPLEMENTED, f"{self.what}: one-shot action sets are not supported")
        if (kind == "action") == bool(self.info.implementation_id):
            expected = "a member or group of its profile" if self.info.implementation_id else "an action"
            raise invalid(f"{self.what}: expected {expected}, got {kind or 'none'}")
        if kind == "action":
            return self.actions.decode(action.action, default=False)
        if kind == "action_profile_member_id":
            return Member(action.action_profile_member_id)
        return Group(action.action_profile_group_id)

    def encode_action(self, action: ActionData | Member | Group) -> Any:
        """An entry's action as a TableAction."""
        match action:
            case Member(identifier):
                return v1.TableAction(action_profile_member_id=identifier)
            case Group(identifier):
                return v1.TableAction(action_profile_group_id=identifier)
            case _:
                return v1.TableAction(action=self.codec.encode(action))

    def key_message(self, entry: TableEntry) -> Any:
        """A TableEntry message with only the key of ``entry``."""
        return v1.TableEntry(table_id=self.id, match=self.keys.encode(entry.keys), priority=max(entry.priority, 0))


class TableHandler:
    """TableEntry: entries and default entries."""

    def __init__(self, tables: ById[Table]) -> None:
        self._tables = tables

    def write(self, kind: int, entry: Any) -> None:
        """Apply one update."""
        table = self._tables.get(entry.table_id)
        if entry.is_const:
            raise invalid(f"{table.what}: is_const cannot be written")
        if entry.is_default_action:
            self._write_default(table, kind, entry)
        elif kind == INSERT:
            self._insert(table, entry)
        elif kind == MODIFY:
            self._modify(table, entry)
        elif kind == DELETE:
            table.state.delete(table.keys.decode(entry.match), table.priority(entry))

    def _insert(self, table: Table, entry: Any) -> None:
        made = TableEntry(
            table.keys.decode(entry.match),
            table.decode_action(entry.action),
            table.priority(entry),
            metadata=_metadata(entry),
        )
        _check_timeout(table, entry)
        _write_direct(table, made, entry)
        table.state.insert(made)

    def _modify(self, table: Table, entry: Any) -> None:
        found = table.find(entry)
        _check_timeout(table, entry)
        if entry.HasField("action"):
            changed = TableEntry(
                found.keys, table.decode_action(entry.action), found.priority, metadata=_metadata(entry)
            )
            table.state.modify(changed)
        _write_direct(table, found, entry)

    def _write_default(self, table: Table, kind: int, entry: Any) -> None:
        if kind != MODIFY:
            raise invalid(f"{table.what}: the default entry can only be modified")
        if entry.match or entry.priority:
            raise invalid(f"{table.what}: the default entry has neither match nor priority")
        if table.info.const_default_action_id:
            raise RpcError(Code.PERMISSION_DENIED, f"{table.what}: the default action is const")
        if not entry.HasField("action"):
            table.state.set_default(None)
            return
        if entry.action.WhichOneof("type") != "action":
            raise invalid(f"{table.what}: the default entry needs an action")
        table.state.set_default(table.actions.decode(entry.action.action, default=True))

    def read(self, wanted: Any) -> Iterator[Any]:
        """Entries that match the filter."""
        for _, table in self._tables.select(wanted.table_id):
            if wanted.is_default_action:
                action = table.encode_action(table.state.default)
                entry = v1.TableEntry(table_id=table.id, is_default_action=True, action=action)
                yield v1.Entity(table_entry=entry)
                continue
            for found in _matching(table, wanted):
                yield v1.Entity(table_entry=self._message(table, found, wanted))

    def _message(self, table: Table, found: TableEntry, wanted: Any) -> Any:
        entry = table.key_message(found)
        entry.action.CopyFrom(table.encode_action(found.action))
        entry.metadata, entry.is_const = found.metadata, found.const
        if wanted.HasField("counter_data") and table.has_counter:
            entry.counter_data.packet_count = found.packets
            entry.counter_data.byte_count = found.bytes
        if wanted.HasField("meter_config") and table.has_meter and found.meter is not None:
            entry.meter_config.CopyFrom(meter_config(found.meter))
        return entry


class DirectCounterHandler:
    """DirectCounterEntry: the counter of each entry of a table."""

    def __init__(self, tables: ById[Table]) -> None:
        self._tables = tables

    def write(self, kind: int, entry: Any) -> None:
        """Set the counter of one entry."""
        table = self._tables.get(entry.table_entry.table_id)
        modify_only(kind, f"{table.what}: a direct counter")
        if not table.has_counter:
            raise invalid(f"{table.what} has no direct counter")
        found = table.find(entry.table_entry)
        if entry.HasField("data"):
            found.packets, found.bytes = entry.data.packet_count, entry.data.byte_count

    def read(self, wanted: Any) -> Iterator[Any]:
        """The counters of one entry, one table or all tables."""
        key = wanted.table_entry
        for _, table in self._tables.select(key.table_id):
            if not table.has_counter:
                if key.table_id:
                    raise invalid(f"{table.what} has no direct counter")
                continue
            for found in _matching(table, key):
                data = v1.CounterData(packet_count=found.packets, byte_count=found.bytes)
                made = v1.DirectCounterEntry(table_entry=table.key_message(found), data=data)
                yield v1.Entity(direct_counter_entry=made)


class DirectMeterHandler:
    """DirectMeterEntry: the meter of each entry of a table."""

    def __init__(self, tables: ById[Table]) -> None:
        self._tables = tables

    def write(self, kind: int, entry: Any) -> None:
        """Configure the meter of one entry; no configuration makes it green for ever."""
        table = self._tables.get(entry.table_entry.table_id)
        modify_only(kind, f"{table.what}: a direct meter")
        if not table.has_meter:
            raise invalid(f"{table.what} has no direct meter")
        found = table.find(entry.table_entry)
        found.meter = found.meter or MeterCell()
        configure(found.meter, entry, table.what)

    def read(self, wanted: Any) -> Iterator[Any]:
        """The meters of one entry, one table or all tables."""
        key = wanted.table_entry
        for _, table in self._tables.select(key.table_id):
            if not table.has_meter:
                if key.table_id:
                    raise invalid(f"{table.what} has no direct meter")
                continue
            for found in _matching(table, key):
                made = v1.DirectMeterEntry(table_entry=table.key_message(found))
                if found.meter is not None and found.meter.rates:
                    made.config.CopyFrom(meter_config(found.meter))
                yield v1.Entity(direct_meter_entry=made)


def _matching(table: Table, wanted: Any) -> Iterator[TableEntry]:
    """The entries that a TableEntry message selects (section 9.1.6)."""
    if wanted.match:
        found = table.state.get(table.keys.decode(wanted.match), wanted.priority)
        entries = iter([] if found is None else [found])
    else:
        entries = table.state.entries
    action = wanted.action.action.action_id
    name = table.codec.name(action) if action else ""
    metadata = _metadata(wanted)
    for entry in entries:
        if wanted.priority and entry.priority != wanted.priority:
            continue
        if metadata and entry.metadata != metadata:
            continue
        if name and not (isinstance(entry.action, ActionData) and entry.action.action == name):
            continue
        yield entry


def _metadata(entry: Any) -> bytes:
    # `controller_metadata` is the deprecated form, a number.
    if entry.metadata or not entry.controller_metadata:
        return bytes(entry.metadata)
    return int(entry.controller_metadata).to_bytes(8, "big")


def _check_timeout(table: Table, entry: Any) -> None:
    if entry.idle_timeout_ns and table.info.idle_timeout_behavior == config.Table.NO_TIMEOUT:
        raise invalid(f"{table.what} has no idle time-out")
    if entry.idle_timeout_ns:
        raise RpcError(Code.UNIMPLEMENTED, f"{table.what}: idle time-outs are not supported")


def _write_direct(table: Table, target: TableEntry, entry: Any) -> None:
    if entry.HasField("counter_data"):
        if not table.has_counter:
            raise invalid(f"{table.what} has no direct counter")
        target.packets, target.bytes = entry.counter_data.packet_count, entry.counter_data.byte_count
    if entry.HasField("meter_config"):
        if not table.has_meter:
            raise invalid(f"{table.what} has no direct meter")
        target.meter = target.meter or MeterCell()
        configure(target.meter, v1.DirectMeterEntry(config=entry.meter_config), table.what)
