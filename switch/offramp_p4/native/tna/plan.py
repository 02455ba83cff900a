# SPDX-License-Identifier: Apache-2.0
"""The positions of a TNA program's objects in the context."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from offramp_p4 import ir
from offramp_p4.native.plan import Column, ContextPlan
from offramp_p4.native.shape import container
from offramp_p4.tna.filter_state import FilterState
from offramp_p4.tna.objects import TofinoObjects
from offramp_p4.tna.symmetric import FieldPair


class TnaPlan(ContextPlan):
    """Indices of words in the context; hashes and logs get theirs as the program is translated.

    Attributes:
        single: direct registers that no table names, each of one cell.
        filters: by extern instance, the address of an array of low-pass filters.
        hashes: by Hash object, bits of its data and pairs of fields that it does not tell apart, the address of the
            function's table.
        logs: by register action, the next index of ``execute_log``.
    """

    def __init__(self, program: ir.Program, objects: TofinoObjects) -> None:
        super().__init__(program, objects)
        self.single = {
            i: Column(self.take(1), container(state.width.width), 0, state.width.width)
            for i, state in objects.of.items()
            if i.extern == "DirectRegister" and i not in objects.table_of
        }
        for instance, table in objects.table_of.items():
            if instance.extern == "DirectRegister":
                self.tables[table] = replace(self.tables[table], registers=self.take(1))
        self.filters = {i: self.take(1) for i, state in objects.of.items() if isinstance(state, FilterState)}
        self.hashes: dict[tuple[ir.ExternInstance, int, tuple[FieldPair, ...]], int] = {}
        self.logs: dict[ir.ExternInstance, int] = {}

    def additions(self, program: ir.Program) -> Any:
        """The words of hashes and logs, in their order, by the numbers of their objects in the program."""
        number = {instance: i for i, instance in enumerate(program.externs)}
        hashes = [(word, number[instance], bits, pairs) for (instance, bits, pairs), word in self.hashes.items()]
        return hashes, [(word, number[action]) for action, word in self.logs.items()], self.size

    def add(self, program: ir.Program, additions: Any) -> None:
        """Add the words of hashes and logs."""
        hashes, logs, self.size = additions
        externs = program.externs
        self.hashes = {(externs[i], bits, pairs): word for word, i, bits, pairs in hashes}
        self.logs = {externs[i]: word for word, i in logs}

    def hash(self, instance: ir.ExternInstance, bits: int, pairs: tuple[FieldPair, ...]) -> int:
        """The word of a hash."""
        key = (instance, bits, pairs)
        if key not in self.hashes:
            self.hashes[key] = self.take(1)
        return self.hashes[key]

    def log(self, action: ir.ExternInstance) -> int:
        """The word of a register action's log."""
        if action not in self.logs:
            self.logs[action] = self.take(1)
        return self.logs[action]
