# SPDX-License-Identifier: Apache-2.0
"""Writes a job straight into an embedded switch, without P4Runtime."""

from __future__ import annotations

from collections.abc import Sequence

from offramp.allreduce import entries
from offramp.allreduce.verdict import PacketVerdict
from offramp_p4 import AnySwitch
from offramp_p4.state import ActionData, Exact, Replica, TableEntry


def prefix_of(switch: AnySwitch) -> str:
    """Prefix of the program's names."""
    return "pipe." if f"pipe.{entries.SOURCES}" in switch.tables else ""


def load(switch: AnySwitch, role: entries.SwitchRole, job: int, pages: Sequence[int], group: int = 1) -> None:
    """Admit a job to pages of a switch, like :class:`~offramp.allreduce.control.AllReduceControl`."""
    rows, replicas = entries.role_rows(role, job, pages, group, prefix_of(switch))
    for part in rows:
        table = switch.tables[part.table]
        for keys, params in part.entries():
            action = ActionData(part.action, tuple(params.values()))
            table.insert(TableEntry(tuple(Exact(value) for value in keys.values()), action))
    switch.pre.multicast[group] = tuple(Replica(port, instance) for port, instance in replicas)


def outcomes(switch: AnySwitch) -> dict[str, int]:
    """Counts of packets by outcome."""
    counts = switch.counters[prefix_of(switch) + entries.OUTCOMES].packets
    return {outcome.name.lower(): counts[outcome] for outcome in PacketVerdict}


def strangers(switch: AnySwitch) -> dict[int, int]:
    """Packets of strangers by port."""
    counts = switch.counters[prefix_of(switch) + entries.STRANGERS].packets
    return {port: packets for port, packets in enumerate(counts) if packets}
