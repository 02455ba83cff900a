# SPDX-License-Identifier: Apache-2.0
"""Writes a queue plan straight into an embedded switch, without P4Runtime."""

from __future__ import annotations

from offramp.hermod.switch.entries import DROPPED, MARKED, SENT, SwitchPlan, cell, entries_for, full_name
from offramp_p4 import AnySwitch
from offramp_p4.state import ActionData, Exact, Replica, TableEntry


def load(switch: AnySwitch, plan: SwitchPlan) -> None:
    """Write the plan to a switch that runs ``p4/hermod`` and has just been made or reset."""
    entries = entries_for(plan, switch.tables)
    for row in entries.entries:
        table, action = switch.tables[row.table], ActionData(row.action, tuple(row.params.values()))
        if row.keys:
            table.insert(TableEntry(tuple(Exact(value) for value in row.keys.values()), action))
        else:
            table.set_default(action)
    for (meter, index), rate in entries.meters.items():
        bucket = (float(rate.bytes_per_s), rate.burst)
        switch.meters[meter].cells[index].configure((bucket, bucket))
    for group, replicas in entries.groups.items():
        switch.pre.multicast[group] = tuple(Replica(port, instance) for port, instance in replicas)


def sent(switch: AnySwitch, port: int, queue: int) -> tuple[int, int]:
    """Packets and bytes that left a port from a queue."""
    counter = switch.counters[full_name(SENT, switch.tables)]
    return counter.packets[cell(port, queue)], counter.bytes[cell(port, queue)]


def marked(switch: AnySwitch, port: int, queue: int) -> int:
    """Packets that left a port from a queue with a mark of this switch."""
    return switch.counters[full_name(MARKED, switch.tables)].packets[cell(port, queue)]


def dropped(switch: AnySwitch, port: int, queue: int) -> tuple[int, int]:
    """Packets and bytes of a port's queue that its profile dropped."""
    counter = switch.counters[full_name(DROPPED, switch.tables)]
    return counter.packets[cell(port, queue)], counter.bytes[cell(port, queue)]
