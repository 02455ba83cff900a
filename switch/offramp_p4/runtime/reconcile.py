# SPDX-License-Identifier: Apache-2.0
"""RECONCILE_AND_COMMIT: a program takes over the state of the one that runs (P4Runtime specification, section 14)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from offramp_base.errors import OfframpError
from offramp_base.p4rt.schema import v1
from offramp_p4.runtime.entities.base import INSERT, MODIFY, as_rpc_error, invalid
from offramp_p4.state import MeterCell

if TYPE_CHECKING:
    from offramp_p4.runtime.pipeline import Pipeline

# What may differ between two programs without changing the meaning of an object's state.
_HARMLESS = {
    "tables": ("size", "action_refs", "initial_default_action", "has_initial_entries"),
    "action_profiles": ("size", "table_ids"),
    "value_sets": ("size",),
}


def carry_over(old: Pipeline, new: Pipeline) -> None:
    """Give ``new`` the entries, groups, counts and values of ``old``; what ``new`` alone has keeps its initial state.

    Raises:
        RpcError: INVALID_ARGUMENT, naming the first object whose state ``new`` cannot take. ``old`` is unchanged.
    """
    for name, table in new.tables.items():
        if name in old.tables:
            table.state.clear()  # initial entries that the controller has deleted must not return
    for entity in _entities(old):
        kind = entity.WhichOneof("entity")
        try:
            _check_same(old, new, entity)
            update = MODIFY if kind == "value_set_entry" or entity.table_entry.is_default_action else INSERT
            new.handler(kind).write(update, getattr(entity, kind))
        except OfframpError as error:
            raise invalid(f"the state cannot be kept: {as_rpc_error(error).message}") from None
    _carry_entries(old, new)
    _carry_arrays(old, new)


def _entities(old: Pipeline) -> Iterator[Any]:
    """The entities that a controller has written, in an order in which they can be written again."""
    everything = v1.TableEntry(counter_data=v1.CounterData(), meter_config=v1.MeterConfig())
    for kind, wanted in (
        ("action_profile_member", v1.ActionProfileMember()),
        ("action_profile_group", v1.ActionProfileGroup()),
        ("packet_replication_engine_entry", v1.PacketReplicationEngineEntry()),
        ("value_set_entry", v1.ValueSetEntry()),
        ("digest_entry", v1.DigestEntry()),
        ("table_entry", everything),
    ):
        for entity in old.handler(kind).read(wanted):
            if kind == "value_set_entry" and not entity.value_set_entry.members:
                continue
            if not entity.table_entry.is_const:
                yield entity
    for table in old.tables.values():
        if table.state.default_is_changed:
            yield v1.Entity(table_entry=table.message(table.state.default_entry, everything))


def _check_same(old: Pipeline, new: Pipeline, entity: Any) -> None:
    """Check that the objects that an entity names mean the same in both programs.

    Raises:
        RpcError: they do not.
    """
    for kind, number in _named(entity):
        before, after = (_object(p.info, kind, number) for p in (old, new))
        if before is not None and before != after:
            raise invalid(f"{before.preamble.name} is {'another one' if after is not None else 'gone'}")


def _named(entity: Any) -> Iterator[tuple[str, int]]:
    kind = entity.WhichOneof("entity")
    entry = getattr(entity, kind)
    fields = {
        "table_id": "tables",
        "action_profile_id": "action_profiles",
        "value_set_id": "value_sets",
        "digest_id": "digests",
    }
    for field, objects in fields.items():
        if field in entry.DESCRIPTOR.fields_by_name:
            yield objects, getattr(entry, field)
    if kind == "action_profile_member":
        yield "actions", entry.action.action_id
    elif kind == "table_entry":
        yield "actions", entry.action.action.action_id
        for one in entry.action.action_profile_action_set.action_profile_actions:
            yield "actions", one.action.action_id


def _object(info: Any, kind: str, number: int) -> Any | None:
    for candidate in getattr(info, kind):
        if candidate.preamble.id == number:
            bare = type(candidate)()
            bare.CopyFrom(candidate)
            for field in _HARMLESS.get(kind, ()):
                bare.ClearField(field)
            return bare
    return None


def _carry_entries(old: Pipeline, new: Pipeline) -> None:
    """Carry over what no message writes: times of hits, and counts of colours."""
    for name, table in old.tables.items():
        if (table.has_timeout or table.has_meter) and name in new.tables:
            for entry in table.state.entries:
                successor = new.tables[name].state.get(entry.keys, entry.priority)
                if successor is None:
                    continue
                successor.last_hit_us = entry.last_hit_us
                if entry.meter is not None and new.tables[name].has_meter:
                    successor.meter = successor.meter or MeterCell()
                    _carry_counts(entry.meter, successor.meter)


def _carry_counts(old: MeterCell, new: MeterCell) -> None:
    new.packets[:], new.octets[:] = list(old.packets), list(old.octets)


def _carry_arrays(old: Pipeline, new: Pipeline) -> None:
    for name, register in old.switch.registers.items():
        other = new.switch.registers.get(name)
        used = [(i, value) for i, value in enumerate(register.values) if value]
        if used and (other is None or other.width != register.width or used[-1][0] >= other.size):
            raise invalid(f"the state cannot be kept: register {name} does not fit")
        if other is not None:
            for i, value in used:
                other.values[i] = value
    for name, counter in old.switch.counters.items():
        mine = new.switch.counters.get(name)
        counted = [i for i in range(counter.size) if counter.packets[i] or counter.bytes[i]]
        if counted and (mine is None or counted[-1] >= mine.size):
            raise invalid(f"the state cannot be kept: counter {name} does not fit")
        if mine is not None:
            for i in counted:
                mine.write(i, counter.packets[i], counter.bytes[i])
    for name, meter in old.switch.meters.items():
        theirs = new.switch.meters.get(name)
        set_up = [i for i in range(meter.size) if meter.cells[i].rates]
        if set_up and (theirs is None or theirs.kind != meter.kind or set_up[-1] >= theirs.size):
            raise invalid(f"the state cannot be kept: meter {name} does not fit")
        if theirs is not None:
            for i in range(min(meter.size, theirs.size)):
                if any(meter.cells[i].packets):
                    _carry_counts(meter.cells[i], theirs.cells[i])
            for i in set_up:
                cell = meter.cells[i]
                theirs.cells[i].configure(cell.rates, cell.last_us)
                theirs.cells[i].levels = list(cell.levels)
