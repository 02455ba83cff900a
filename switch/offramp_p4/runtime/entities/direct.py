# SPDX-License-Identifier: Apache-2.0
"""DirectCounterEntry and DirectMeterEntry (sections 9.3 and 9.4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from offramp_base.p4rt.schema import v1
from offramp_base.p4rt.status import Code, RpcError
from offramp_p4.runtime.entities.base import ById, invalid, modify_only
from offramp_p4.runtime.entities.meters import clears_colours, colour_counts, meter_config, rates
from offramp_p4.runtime.entities.table import P4RuntimeTable
from offramp_p4.state import MeterCell


class DirectCounterHandler:
    """DirectCounterEntry: the counter of each entry of a table."""

    def __init__(self, tables: ById[P4RuntimeTable]) -> None:
        self._tables = tables

    def write(self, kind: int, entry: Any) -> None:
        """Set the counter of one entry; without data nothing changes."""
        table = self._tables.get(entry.table_entry.table_id)
        modify_only(kind, f"{table.what}: a direct counter")
        if not table.has_counter:
            raise invalid(f"{table.what} has no direct counter")
        known = table.find(entry.table_entry)
        if entry.HasField("data"):
            known.packets, known.bytes = entry.data.packet_count, entry.data.byte_count

    def read(self, wanted: Any) -> Iterator[Any]:
        """The counters of one entry, one table or all tables."""
        for table in _tables(self._tables, wanted.table_entry, "has_counter", "counter"):
            for matched in table.matching(wanted.table_entry):
                data = v1.CounterData(packet_count=matched.packets, byte_count=matched.bytes)
                counter_entry = v1.DirectCounterEntry(table_entry=table.key_message(matched), data=data)
                yield v1.Entity(direct_counter_entry=counter_entry)


class DirectMeterHandler:
    """DirectMeterEntry: the meter of each entry of a table."""

    def __init__(self, tables: ById[P4RuntimeTable]) -> None:
        self._tables = tables

    def write(self, kind: int, entry: Any) -> None:
        """Configure the meter of one entry, and clear its counts if asked; no configuration makes it green forever."""
        table = self._tables.get(entry.table_entry.table_id)
        modify_only(kind, f"{table.what}: a direct meter")
        if not table.has_meter:
            raise invalid(f"{table.what} has no direct meter")
        clears = clears_colours(entry, "counter_data", table.what)
        if entry.table_entry.is_default_action:
            raise RpcError(Code.UNIMPLEMENTED, f"{table.what}: v1model runs no direct meter on a miss")
        known, wanted = table.find(entry.table_entry), rates(entry, "config", table.what, table.meter_type)
        known.meter = known.meter or MeterCell()
        known.meter.configure(wanted)
        if clears:
            known.meter.clear_counts()

    def read(self, wanted: Any) -> Iterator[Any]:
        """The meters of one entry, one table or all tables."""
        for table in _tables(self._tables, wanted.table_entry, "has_meter", "meter"):
            for matched in table.matching(wanted.table_entry):
                meter_entry = v1.DirectMeterEntry(table_entry=table.key_message(matched))
                if matched.meter is not None and matched.meter.rates:
                    meter_entry.config.CopyFrom(meter_config(matched.meter))
                if wanted.HasField("counter_data"):
                    meter_entry.counter_data.CopyFrom(colour_counts(matched.meter))
                yield v1.Entity(direct_meter_entry=meter_entry)


def _tables(tables: ById[P4RuntimeTable], key: Any, attribute: str, word: str) -> Iterator[P4RuntimeTable]:
    """The tables that have a resource, of those that a key names."""
    for _, table in tables.select(key.table_id):
        if getattr(table, attribute):
            yield table
        elif key.table_id:
            raise invalid(f"{table.what} has no direct {word}")
