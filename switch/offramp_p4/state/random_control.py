# SPDX-License-Identifier: Apache-2.0
"""A random control plane: the same changes of state for any number of switches with one program."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, Final

from offramp_base.errors import OfframpError
from offramp_p4.state import (
    ANY,
    ActionData,
    CloneSession,
    Exact,
    GroupAction,
    Lpm,
    Match,
    MemberAction,
    MeterCell,
    Optional,
    Range,
    Replica,
    TableEntry,
    TableState,
    Ternary,
)
from offramp_p4.state.match import key_width, normalise

if TYPE_CHECKING:
    from offramp_p4.state import ActionProfileState
    from offramp_p4.switch import Switch

PORTS: Final = 8
"""Packets enter and leave at ports below this."""
MEMBERS: Final = 6
GROUPS: Final = 3


class RandomControl:
    """Changes that follow from the program and the seed alone; ``portable`` ones also bmv2's command line takes."""

    def __init__(self, switch: Switch | Any, seed: int, *, portable: bool = False) -> None:
        self.switch, self.rng, self.portable = switch, Random(seed), portable

    def fill(self) -> None:
        """Members, entries, value sets, rates, multicast groups 1 to 3 (one empty), clone sessions 1 and 2."""
        for _, profile in sorted(self._used_profiles().items()):
            self._members(profile)
        for _, table in sorted(self.switch.tables.items()):
            for _ in range(self.rng.randint(0, 6)):
                self._try(partial(self._insert, table))
        if not self.portable:
            self._value_sets()
        for _, meter in sorted(self.switch.meters.items()):
            if meter.table is not None or self.portable:
                continue  # a direct meter: its cells are those of the entries
            for cell in list(meter.cells):
                cell.configure(self._rates(), self.switch.now_us)
        self._filters()
        self.switch.pre.multicast.update({1: self._replicas(), 2: self._replicas(), 3: ()})
        for session in (1, 2):
            length = 0 if self.portable else self.rng.choice((0, 0, 20))
            self.switch.pre.clones[session] = CloneSession(self._replicas(), packet_length=length)

    def disturb(self) -> None:
        """Make a few changes, as a controller does while packets pass; time advances."""
        self.switch.now_us += self.rng.choice((0, 1, 50_000, 10_000_000))
        changes: list[Callable[[], None]] = [self._change_table] * 4
        changes += [self._change_profile, self._value_sets, self._change_register, self._change_replication]
        for _ in range(self.rng.randint(0, 4)):
            self._try(self.rng.choice(changes))

    def _try(self, change: Callable[[], None]) -> None:
        """Make a change that the state may refuse: the same match again, a table that is full or constant."""
        try:
            change()
        except OfframpError:
            return

    # --- tables --------------------------------------------------------------------------------------------

    def _change_table(self) -> None:
        name = self._name(self.switch.tables)
        if not name:
            return
        table = self.switch.tables[name]
        entries = sorted(table.entries, key=lambda e: repr((e.keys, e.priority)))  # their order is the engine's
        roll = self.rng.randrange(5)
        if roll == 0 or not entries:
            self._insert(table)
        elif roll == 1:
            table.set_default(None if self.rng.random() < 0.3 else self._action(table))
        elif roll == 2:
            entry = self.rng.choice(entries)
            table.modify(TableEntry(entry.keys, self._entry(table).action, entry.priority))
        elif roll == 3:
            entry = self.rng.choice(entries)
            table.delete(entry.keys, entry.priority)
        else:
            self._insert(table)

    def _insert(self, table: TableState) -> None:
        entry = self._entry(table)
        if self.portable:  # bmv2 takes no two entries with one match, whatever their priorities
            parts = zip(entry.keys, table.kinds, table.widths, strict=True)
            entry.keys = tuple(normalise(key, kind, width, table.name) for key, kind, width in parts)
            if any(entry.keys == other.keys for other in table.entries):
                return
        table.insert(entry)

    def _entry(self, table: TableState) -> TableEntry:
        keys = tuple(self._match(kind, width) for kind, width in zip(table.kinds, table.widths, strict=True))
        action: ActionData | MemberAction | GroupAction = self._action(table)
        if table.profile is not None:
            member, group = MemberAction(self.rng.randint(1, MEMBERS)), GroupAction(self.rng.randint(1, GROUPS))
            action = self.rng.choice((member, group)) if table.profile.selector else member
        entry = TableEntry(keys, action, self.rng.randint(1, 9) if table.needs_priority else 0)
        if "meters" in table.table.properties and not self.portable and self.rng.random() < 0.7:
            entry.meter = MeterCell()
            entry.meter.configure(self._rates(), self.switch.now_us)
        return entry

    def _action(self, table: TableState) -> ActionData:
        choice = table.actions[self.rng.choice(sorted(table.actions))]
        return ActionData(
            choice.action.name, tuple(self.rng.randrange(1 << key_width(p.type)) for p in choice.data_params)
        )

    def _match(self, kind: str, width: int) -> Match:
        rng = self.rng
        value, other = (rng.choice((rng.randrange(1 << width), rng.randrange(1 << min(width, 2)))) for _ in range(2))
        if kind != "exact" and rng.random() < 0.2:
            return ANY
        matches: dict[str, Match] = {
            "exact": Exact(value),
            "lpm": Lpm(value, rng.randint(1, width) if width else 0),
            "ternary": Ternary(value, other),
            "range": Range(min(value, other), max(value, other)),
            "optional": Optional(value),
        }
        return matches[kind]

    # --- the rest ------------------------------------------------------------------------------------------

    def _used_profiles(self) -> dict[str, ActionProfileState]:
        """Those with a table: the others have no actions."""
        return {name: profile for name, profile in self.switch.profiles.items() if profile.tables}

    def _members(self, profile: ActionProfileState) -> None:
        table = profile.tables[0]
        for member in range(1, MEMBERS + 1):
            action = self._action(table)
            self._try(partial(profile.insert_member, member, action))
        if profile.selector:
            for group in range(1, GROUPS + 1):
                self._try(partial(profile.insert_group, group, self._some_members()))

    def _some_members(self) -> list[int]:
        return sorted(self.rng.sample(range(1, MEMBERS + 1), self.rng.randint(0, 4)))

    def _change_profile(self) -> None:
        profiles = self._used_profiles()
        name = self._name(profiles)
        if not name:
            return
        profile = profiles[name]
        if profile.selector and self.rng.random() < 0.5:
            profile.modify_group(self.rng.randint(1, GROUPS), self._some_members())
        else:
            profile.modify_member(self.rng.randint(1, MEMBERS), self._action(profile.tables[0]))

    def _value_sets(self) -> None:
        for declared in self.switch.program.value_sets:
            state = self.switch.value_sets[declared.name]
            kinds = list(zip(declared.match_kinds, state.widths, strict=True))
            members = {
                tuple(normalise(self._match(kind, width), kind, width, "value set") for kind, width in kinds): None
                for _ in range(self.rng.randint(0, state.size))
            }
            state.set(list(members))

    def _change_register(self) -> None:
        name = self._name(self.switch.registers)
        if name:
            register = self.switch.registers[name]
            register.write(self.rng.randrange(register.size), self.rng.randrange(2))

    def _change_replication(self) -> None:
        self.switch.pre.multicast[self.rng.randint(1, 3)] = self._replicas()
        self.switch.pre.clones[self.rng.randint(1, 3)] = CloneSession(self._replicas())

    def _replicas(self) -> tuple[Replica, ...]:
        count = self.rng.randint(1, 3)
        return tuple(Replica(self.rng.randrange(PORTS), instance) for instance in range(1, count + 1))

    def _filters(self) -> None:
        """Low-pass filters of TNA."""
        for _, state in sorted(self.switch.filters.items()):
            for index in range(state.size):
                low, high = sorted(self.rng.choice((0, 1, 200, 1 << 20)) for _ in range(2))
                state.configure(
                    index,
                    rise_ns=self.rng.choice((0, 900, 10**6, 10**9)),
                    fall_ns=self.rng.choice((None, 0, 10**7)),
                    rate=self.rng.random() < 0.3,
                    scale=self.rng.choice((0, 0, 3)),
                    low=low,
                    high=high,
                    probability=self.rng.random(),
                )

    def _rates(self) -> tuple[tuple[float, int], ...]:
        rate, burst = self.rng.choice((0.5, 1.0, 1000.0)), self.rng.randint(1, 200)
        return (rate, burst), (2 * rate, 2 * burst)

    def _name(self, named: dict[str, Any]) -> str:
        return self.rng.choice(sorted(named)) if named else ""
