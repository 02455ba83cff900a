"""Writes a job straight into an embedded switch, without P4Runtime."""

from __future__ import annotations

from collections.abc import Sequence

from offramp.switch.switchgnn import guard, telemetry
from offramp.switch.switchgnn.control import (
    LIMIT,
    NEXT_PASS_SESSION,
    POOL,
    entries_for,
)
from offramp.switch.switchgnn.plan import Plan
from offramp.switch.switchgnn.target import target_of
from offramp_sim.p4 import AnySwitch
from offramp_sim.p4.state import ActionData, CloneSession, Exact, Replica, TableEntry


def load(
    switch: AnySwitch,
    plans: Sequence[Plan],
    ports: Sequence[int],
    *,
    capacity: int | None = None,
    acks: bool = False,
) -> None:
    """As ``SwitchGnnControl.load``.

    Raises:
        OfframpError: plans or ports that do not fit together, or a plan larger than the program's tables.
    """
    target = target_of(switch.tables)
    parts, groups = entries_for(switch.tables, plans, ports, target, acks=acks)
    for rows in parts:
        table = switch.tables[rows.table]
        for keys, params in rows.entries():
            action = ActionData(rows.action, tuple(params.values()))
            table.insert(TableEntry(tuple(Exact(value) for value in keys.values()), action))
    if capacity is not None:
        switch.tables[POOL].set_default(ActionData(LIMIT, (capacity,)))
    for group, replicas in groups.items():
        switch.pre.multicast[group] = tuple(Replica(port, instance) for port, instance in replicas)
    switch.pre.clones[NEXT_PASS_SESSION] = CloneSession((Replica(target.recirculation_port, 0),))


def counters(switch: AnySwitch) -> dict[str, int]:
    """As ``SwitchGnnControl.counters``."""
    target = target_of(switch.tables)
    return telemetry.totals(
        dict(enumerate(switch.counters[target.full(telemetry.OUTCOMES)].packets)),
        switch.counters[target.full(guard.UPLOADS)].packets[0],
        switch.counters[target.full(target.recirculations)].packets[0],
    )


def occupancy(switch: AnySwitch) -> tuple[int, int] | None:
    """As ``SwitchGnnControl.occupancy``."""
    if not target_of(switch.tables).occupancy:
        return None
    return switch.registers[telemetry.OPEN].read(0), switch.registers[telemetry.PEAK].read(0)
