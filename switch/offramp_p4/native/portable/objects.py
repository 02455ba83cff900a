# SPDX-License-Identifier: Apache-2.0
"""The state of a PNA program's objects; what packets ask Python for: entries that are added, and that expire."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Final

import numpy as np

from offramp_base.native.records import offset
from offramp_p4 import ir
from offramp_p4.native.portable.flow_table import FlowTable
from offramp_p4.native.portable.plan import PortablePlan
from offramp_p4.native.records import read_value
from offramp_p4.native.runtime import context as at
from offramp_p4.native.state.context import or_abort
from offramp_p4.native.state.hashtable import HashTable, as_words
from offramp_p4.native.state.objects import NativePortable
from offramp_p4.portable.flows import FlowCache, has_timers
from offramp_p4.state import ActionProfileState, TableEntry, TableState

if TYPE_CHECKING:
    from offramp_p4.native.architecture import SwitchProperties
    from offramp_p4.native.plan import ContextPlan
    from offramp_p4.native.state.context import SwitchContext

_NEVER: Final = (1 << 63) - 1


class NativeFlows(FlowCache):
    """The flow cache over tables that machine code searches."""

    def insert(self, state: TableState, entry: TableEntry) -> None:
        """Add an entry, which packets find from now on."""
        assert isinstance(state, FlowTable)
        state.learn(entry)

    def remove(self, state: TableState, entry: TableEntry) -> None:
        """Remove an entry, which packets no longer find."""
        assert isinstance(state, FlowTable)
        state.forget(entry)


class NativeCard(NativePortable):
    """The state of a PNA program's objects."""

    flows: NativeFlows

    def make_flows(self) -> FlowCache:
        """The flow cache."""
        return NativeFlows()

    def make_table(self, table: ir.MatchTable, profile: ActionProfileState | None) -> TableState:
        """The state of a table."""
        if has_timers(table):
            return FlowTable(table, profile, self.changes)
        return super().make_table(table, profile)

    def attach(self, context: SwitchContext, plan: ContextPlan, chip: SwitchProperties) -> None:
        """Put everything where ``plan`` says."""
        assert isinstance(plan, PortablePlan)
        super().attach(context, plan, chip)
        self._plan = plan
        self._ordered = list(plan.tables)
        by_words = {plan.tables[table].words: self.tables[table] for table in plan.tables}
        self._by_words = {words: state for words, state in by_words.items() if isinstance(state, FlowTable)}
        self._lives: dict[int, int] | None = None
        hosts = HashTable(context, offset(at.SwitchMemory.hosts), 1)
        ports = sorted(set(chip.host_ports))
        hosts.insert(as_words(ports, 1), np.arange(1, len(ports) + 1))
        self._hosts = hosts
        context.words[at.SwitchMemory.due_us] = _NEVER
        context.hold_function(at.SwitchMemory.learn, or_abort(self._learn))
        context.hold_function(at.SwitchMemory.expire, or_abort(self._expire))

    @property
    def one_core(self) -> str:
        """The reason that packets cannot run on several cores at once; empty if they can."""
        return "its packets share the flow ids" if self._plan.gives_flow_ids else ""

    def sync(self) -> None:
        """Show machine code all changes since the last call; no packet runs meanwhile."""
        self._take_renewed()
        super().sync()
        if self._lives != self.flows.expire_s:
            self._lives = dict(self.flows.expire_s)
            lives = [self._lives.get(profile, 0) * 10**6 for profile in range(at.LIVES)]
            self._context.hold(offset(at.SwitchMemory.lives_us), np.array(lives, np.int64))
        self._show_due()

    def collect(self) -> None:
        """Add to the tables what machine code has counted since the last call, and what it has done to timers."""
        super().collect()
        self._take_renewed()

    def _take_renewed(self) -> None:
        if not self._context.words[at.SwitchMemory.renewed.used]:
            return
        pairs = self._context.buffer(at.SwitchMemory.renewed).view(np.int64).reshape(-1, 2)
        for words in np.unique(pairs[:, 0]).tolist():
            table = self._by_words[words]
            for entry in table.take_renewed(pairs[pairs[:, 0] == words, 1]):
                if table.expires:
                    self.flows.watch(table, entry)
        self._context.empty(at.SwitchMemory.renewed)

    def reset(self) -> None:
        """Everything as it was when the program was loaded."""
        super().reset()
        self._context.words[at.SwitchMemory.flow_ids] = 0

    def _show_due(self) -> None:
        due_us = self.flows.next_us
        self._context.words[at.SwitchMemory.due_us] = _NEVER if due_us is None else due_us

    def _learn(self, _: int, __: int) -> None:
        """Called by machine code: add the entry of LEARNING."""
        words = self._context.words
        order = at.SwitchMemory(words).learning
        table = self._ordered[order.table - 1]
        plan, site = self._plan.tables[table], self._plan.sites[order.site]
        key = plan.key.divide(int.from_bytes(ctypes.string_at(order.key, 8 * plan.key.words), "little"))
        args = read_value(site.data, ctypes.string_at(order.data, site.data.size))
        args = tuple(value & cell.bits.mask for value, cell in zip(args, site.data.cells, strict=True))
        state = self.tables[table]
        assert isinstance(state, FlowTable)
        with self.changes.lock:
            self.collect()
            missed = state, key, state.expires
            order.added = int(
                self.flows.add(missed, site.action, args, order.profile, int(words[at.SwitchMemory.now_us]))
            )
        self._show_due()

    def _expire(self, _: int, __: int) -> None:
        """Called by machine code: remove the entries whose time is over."""
        with self.changes.lock:
            self.collect()
            self.flows.expire(int(self._context.words[at.SwitchMemory.now_us]))
        self._show_due()
