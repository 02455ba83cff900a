# SPDX-License-Identifier: Apache-2.0
"""The control plane of Hermod: writes a plan into any P4Runtime switch that runs ``p4/hermod``, reads it back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from offramp.hermod.switch.entries import (
    BY_SOURCE,
    CLASSES,
    DROPPED,
    EXCESS,
    FLOOD_GROUP,
    MACS,
    MARKED,
    MEMBERS,
    POLICED,
    PROFILES,
    QUEUES,
    ROLES,
    SENT,
    STRANGERS,
    UPPER,
    Entries,
    SwitchPlan,
    cell,
    entries_for,
    full_name,
)
from offramp_base.errors import OfframpError, not_restored
from offramp_base.p4rt.schema import v1
from offramp_base.p4rt.session import Session
from offramp_base.p4rt.status import Code, RpcError

Key = tuple[str, tuple[tuple[str, int], ...]]
"""Table and keys in order; no keys: the default action. The flood group is a table of that name, and so
is each meter."""
Value = tuple[str, tuple[tuple[str, int], ...]]
"""Action and parameters; of the flood group its ports, of a meter's cell its rate."""
State = dict[Key, Value]

GROUP = "multicast group"
RATE = "rate"
_FLOOD: Key = (GROUP, (("id", FLOOD_GROUP),))


def state_of(entries: Entries) -> State:
    """Entries as a state, to be compared and written."""
    state: State = {
        (row.table, tuple(row.keys.items())): (row.action, tuple(row.params.items())) for row in entries.entries
    }
    for group, replicas in entries.groups.items():
        state[GROUP, (("id", group),)] = ("replicate", tuple((f"replica {i}", port) for port, i in replicas))
    for (meter, index), rate in entries.meters.items():
        state[meter, (("index", index),)] = (RATE, (("bytes_per_s", rate.bytes_per_s), ("burst", rate.burst)))
    return state


class HermodControl:
    """Control of one switch; all that the tables of the program hold is its concern.

    Args:
        session: with the switch.
        forwarding: whether ``macs`` and the flood group are its concern too.

    Raises:
        OfframpError: the switch runs another program.
    """

    def __init__(self, session: Session, *, forwarding: bool = True) -> None:
        self._session, self._forwarding = session, forwarding
        self._names = frozenset(table.preamble.name for table in session.index.tables)
        self._tables = tuple(full_name(name, self._names) for name in (CLASSES, PROFILES, MACS, ROLES, MEMBERS))
        self._meters = tuple(full_name(name, self._names) for name in (BY_SOURCE, UPPER))
        if self._tables[0] not in self._names:
            raise OfframpError(f"switch {session.name}: runs another program; expected p4/hermod")

    def wanted(self, plan: SwitchPlan) -> State:
        """The state of a switch that has the plan.

        Raises:
            OfframpError: more hosts than the table has room for.
        """
        size = self._session.index.tables[self._tables[2]].size
        if len(plan.hosts) > size:
            raise OfframpError(f"table {self._tables[2]}: the plan has {len(plan.hosts)} hosts, expected up to {size}")
        return state_of(entries_for(plan, self._names))

    def read(self) -> State:
        """The present state of the switch."""
        session = self._session
        classes, profiles, macs, roles, members = self._tables
        filters = [session.table_entry(classes, {}), session.make.default_entry(classes)]
        filters += [session.table_entry(profiles, {}), session.table_entry(roles, {})]
        filters += [session.table_entry(members, {}), session.make.default_entry(members)]
        if self._forwarding:
            filters += [session.table_entry(macs, {}), session.make.default_entry(macs)]
            filters.append(session.make.multicast_group(0, ()))  # all: bmv2 takes one that is not there as a fault
        found = dict(self._decode(entity) for entity in session.read(filters))
        state = {key: value for key, value in found.items() if key[0] != GROUP or key == _FLOOD}
        return state | self._rates(state)

    def _rates(self, state: State) -> State:
        """Rates of the ports that a state names: no plan gives any to others."""
        flood = state.get(_FLOOD, ("", ()))[1]
        members = (dict(keys)["port"] for (table, keys) in state if table == self._tables[-1] and keys)
        ports = sorted({port for _, port in flood} | set(members))
        by_source, upper = self._meters
        cells = [(by_source, cell(port, queue)) for port in ports for queue in range(QUEUES)]
        cells += [(upper, port) for port in ports]
        make, session = self._session.make.meter, self._session
        entities = session.read([make(meter, index) for meter, index in cells]) if cells else []
        return dict(self._decode(e) for e in entities if e.meter_entry.config.cir)

    def write(self, state: State, before: State) -> None:
        """Go from one state to the other in one batch that the switch takes as a whole, or not at all.

        On a switch that cannot undo (bmv2), what is there is read again after a fault and written back.

        Raises:
            OfframpError: the switch refuses, or does not answer.
        """
        updates = self._updates(state, before)
        if not updates:
            return
        try:
            self._session.write(updates, batch=len(updates), atomicity="ROLLBACK_ON_ERROR")
        except RpcError as error:
            if error.code is not Code.UNIMPLEMENTED or error.errors:
                raise
            self._write_and_restore(updates, before)

    def restore(self, before: State, cause: BaseException) -> None:
        """Restore the state that the switch had ``before``; ``cause`` is the failure that led to it.

        Raises:
            OfframpError: that failed too.
        """
        try:
            updates = self._updates(before, self.read())
            if updates:
                self._session.write(updates, batch=len(updates))
        except OfframpError as error:
            raise not_restored(cause, error) from cause

    def sent(self, ports: Iterable[int]) -> dict[tuple[int, int], tuple[int, int]]:
        """Packets and bytes that left, by port and queue."""
        return self._counts(SENT, ports)

    def marked(self, ports: Iterable[int]) -> dict[tuple[int, int], int]:
        """Packets that left with a mark of this switch, by port and queue."""
        return {at: packets for at, (packets, _) in self._counts(MARKED, ports).items()}

    def dropped(self, ports: Iterable[int]) -> dict[tuple[int, int], tuple[int, int]]:
        """Packets and bytes that profiles dropped, by port and queue."""
        return self._counts(DROPPED, ports)

    def policed(self, ports: Iterable[int]) -> dict[tuple[int, int], tuple[int, int]]:
        """Packets and bytes that came in by a port in excess of what it may send in a queue, by port and queue."""
        return self._counts(POLICED, ports)

    def strangers(self) -> dict[int, tuple[int, int]]:
        """Packets and bytes that came in by ports that are not the job's, by port, if any."""
        return self._by_port(STRANGERS)

    def excess(self) -> dict[int, tuple[int, int]]:
        """Packets and bytes for a port that were dropped to leave its lowest queue a share, by port, if any."""
        return self._by_port(EXCESS)

    def _by_port(self, name: str) -> dict[int, tuple[int, int]]:
        cells = self._session.read_counter(full_name(name, self._names))
        return {port: counts for port, counts in cells.items() if any(counts)}

    def _counts(self, name: str, ports: Iterable[int]) -> dict[tuple[int, int], tuple[int, int]]:
        session = self._session
        counter = full_name(name, self._names)
        cells = {cell(port, queue): (port, queue) for port in ports for queue in range(QUEUES)}
        found = session.read([session.make.counter(counter, index) for index in cells])
        entries = (entity.counter_entry for entity in found)
        return {cells[e.index.index]: (e.data.packet_count, e.data.byte_count) for e in entries}

    def _write_and_restore(self, updates: list[Any], before: State) -> None:
        try:
            self._session.write(updates, batch=len(updates))
        except BaseException as error:
            self.restore(before, error)
            raise

    def _updates(self, state: State, before: Mapping[Key, Value]) -> list[Any]:
        made = []
        for key in [*before, *(key for key in state if key not in before)]:
            wanted, had = state.get(key), before.get(key)
            if wanted == had:
                continue
            kind = v1.Update.DELETE if wanted is None else v1.Update.INSERT if had is None else v1.Update.MODIFY
            if not key[1] or key[0] in self._meters:
                kind = v1.Update.MODIFY  # default actions and cells are always there
            made.append(v1.Update(type=kind, entity=self._entity(key, wanted)))
        return made

    def _entity(self, key: Key, value: Value | None) -> Any:
        (table, keys), make = key, self._session.make
        action, params = value if value is not None else (None, ())
        if table == GROUP:
            replicas = [(port, instance) for instance, (_, port) in enumerate(params, 1)]
            return make.multicast_group(dict(keys)["id"], replicas)
        if table in self._meters:
            return make.meter(table, dict(keys)["index"], None if value is None else dict(params))
        if not keys:
            return make.default_entry(table, action, dict(params))
        return make.table_entry(table, dict(keys), action, dict(params))

    def _decode(self, entity: Any) -> tuple[Key, Value]:
        if entity.WhichOneof("entity") == "packet_replication_engine_entry":
            group = entity.packet_replication_engine_entry.multicast_group_entry
            made = sorted((r.instance, r.egress_port or int.from_bytes(r.port, "big")) for r in group.replicas)
            ports = ((f"replica {instance}", port) for instance, port in made)  # bmv2 turns their order round
            return (GROUP, (("id", group.multicast_group_id),)), ("replicate", tuple(ports))
        if entity.WhichOneof("entity") == "meter_entry":
            cell_, config = entity.meter_entry, entity.meter_entry.config
            name = self._session.index.meters.by_id[cell_.meter_id].preamble.name
            rate = (("bytes_per_s", config.cir), ("burst", config.cburst))
            return (name, (("index", cell_.index.index),)), (RATE, rate)
        entry, index = entity.table_entry, self._session.index
        table = index.tables.by_id[entry.table_id]
        names = {f.id: f.name for f in table.match_fields}
        values = {names[m.field_id]: int.from_bytes(m.exact.value, "big") for m in entry.match}
        keys = () if entry.is_default_action else tuple((name, values[name]) for name in names.values())
        action = index.actions.by_id[entry.action.action.action_id]
        params = {p.id: p.name for p in action.params}
        given = ((params[p.param_id], int.from_bytes(p.value, "big")) for p in entry.action.action.params)
        return (table.preamble.name, keys), (action.preamble.name, tuple(given))
