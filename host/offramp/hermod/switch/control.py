# SPDX-License-Identifier: Apache-2.0
"""The control plane of Hermod: writes a plan into any P4Runtime switch that runs ``p4/hermod``, reads it back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from offramp.hermod.switch.entries import (
    BY_SOURCE,
    CLASSES,
    DROPPED,
    EXCESS,
    FLOOD_KEY,
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
    SwitchPlan,
    cell,
    full_name,
    rate_cells,
    state_for,
)
from offramp_base.errors import OfframpError, not_restored
from offramp_base.p4rt.session import Session
from offramp_base.p4rt.state import GROUP, Key, State, StateCodec
from offramp_base.p4rt.status import Code, RpcError


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
        index = session.index
        tables = index.message.tables
        self._names = frozenset(table.preamble.name for table in tables)
        names = (CLASSES, PROFILES, MACS, ROLES, MEMBERS, BY_SOURCE, UPPER)
        full = [full_name(name, self._names) for name in names]
        self._classes, self._profiles, self._macs, self._roles, self._members, self._by_source, self._upper = full
        if self._classes not in self._names:
            raise OfframpError(f"switch {session.name}: runs another program; expected p4/hermod")
        self._macs_size = next(table.size for table in tables if table.preamble.name == self._macs)
        self._codec = StateCodec(index)

    def wanted(self, plan: SwitchPlan) -> State:
        """The state of a switch that has the plan.

        Raises:
            OfframpError: more hosts than the table has room for.
        """
        size = self._macs_size
        if len(plan.hosts) > size:
            raise OfframpError(f"table {self._macs}: the plan has {len(plan.hosts)} hosts, expected up to {size}")
        return state_for(plan, self._names)

    def read(self) -> State:
        """The present state of the switch."""
        forwarding = [self._macs] if self._forwarding else []
        tables = [self._classes, self._profiles, self._roles, self._members, *forwarding]
        defaults = [self._classes, self._members, *forwarding]
        # All groups: bmv2 answers a read of one that does not exist with an error.
        filters = self._codec.filters(tables, defaults, groups=self._forwarding)
        held = self._codec.state(list(self._session.read(filters)))
        state = {key: value for key, value in held.items() if key[0] != GROUP or key == FLOOD_KEY}
        cells = self._cells(state)
        return state | self._codec.state(list(self._session.read(self._codec.cells(cells)))) if cells else state

    def _cells(self, state: State) -> list[Key]:
        """Cells of the ports that a state names: no plan gives rates to other ports."""
        ports = {port for _, port in state.get(FLOOD_KEY, ("", ()))[1]}
        ports |= {keys[0][1] for table, keys in state if table == self._members and keys}
        return rate_cells(self._by_source, self._upper, sorted(ports))

    def write(self, state: State, before: State) -> None:
        """Go from one state to the other in one batch that the switch takes as a whole, or not at all.

        On a switch that cannot undo (bmv2), what is there is read again after a fault and written back.

        Raises:
            OfframpError: the switch refuses, or does not answer.
        """
        updates = self._codec.updates(state, before)
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
            updates = self._codec.updates(before, self.read())
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
        entities = session.read([session.make.counter(counter, index) for index in cells])
        entries = (entity.counter_entry for entity in entities)
        return {cells[e.index.index]: (e.data.packet_count, e.data.byte_count) for e in entries}

    def _write_and_restore(self, updates: list[Any], before: State) -> None:
        try:
            self._session.write(updates, batch=len(updates))
        except BaseException as error:
            self.restore(before, error)
            raise
