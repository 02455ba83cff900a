# SPDX-License-Identifier: Apache-2.0
"""Instrumented proxies of a switch's state: they do the same and note it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from offramp_p4.names import match_text
from offramp_p4.state import ActionData, GroupAction, MemberAction, TableEntry

if TYPE_CHECKING:
    from random import Random

    from offramp_p4.engine.objects import ProgramObjects
    from offramp_p4.state import (
        ActionProfileState,
        CounterState,
        MeterCell,
        MeterState,
        RegisterState,
        TableState,
        ValueSetState,
    )
    from offramp_p4.trace.recorder import Recorder


def proxies(objects: ProgramObjects, recorder: Recorder) -> dict[int, object]:
    """Instrumented proxies for objects in the generated code, by ``id`` of the object that each replaces."""
    substitutes: dict[int, object] = {}
    for table in objects.tables.values():
        substitutes[id(table)] = _TracedTable(table, recorder)
    for profile in objects.profiles.values():
        substitutes[id(profile)] = _Profile(profile, recorder)
    for register in objects.registers.values():
        substitutes[id(register.values)] = _Register(register, recorder)
    for counter in objects.counters.values():
        substitutes[id(counter.packets)] = _Counter(counter, recorder)
    for meter in objects.meters.values():
        substitutes[id(meter.cells)] = _Meter(meter, recorder)
    for value_set in objects.value_sets.values():
        substitutes[id(value_set)] = _ValueSet(value_set, recorder)
    return substitutes


class _TracedTable:
    def __init__(self, state: TableState, recorder: Recorder) -> None:
        self._state, self._recorder = state, recorder
        choices = [*state.table.actions, state.table.default.action]
        self._data = {c.action.name: [p.name for p in c.data_params] for c in choices}

    def lookup(self, values: tuple[int, ...]) -> TableEntry | None:
        entry = self._state.lookup(values)
        names = [key.name for key in self._state.keys]
        key = dict(zip(names, values, strict=True))
        event = self._recorder.add("table", self._state.name, key=key, hit=entry is not None)
        if entry is None:
            event.detail.update(self.action(self._state.default))
            return None
        matched: dict[str, Any] = {"match": dict(zip(names, map(match_text, entry.keys), strict=True))}
        if self._state.needs_priority:
            matched["priority"] = entry.priority
        event.detail["entry"], event.entry = matched, entry
        if isinstance(entry.action, ActionData):
            event.detail.update(self.action(entry.action))
        return entry

    def action(self, action: ActionData) -> dict[str, Any]:
        """The action that runs, as part of an event."""
        names = self._data[action.action]
        return {"action": action.action, "data": dict(zip(names, action.args, strict=True))}

    @property
    def default(self) -> ActionData:
        if not self._state.keys:  # else the look-up has noted the miss
            self._recorder.add("table", self._state.name, key={}, hit=False, **self.action(self._state.default))
        return self._state.default

    @property
    def default_entry(self) -> TableEntry:
        return self._state.default_entry

    def insert(self, entry: TableEntry) -> None:
        """Insert the entry that a packet adds to the table that it has missed."""
        self._state.insert(entry)
        key = dict(zip([key.name for key in self._state.keys], map(match_text, entry.keys), strict=True))
        assert isinstance(entry.action, ActionData)
        self._recorder.add("learn", self._state.name, key=key, **self.action(entry.action))

    @property
    def hits(self) -> int:
        return self._state.hits

    @hits.setter
    def hits(self, count: int) -> None:
        self._state.hits = count

    @property
    def misses(self) -> int:
        return self._state.misses

    @misses.setter
    def misses(self, count: int) -> None:
        self._state.misses = count

    def __getattr__(self, name: str) -> Any:
        return getattr(self._state, name)


class _Profile:
    def __init__(self, state: ActionProfileState, recorder: Recorder) -> None:
        self._state, self._recorder = state, recorder

    def resolve(
        self, action: ActionData | MemberAction | GroupAction, hash_value: int, random: Random
    ) -> ActionData | None:
        chooser = self._recorder.chooser
        members = list(self._state.taking_packets(action.id)) if isinstance(action, GroupAction) else []
        if chooser is not None and members:
            different = list(dict.fromkeys(members))  # a weight is a member that is there several times
            hash_value = members.index(different[chooser.choose(len(different))])
        chosen = self._state.resolve(action, hash_value, random)
        detail = self._recorder.last.detail
        detail["member"] = str(action)
        detail["action"] = None if chosen is None else chosen.action
        if chosen is not None:
            params = self._state.tables[0].actions[chosen.action].data_params
            detail["data"] = dict(zip([p.name for p in params], chosen.args, strict=True))
        return chosen


class _Register:
    def __init__(self, state: RegisterState, recorder: Recorder) -> None:
        self._name, self._values, self._recorder = state.name, state.values, recorder

    def __getitem__(self, index: int) -> int:
        value = self._values[index]
        self._recorder.add("read", self._name, index=index, value=value)
        return value

    def __setitem__(self, index: int, value: int) -> None:
        self._recorder.add("write", self._name, index=index, old=self._values[index], value=value)
        self._values[index] = value


class _Counter:
    def __init__(self, state: CounterState, recorder: Recorder) -> None:
        self._name, self._packets, self._recorder = state.name, state.packets, recorder

    def __getitem__(self, index: int) -> int:
        return self._packets[index]

    def __setitem__(self, index: int, value: int) -> None:
        self._recorder.add("count", self._name, index=index)
        self._packets[index] = value


class _Meter:
    def __init__(self, state: MeterState, recorder: Recorder) -> None:
        self._state, self._recorder = state, recorder

    def __getitem__(self, index: int) -> _Cell:
        return _Cell(self._state.name, index, self._state.cells[index], self._recorder)


class _Cell:
    def __init__(self, name: str, index: int, cell: MeterCell, recorder: Recorder) -> None:
        self._name, self._index, self._cell, self._recorder = name, index, cell, recorder

    def execute(self, amount: int, now_us: int, length: int = 0) -> int:
        return self._noted(self._cell.execute(amount, now_us, length))

    def execute_coloured(self, amount: int, now_us: int, before: int, length: int = 0) -> int:
        return self._noted(self._cell.execute_coloured(amount, now_us, before, length))

    def _noted(self, colour: int) -> int:
        self._recorder.add("meter", self._name, index=self._index, colour=("green", "yellow", "red")[colour])
        return colour


class _ValueSet:
    def __init__(self, state: ValueSetState, recorder: Recorder) -> None:
        self._state, self._recorder = state, recorder

    def contains(self, *values: int) -> bool:
        member = self._state.contains(*values)
        self._recorder.add("value_set", self._state.name, values=list(values), found=member)
        return member
