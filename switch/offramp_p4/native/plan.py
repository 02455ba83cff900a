# SPDX-License-Identifier: Apache-2.0
"""The positions of a program's objects in the context."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from offramp_p4 import ir
from offramp_p4.native import actions as rows
from offramp_p4.native.actions import Actions
from offramp_p4.native.keys import key_format
from offramp_p4.native.runtime.context import SwitchMemory, TableRecord
from offramp_p4.native.shape import container
from offramp_p4.native.table_plan import MemberBits, TablePlan
from offramp_p4.state import ActionProfileState, CounterState, MeterState, RegisterState, TableState, ValueSetState


class ProgramObjectState(Protocol):
    """The state of a program's objects, of whatever architecture."""

    of: dict[ir.ExternInstance, Any]
    registers: dict[str, RegisterState]
    tables: dict[ir.MatchTable, TableState]
    value_sets: dict[ir.ValueSet, ValueSetState]


@dataclass(frozen=True, slots=True)
class Column:
    """A register array: one column of rows that it shares with others.

    Registers of one control with as many cells of one size are kept together, because a program that reads one
    of them at an index mostly reads the others there too.

    Attributes:
        word: index in the context of the rows' address.
        stride: bytes from row to row.
        offset: offset of the column in a row.
        width: bits of a cell.
    """

    word: int
    stride: int
    offset: int
    width: int

    @property
    def size(self) -> int:
        """Bytes of a cell."""
        return container(self.width)


class ContextPlan:
    """Indices of words in the context; what they hold is filled in by :mod:`offramp_p4.native.state`.

    Attributes:
        tables, value_sets: look-up structures.
        columns: columns by name of the register.
        arrays: by extern instance, the address of a counter array or a meter array.
        profiles: by extern instance, the words that :attr:`TablePlan.profile` describes.
        member_sizes: bytes of a member's row, by extern instance.
        size: words of the whole context.
    """

    def __init__(self, program: ir.Program, objects: ProgramObjectState) -> None:
        self.size = SwitchMemory.WORDS
        self.actions = Actions(program.tables)
        self.columns = self._columns(objects.registers.values())
        self.arrays: dict[ir.ExternInstance, int] = {}
        self.profiles: dict[ir.ExternInstance, int] = {}
        self.member_sizes: dict[ir.ExternInstance, int] = {}
        for instance, state in objects.of.items():
            if isinstance(state, CounterState | MeterState):
                self.arrays[instance] = self.take(1)
        self._place_profiles(program, objects.of)
        self.tables = {t: self._table(t, objects) for t in program.tables}
        self.value_sets = {
            v: TablePlan(self.take(TableRecord.WORDS), key_format(_value_set_kinds(v), objects.value_sets[v].widths))
            for v in program.value_sets
        }

    def additions(self, program: ir.Program) -> Any:
        """What the translation of the program has added to the plan, in plain values; None: nothing."""
        del program
        return None

    def add(self, program: ir.Program, additions: Any) -> None:
        """Add what :meth:`additions` of an earlier process were, for the same program."""

    def take(self, words: int) -> int:
        """Reserve this many further words; returns the index of the first."""
        at, self.size = self.size, self.size + words
        return at

    def _row_size(self, table: ir.MatchTable) -> int:
        return max(self.actions[name].size for name in rows.choices(table))

    def _place_profiles(self, program: ir.Program, states: Mapping[ir.ExternInstance, Any]) -> None:
        """Profiles, of which several instances may be one."""
        profiles: dict[int, list[ir.ExternInstance]] = {}
        for instance, state in states.items():
            if isinstance(state, ActionProfileState):
                profiles.setdefault(id(state), []).append(instance)
        for instances in profiles.values():
            users = [t for t in program.tables if t.properties.get("implementation") in instances]
            words, size = self.take(2), max((self._row_size(t) for t in users), default=rows.HEAD)
            self.profiles.update(dict.fromkeys(instances, words))
            self.member_sizes.update(dict.fromkeys(instances, size))

    def _table(self, table: ir.MatchTable, objects: ProgramObjectState) -> TablePlan:
        state = objects.tables[table]
        words, key = self.take(TableRecord.WORDS), key_format(state.kinds, state.widths)
        instance = table.properties.get("implementation")
        if isinstance(instance, ir.ExternInstance) and instance in self.profiles:
            size, status = self.member_sizes[instance], self._member_bits(objects.of[instance])
            return TablePlan(words, key, self._row_size(table), self.profiles[instance], size, status=status)
        return TablePlan(words, key, self._row_size(table))

    def _member_bits(self, profile: ActionProfileState) -> MemberBits | None:
        if profile.status is None:
            return None
        column = self.columns[profile.status.bits.name]
        return MemberBits(column.word, column.stride, column.offset)

    def _columns(self, registers: Iterable[RegisterState]) -> dict[str, Column]:
        groups: dict[tuple[str, int, int], list[RegisterState]] = {}
        for r in registers:
            size = container(r.width.width)
            groups.setdefault((r.name.rpartition(".")[0], r.size, size), []).append(r)
        columns = {}
        for (_, _, size), members in groups.items():
            word = self.take(1)
            for i, r in enumerate(members):
                columns[r.name] = Column(word, size * len(members), size * i, r.width.width)
        return columns


def _value_set_kinds(v: ir.ValueSet) -> list[str]:
    return ["range" if kind == "range" else "ternary" for kind in v.match_kinds]
