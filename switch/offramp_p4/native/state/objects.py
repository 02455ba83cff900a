# SPDX-License-Identifier: Apache-2.0
"""Everything that outlives a packet, where machine code finds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from offramp_base.native.records import offset
from offramp_p4 import ir
from offramp_p4.native.architecture import SwitchProperties
from offramp_p4.native.keys import MAX_PREFIX_KEY
from offramp_p4.native.plan import ContextPlan
from offramp_p4.native.runtime import context as at
from offramp_p4.native.state.arrays import NativeCounter, NativeMeter, NativeRegister
from offramp_p4.native.state.changes import Changes
from offramp_p4.native.state.compact import CompactTable
from offramp_p4.native.state.context import SwitchContext, line_zeros
from offramp_p4.native.state.crcs import NativeCrcs
from offramp_p4.native.state.profile import NativeProfile
from offramp_p4.native.state.replication import NativeReplication
from offramp_p4.native.state.search import make_search
from offramp_p4.native.state.searches import EntrySearch
from offramp_p4.native.state.tables import NativeTable
from offramp_p4.portable.hashing import RSS_KEY
from offramp_p4.portable.objects import PortableObjects
from offramp_p4.state import (
    ActionProfileState,
    CounterState,
    Match,
    MeterState,
    RegisterState,
    ReplicationEngine,
    TableState,
    ValueSetState,
)
from offramp_p4.state.match import key_width
from offramp_p4.state.table import supports_timeout
from offramp_p4.v1model.objects import ExternProgramObjects


@dataclass(slots=True)
class _Member:
    """A member of a value set as an entry."""

    keys: tuple[Match, ...]
    priority: int = 0


class NativeState:
    """The state of all architectures' objects; a subclass adds the state of one architecture."""

    def __init__(self, program: ir.Program) -> None:
        self.changes = Changes()
        super().__init__(program)  # type: ignore[call-arg]

    of: dict[ir.ExternInstance, Any]
    tables: dict[ir.MatchTable, TableState]
    registers: dict[str, RegisterState]
    counters: dict[str, CounterState]
    meters: dict[str, MeterState]
    profiles: dict[str, ActionProfileState]
    value_sets: dict[ir.ValueSet, ValueSetState]
    pre: ReplicationEngine

    @property
    def one_core(self) -> str:
        """The reason that packets cannot run on several cores at once, tables and arrays aside; empty if they can."""
        return ""

    def reset(self) -> None:
        """Everything as it was when the program was loaded."""
        super().reset()  # type: ignore[misc]

    def make(self, i: ir.ExternInstance) -> Any:
        """The state of an extern instance; None if it has none."""
        state = super().make(i)  # type: ignore[misc]
        if isinstance(state, CounterState):
            return NativeCounter(state.name, state.kind, state.size)
        if isinstance(state, MeterState):
            return NativeMeter(state.name, state.kind, state.size)
        if isinstance(state, ActionProfileState) and not isinstance(state, NativeProfile):
            return NativeProfile(state.name, state.size, state.selector)
        return state

    def make_table(self, table: ir.MatchTable, profile: ActionProfileState | None) -> TableState:
        """The state of a table."""
        return (CompactTable if _is_compact(table, profile) else NativeTable)(table, profile, self.changes)

    def check_ports(self, ports: npt.NDArray[np.int32]) -> None:
        """Check the ports that packets come in at.

        Raises:
            OfframpError: the switch does not have one of them.
        """

    def check_port(self, port: int) -> None:
        """Check the port at which one packet comes in."""

    def attach(self, context: SwitchContext, plan: ContextPlan, chip: SwitchProperties) -> None:
        """Put everything where ``plan`` says."""
        del chip
        self._context = context
        self._attach_registers(plan)
        for instance, word in plan.arrays.items():
            context.hold(word, self.of[instance].rows)
        placed = {plan.profiles[i]: i for i in plan.profiles}
        self._profiles: list[NativeProfile] = []
        for word, instance in placed.items():
            profile: NativeProfile = self.of[instance]
            profile.attach(context, word, plan.member_sizes[instance], plan.actions)
            self._profiles.append(profile)
        self._tables: list[NativeTable] = []
        for table, table_plan in plan.tables.items():
            state = self.tables[table]
            assert isinstance(state, NativeTable)
            state.attach(context, table_plan, plan.actions)
            self._tables.append(state)
        bases = [t.words for t in plan.tables.values()]
        self._counters = np.array(
            [word for b in bases for word in (b + at.TableRecord.hits, b + at.TableRecord.misses)], np.int64
        )
        self._sets: list[tuple[ValueSetState, EntrySearch | None, list[tuple[Match, ...]]]] = []
        for value_set, set_plan in plan.value_sets.items():
            search = make_search(context, set_plan.words, set_plan.key)
            self._sets.append((self.value_sets[value_set], search, []))

    @property
    def changed(self) -> bool:
        """Whether a table has changed since the last :meth:`sync`."""
        return bool(self.changes.dirty)

    def sync(self) -> None:
        """Show machine code all changes since the last call; no packet runs meanwhile."""
        if self.changes.dirty:
            with self.changes.lock:
                for table in self.changes.dirty:
                    table.sync()
                self.changes.dirty.clear()
                self.changes.pending = 0
        for profile in self._profiles:
            profile.sync()
        for state, search, seen in self._sets:
            if state.members != seen and search is not None:
                seen[:] = state.members
                search.clear(len(seen))
                search.add([_Member(keys) for keys in seen], np.arange(1, len(seen) + 1))

    def collect(self) -> None:
        """Add to the tables what machine code has counted since the last call."""
        counts = self._context.words[self._counters].tolist()
        for table, hits, misses in zip(self._tables, counts[::2], counts[1::2], strict=True):
            if hits or misses:
                table.collect()

    def _attach_registers(self, plan: ContextPlan) -> None:
        rows: dict[int, np.ndarray[tuple[int, int], np.dtype[np.uint8]]] = {}
        for name, register in self.registers.items():
            column = plan.columns[name]
            if column.word not in rows:
                rows[column.word] = line_zeros((register.size, column.stride), np.uint8)
                self._context.hold(column.word, rows[column.word])
            size = column.size
            register.attach(  # type: ignore[attr-defined]  # those of all architectures have it
                rows[column.word][:, column.offset : column.offset + size]
            )


class _Replicating(NativeState):
    """State with numbers in its registers, and with the packet replication engine of bmv2's switches."""

    def __init__(self, program: ir.Program) -> None:
        super().__init__(program)
        self.pre = self._replication = NativeReplication()

    def make(self, i: ir.ExternInstance) -> Any:
        """The state of an extern instance; None if it has none."""
        state = super().make(i)
        if isinstance(state, RegisterState):
            return NativeRegister(state.name, state.width, state.size, state.initial)
        return state

    def attach(self, context: SwitchContext, plan: ContextPlan, chip: SwitchProperties) -> None:
        """Put everything where ``plan`` says."""
        super().attach(context, plan, chip)
        self._replication.attach(context)

    def sync(self) -> None:
        """Show machine code all changes since the last call; no packet runs meanwhile."""
        super().sync()
        self._replication.sync()


class V1Objects(_Replicating, ExternProgramObjects):
    """The state of a v1model program's objects."""

    crcs: NativeCrcs

    def make_crcs(self, program: ir.Program) -> NativeCrcs:
        """The parameters of custom CRCs."""
        return NativeCrcs(program)

    @property
    def changed(self) -> bool:
        """Whether a table or a hash has changed since the last :meth:`sync`."""
        return super().changed or self.crcs.changed

    def sync(self) -> None:
        """Show machine code all changes since the last call; no packet runs meanwhile."""
        super().sync()
        if self.crcs.changed:
            self.crcs.sync(self._context)


class NativePortable(_Replicating, PortableObjects):
    """The state of a PSA program's objects."""

    def attach(self, context: SwitchContext, plan: ContextPlan, chip: SwitchProperties) -> None:
        """Put everything where ``plan`` says."""
        super().attach(context, plan, chip)
        context.hold(offset(at.SwitchMemory.rss_key), np.frombuffer(RSS_KEY, np.uint8))
        context.words[at.SwitchMemory.cpu_port] = -1 if chip.cpu_port is None else chip.cpu_port


def _is_compact(table: ir.MatchTable, profile: ActionProfileState | None) -> bool:
    """Whether the entries of a table have nothing but exact and lpm keys and an action."""
    kinds = [k.match_kind for k in table.keys]
    lpm = [key_width(k.expr.type) for k in table.keys if k.match_kind == "lpm"]
    direct = any(isinstance(value, ir.ExternInstance) for value in table.properties.values())
    plain = profile is None and not direct and not supports_timeout(table)
    return plain and bool(kinds) and set(kinds) <= {"exact", "lpm"} and all(w <= MAX_PREFIX_KEY for w in lpm)
