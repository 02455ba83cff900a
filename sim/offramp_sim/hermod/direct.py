# SPDX-License-Identifier: Apache-2.0
"""Writes a queue plan straight into an embedded switch, without P4Runtime."""

from __future__ import annotations

from offramp.hermod.switch.entries import DROPPED, MARKED, SENT, SwitchPlan, cell, full_name, state_for
from offramp_base.p4rt.state import GROUP, RATE
from offramp_p4 import AnySwitch
from offramp_p4.state import ActionData, Exact, Replica, TableEntry


def load(switch: AnySwitch, plan: SwitchPlan) -> None:
    """Write the plan to a switch that runs ``p4/hermod`` and is new or was reset."""
    for (name, keys), (action, values) in state_for(plan, switch.tables).items():
        numbers = tuple(number for _, number in values)
        if name == GROUP:
            replicas = tuple(Replica(port, instance) for instance, port in enumerate(numbers, 1))
            switch.pre.multicast[keys[0][1]] = replicas
        elif action == RATE:
            bucket = (float(numbers[0]), numbers[1])
            switch.meters[name].cells[keys[0][1]].configure((bucket, bucket))
        elif keys:
            exact = tuple(Exact(number) for _, number in keys)
            switch.tables[name].insert(TableEntry(exact, ActionData(action, numbers)))
        else:
            switch.tables[name].set_default(ActionData(action, numbers))


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
