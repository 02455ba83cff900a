# SPDX-License-Identifier: Apache-2.0
"""TableEntry: entries and default entries (section 9.1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from offramp_base.p4rt.schema import v1
from offramp_base.p4rt.status import Code, RpcError
from offramp_p4.runtime.entities.base import DELETE, INSERT, MODIFY, ById, invalid
from offramp_p4.runtime.entities.idle import IdleTimers
from offramp_p4.runtime.entities.meters import Rates, clears_colours, rates
from offramp_p4.runtime.entities.table import P4RuntimeTable, metadata
from offramp_p4.state import MeterCell, StateError, TableEntry

__all__ = ["P4RuntimeTable", "TableHandler"]


class TableHandler:
    """TableEntry; ``timers`` watch the entries with a time-out."""

    def __init__(self, tables: ById[P4RuntimeTable], timers: IdleTimers) -> None:
        self._tables = tables
        self._timers = timers

    def write(self, kind: int, entry: Any) -> None:
        """Apply one update."""
        table = self._tables.get(entry.table_id)
        if kind == DELETE and not entry.is_default_action:
            self._delete(table, entry)
            return
        if entry.is_const:
            raise invalid(f"{table.what}: is_const cannot be written")
        if entry.HasField("time_since_last_hit"):
            raise invalid(f"{table.what}: time_since_last_hit cannot be written")
        if entry.is_default_action:
            _write_default(table, kind, entry)
        elif kind == INSERT:
            self._insert(table, entry)
        elif kind == MODIFY:
            self._modify(table, entry)

    def _insert(self, table: P4RuntimeTable, entry: Any) -> None:
        if not table.state.keys:
            raise invalid(f"{table.what} has no key, so it has no entries but the default one")
        _check_timeout(table, entry)
        keys, priority, new_rates = table.keys.decode(entry.match), table.priority(entry), _check_direct(table, entry)
        added = TableEntry(keys, table.claim_action(entry.action), priority, metadata=metadata(entry))
        added.idle_timeout_ns, added.last_hit_us = entry.idle_timeout_ns, table.clock() // 1000
        _write_direct(added, entry, new_rates)
        try:
            table.state.insert(added)
        except StateError:
            table.release_action(added.action)
            raise
        self._timers.arm(table, added)

    def _modify(self, table: P4RuntimeTable, entry: Any) -> None:
        known, new_rates = table.find(entry), _check_direct(table, entry)
        _check_timeout(table, entry)
        if entry.HasField("action"):
            old = known.action
            if table.info.is_const_table or known.const:
                raise RpcError(Code.PERMISSION_DENIED, f"{table.what}: the entry is const")
            changed = TableEntry(known.keys, table.claim_action(entry.action), known.priority, metadata=metadata(entry))
            changed.idle_timeout_ns = entry.idle_timeout_ns
            try:
                table.state.modify(changed)
            except StateError:
                table.release_action(changed.action)
                raise
            table.release_action(old)
            self._timers.arm(table, known)
        _write_direct(known, entry, new_rates)

    def _delete(self, table: P4RuntimeTable, entry: Any) -> None:
        keys, priority = table.keys.decode(entry.match), table.priority(entry)
        known = table.state.get(keys, priority)
        table.state.delete(keys, priority)
        assert known is not None, "deleting what is not there is an error of the state"
        table.release_action(known.action)
        self._timers.disarm(known)

    def read(self, wanted: Any) -> Iterator[Any]:
        """Entries that match the filter."""
        timed = wanted.HasField("time_since_last_hit")
        for _, table in self._tables.select(wanted.table_id):
            if timed and wanted.table_id and not table.has_timeout:
                raise invalid(f"{table.what} has no idle time-out")
            for match in table.matching(wanted):
                yield v1.Entity(table_entry=table.message(match, wanted))


def _write_default(table: P4RuntimeTable, kind: int, entry: Any) -> None:
    if kind != MODIFY:
        raise invalid(f"{table.what}: the default entry can only be modified")
    table.check_default(entry)
    if table.info.const_default_action_id:
        raise RpcError(Code.PERMISSION_DENIED, f"{table.what}: the default action is const")
    if table.has_meter and (entry.HasField("meter_config") or entry.HasField("meter_counter_data")):
        raise RpcError(Code.UNIMPLEMENTED, f"{table.what}: v1model runs no direct meter on a miss")
    new_rates = _check_direct(table, entry)
    if not entry.HasField("action"):
        table.state.set_default(None)
        return
    if entry.action.WhichOneof("type") != "action":
        raise invalid(f"{table.what}: the default entry needs an action")
    if table.info.implementation_id:
        raise invalid(f"{table.what}: with an action profile the default action is always NoAction")
    table.state.set_default(table.actions.decode(entry.action.action, default=True))
    table.state.default_entry.metadata = metadata(entry)
    _write_direct(table.state.default_entry, entry, new_rates)


def _check_timeout(table: P4RuntimeTable, entry: Any) -> None:
    if entry.idle_timeout_ns and not table.has_timeout:
        raise invalid(f"{table.what} has no idle time-out")
    if entry.idle_timeout_ns < 0:
        raise invalid(f"{table.what}: the idle time-out {entry.idle_timeout_ns} is negative")


def _check_direct(table: P4RuntimeTable, entry: Any) -> Rates:
    """The rates of the direct meter; whether the table has the resources of a message.

    Raises:
        RpcError: it has not.
    """
    if entry.HasField("counter_data") and not table.has_counter:
        raise invalid(f"{table.what} has no direct counter")
    if (entry.HasField("meter_config") or entry.HasField("meter_counter_data")) and not table.has_meter:
        raise invalid(f"{table.what} has no direct meter")
    clears_colours(entry, "meter_counter_data", table.what)
    return rates(entry, "meter_config", table.what, table.meter_type)


def _write_direct(target: TableEntry, entry: Any, new_rates: Rates) -> None:
    if entry.HasField("counter_data"):
        target.packets, target.bytes = entry.counter_data.packet_count, entry.counter_data.byte_count
    if new_rates:
        target.meter = target.meter or MeterCell()
    if target.meter is not None:
        target.meter.configure(new_rates)
        if entry.HasField("meter_counter_data"):
            target.meter.clear_counts()
