# SPDX-License-Identifier: Apache-2.0
"""Writes a job straight into an embedded switch, without P4Runtime."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from offramp.switchgnn import guard, origin, telemetry
from offramp.switchgnn.control import (
    LIMIT,
    NEXT_PASS_SESSION,
    POOL,
    entries_for,
)
from offramp.switchgnn.plan import Plan
from offramp.switchgnn.rows import ActionRows
from offramp.switchgnn.target import target_of
from offramp.switchgnn.two_level import PLACE, SwitchEntries
from offramp_p4 import AnySwitch
from offramp_p4.state import ActionData, CloneSession, Exact, Replica, TableEntry


def load(
    switch: AnySwitch,
    plans: Sequence[Plan],
    ports: Sequence[int],
    *,
    capacity: int | None = None,
    acks: bool = False,
) -> None:
    """Load a plan, like ``SwitchGnnControl.load``.

    Raises:
        OfframpError: plans or ports that do not match, or a plan larger than the program's tables.
    """
    parts, groups = entries_for(switch.tables, plans, ports, target_of(switch.tables), acks=acks)
    if capacity is not None:
        switch.tables[POOL].set_default(ActionData(LIMIT, (capacity,)))
    _write(switch, parts, groups)


def load_place(switch: AnySwitch, entries: SwitchEntries) -> None:
    """Load a plan into one switch of several, like ``SwitchGnnControl.load_place``."""
    action, params = entries.place
    switch.tables[PLACE].set_default(ActionData(action, tuple(params.values())))
    _write(switch, entries.rows, entries.groups)


def _write(switch: AnySwitch, parts: Sequence[ActionRows], groups: Mapping[int, Sequence[tuple[int, int]]]) -> None:
    for rows in parts:
        table = switch.tables[rows.table]
        for keys, params in rows.entries():
            action = ActionData(rows.action, tuple(params.values()))
            table.insert(TableEntry(tuple(Exact(value) for value in keys.values()), action))
    for group, replicas in groups.items():
        switch.pre.multicast[group] = tuple(Replica(port, instance) for port, instance in replicas)
    recirculation = target_of(switch.tables).recirculation_port
    switch.pre.clones[NEXT_PASS_SESSION] = CloneSession((Replica(recirculation, 0),))


def counters(switch: AnySwitch) -> dict[str, int]:
    """Counters by name, as ``SwitchGnnControl.counters`` reads them."""
    target = target_of(switch.tables)
    outcomes: Counter[int] = Counter()
    for name in telemetry.outcome_counters(target):
        outcomes.update(dict(enumerate(switch.counters[name].packets)))
    return telemetry.totals(
        outcomes,
        switch.counters[target.full(guard.UPLOADS)].packets[0],
        switch.counters[target.full(target.recirculations)].packets[0],
    )


def strangers(switch: AnySwitch) -> dict[int, int]:
    """Strangers' packets by port, as ``SwitchGnnControl.strangers`` reads them."""
    counts = switch.counters[target_of(switch.tables).full(origin.STRANGERS)].packets
    return {port: packets for port, packets in enumerate(counts) if packets}


def occupancy(switch: AnySwitch) -> tuple[int, int] | None:
    """Open aggregators, now and at most, as ``SwitchGnnControl.occupancy`` reads them."""
    target = target_of(switch.tables)
    if not target.occupancy:
        return None
    now, peak = (switch.registers[target.full(name)].read(0) for name in (telemetry.OPEN, telemetry.PEAK))
    return now, peak
