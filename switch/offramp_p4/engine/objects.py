# SPDX-License-Identifier: Apache-2.0
"""The state of a program's extern objects, tables and value sets, whatever its architecture."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from offramp_p4 import ir
from offramp_p4.state import (
    ActionProfileState,
    CounterState,
    MeterState,
    RegisterState,
    ReplicationEngine,
    TableState,
    ValueSetState,
)
from offramp_p4.state.match import key_width
from offramp_p4.types import scalars


class ProgramObjects(ABC):
    """Everything that outlives a packet.

    Attributes:
        of: the state of each extern instance that has one.
        tables: the state of each table.
        value_sets: the state of each parser value set.
        registers, counters, meters, profiles: the same states by control-plane name.
        pre: multicast groups and clone sessions.
    """

    def __init__(self, program: ir.Program) -> None:
        self.of: dict[ir.ExternInstance, Any] = {}
        self.registers: dict[str, RegisterState] = {}
        self.counters: dict[str, CounterState] = {}
        self.meters: dict[str, MeterState] = {}
        self.profiles: dict[str, ActionProfileState] = {}
        self.pre = self.make_replication()
        for instance in program.externs:
            self._make(instance)
        self.tables = {t: self.make_table(t, self._profile(t)) for t in program.tables}
        for table in program.tables:
            self._attach(table)
        self.value_sets = {
            v: ValueSetState(v.name, tuple(key_width(t) for t in scalars(v.element)), v.size)
            for v in program.value_sets
        }

    def reset(self) -> None:
        """Everything as it was when the program was loaded."""
        for state in [*self.of.values(), *self.tables.values(), self.pre]:
            state.reset()
        for value_set in self.value_sets.values():
            value_set.members.clear()

    @abstractmethod
    def make(self, i: ir.ExternInstance) -> Any:
        """The state of an extern instance; None if it has none.

        Raises:
            Unsupported: this switch does not execute it.
        """

    def make_replication(self) -> ReplicationEngine:
        """The packet replication engine."""
        return ReplicationEngine()

    def make_table(self, table: ir.MatchTable, profile: ActionProfileState | None) -> TableState:
        """The state of a table."""
        return TableState(table, profile)

    def _make(self, i: ir.ExternInstance) -> None:
        state = self.make(i)
        if state is not None:
            self.of[i] = state
            self._name(i, state)

    def _name(self, i: ir.ExternInstance, state: Any) -> None:
        """Let the control plane find a state by its name."""
        if isinstance(state, RegisterState):
            self.registers[i.name] = state
        elif isinstance(state, CounterState):
            self.counters[i.name] = state
        elif isinstance(state, MeterState):
            self.meters[i.name] = state
        else:
            self.profiles[i.name] = state

    def _profile(self, table: ir.MatchTable) -> ActionProfileState | None:
        instance = table.properties.get("implementation")
        state = self.of.get(instance) if isinstance(instance, ir.ExternInstance) else None
        return state if isinstance(state, ActionProfileState) else None

    def _attach(self, table: ir.MatchTable) -> None:
        for name in ("counters", "meters"):
            instance = table.properties.get(name)
            if isinstance(instance, ir.ExternInstance) and instance in self.of:
                self.of[instance].table = table.name
