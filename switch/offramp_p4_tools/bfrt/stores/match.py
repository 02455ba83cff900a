# SPDX-License-Identifier: Apache-2.0
"""Match tables: entries with an action of their own, or with a member or group of an action profile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, cast

from offramp_base.p4rt.status import Code, RpcError
from offramp_p4.state import ActionData, GroupAction, MemberAction, MeterCell, TableEntry, TableState
from offramp_p4.state.match import Exact, Match
from offramp_p4.tna.filter_state import configure, new_cell
from offramp_p4_tools.bfrt import common
from offramp_p4_tools.bfrt.fields import TableSpec
from offramp_p4_tools.bfrt.stores.arrays import (
    filter_options,
    first_filter,
    join_register,
    read_rates,
    split_register,
    write_rates,
)
from offramp_p4_tools.bfrt.stores.base import TableStore
from offramp_p4_tools.bfrt.stores.idle import IdleTable
from offramp_p4_tools.bfrt.stores.sharing import action_data, data_of
from offramp_p4_tools.bfrt.values import EntryData, Key, Value, not_found

_TOP: Final = (1 << 31) - 1
"""The priority that BF-RT calls 0: the smallest number wins there, the greatest here."""
DEFAULT_HANDLE: Final = 1
"""The handle of the default entry."""
Action = ActionData | MemberAction | GroupAction


class MatchStore(TableStore):
    """One match table.

    Args:
        register: bits, and first value, of the direct register; None without one.

    Attributes:
        default_member: member that a miss runs; None: the program's default, or an action of the table's own.
    """

    def __init__(
        self,
        spec: TableSpec,
        state: TableState,
        now_us: Callable[[], int],
        register: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(spec)
        self.state, self._now_us, self._register = state, now_us, register
        self._ordered = common.PRIORITY in spec.key
        self._registers = tuple(f for f in spec.data if f.is_register)
        self._filter = tuple(f for f in spec.data if f.name.startswith(("$LPF_SPEC", "$WRED_SPEC")))
        self._filters: dict[int, dict[str, Value]] = {}  # by id of the entry
        self._rates = tuple(f for f in spec.data if f.name.startswith("$METER_SPEC"))
        self.idle = IdleTable(state) if common.HIT_STATE in spec.data else None
        self.default_member: MemberAction | None = None
        self._handles: dict[int, int] = {}  # by id of the entry
        self._last_handle = DEFAULT_HANDLE

    # --- keys

    def _split(self, key: Key) -> tuple[tuple[Match, ...], int]:
        """Keys and priority as the state has them."""
        if not self._ordered:
            return cast("tuple[Match, ...]", key), 0
        last = key[-1]
        assert isinstance(last, Exact)
        if last.value > _TOP:
            raise self.wrong(f"$MATCH_PRIORITY {last.value} is above {_TOP}")
        return cast("tuple[Match, ...]", key[:-1]), _TOP - last.value

    def key_of_entry(self, entry: TableEntry) -> Key:
        """The key of an entry."""
        return (*entry.keys, Exact(_TOP - entry.priority)) if self._ordered else entry.keys

    def find(self, key: Key) -> TableEntry:
        """The entry with a key.

        Raises:
            RpcError: there is none.
        """
        entry = self.state.get(*self._split(key))
        if entry is None:
            raise not_found(self.spec)
        return entry

    def canonical(self, key: Key) -> Key:
        """The key of an entry as it is kept, or as it was given."""
        entry = self.state.get(*self._split(key))
        return key if entry is None else self.key_of_entry(entry)

    def keys(self) -> Iterator[Key]:
        """The keys of all entries."""
        return (self.key_of_entry(entry) for entry in self.state.entries)

    def usage(self) -> int:
        """Number of entries."""
        return len(self.state)

    # --- handles

    def handle(self, key: Key) -> int:
        """A number for an entry, which no other one has had.

        Raises:
            RpcError: there is no such entry.
        """
        entry = self.find(key)
        if id(entry) not in self._handles:
            self._last_handle += 1
            self._handles[id(entry)] = self._last_handle
        return self._handles[id(entry)]

    def key_of(self, handle: int) -> Key:
        """The key of the entry with a handle.

        Raises:
            RpcError: there is no such entry.
        """
        for entry in self.state.entries:
            if self._handles.get(id(entry)) == handle:
                return self.key_of_entry(entry)
        raise not_found(self.spec)

    # --- entries

    def insert(self, key: Key, data: EntryData) -> None:
        """Add an entry."""
        keys, priority = self._split(key)
        entry = TableEntry(keys, self._action(data), priority)
        self._check(data)
        entry.last_hit_us = self._now_us()
        self.state.insert(entry)
        known = self.state.get(keys, priority)
        assert known is not None, "it was just added"
        self._set_resources(known, data)
        if self.idle is not None:
            self.idle.start(known, self._now_us())

    def modify(self, key: Key, data: EntryData) -> None:
        """Change an entry's action, or the resources that are given, or both."""
        known = self.find(key)
        self._check(data)
        if self._names_action(data):
            changed = TableEntry(known.keys, self._action(data, known.action), known.priority)
            changed.idle_timeout_ns = known.idle_timeout_ns
            self.state.modify(changed)
        elif known.const or self.state.table.const_entries:
            raise RpcError(Code.PERMISSION_DENIED, f"table {self.spec.name}: the entry is const")
        self._set_resources(known, data)

    def restart(self, key: Key) -> None:
        """Give an entry all its time again."""
        if self.idle is not None:
            self.idle.start(self.find(key), self._now_us())

    def delete(self, key: Key) -> None:
        """Remove an entry."""
        entry = self.find(key)
        self.state.delete(*self._split(key))
        self._forget(entry)

    def clear(self) -> None:
        """Remove all entries but the constant ones."""
        removed = [entry for entry in self.state.entries if not entry.const]
        self.state.clear()
        for entry in removed:
            self._forget(entry)

    def get(self, key: Key) -> EntryData:
        """An entry."""
        return self._data(self.find(key))

    def sync(self) -> None:
        """Bring counts, and which entries were hit, up to date."""
        super().sync()
        if self.idle is not None:
            self.idle.sync(self._now_us())

    def _forget(self, entry: TableEntry) -> None:
        self._synced.pop(self.key_of_entry(entry), None)
        self._handles.pop(id(entry), None)
        self._filters.pop(id(entry), None)
        if self.idle is not None:
            self.idle.forget(entry)

    # --- the default entry

    def set_default(self, data: EntryData) -> None:
        """Change the action of a miss, or its resources."""
        self._check(data)
        if data.action is not None or self._names_action(data):
            if self.spec.const_default:
                raise RpcError(Code.PERMISSION_DENIED, f"table {self.spec.name}: the default action is const")
            action = self._action(data)
            if isinstance(action, GroupAction):
                raise self.refusal("a group cannot be the default")
            self.default_member = action if isinstance(action, MemberAction) else None
            self.state.set_default(self._resolved(action))
        self._set_resources(self.state.default_entry, data)

    def reset_default(self) -> None:
        """Bring back the action that the program gives a miss."""
        self.default_member = None
        self.state.set_default(None)

    def member_changed(self, number: int) -> None:
        """A member of the table's action profile has another action: a miss that runs it follows."""
        if self.default_member == MemberAction(number):
            self.state.set_default(self._resolved(self.default_member))

    def _resolved(self, action: ActionData | MemberAction) -> ActionData:
        if isinstance(action, ActionData):
            return action
        assert self.state.profile is not None, "the table has members"
        member = self.state.profile.members.get(action.id)
        if member is None:
            raise RpcError(Code.NOT_FOUND, f"table {self.spec.name}: there is no member {action.id}")
        return member

    def get_default(self) -> EntryData | None:
        """The default entry; that of the program, in a table with an action profile, does not show."""
        if self.default_member is not None:
            return EntryData(
                None, {"$ACTION_MEMBER_ID": self.default_member.id, **self._resources(self.state.default_entry)}
            )
        if self.spec.actions is None:
            return None
        default = data_of(self.spec, self.state.default)
        return EntryData(default.action, {**default.values, **self._resources(self.state.default_entry)})

    # --- what an entry does, and what it has

    def _names_action(self, data: EntryData) -> bool:
        members = {f.name for f in common.MEMBER_OR_GROUP}
        return data.action is not None or bool(members & data.values.keys())

    def _parameters(self, data: EntryData) -> EntryData:
        names = {p.name for p in data.action.params} if data.action is not None else set()
        return EntryData(data.action, {n: v for n, v in data.values.items() if n in names})

    def _action(self, data: EntryData, old: Action | None = None) -> Action:
        if self.spec.actions is not None:
            before = old if isinstance(old, ActionData) else None
            return action_data(self.spec, self._parameters(data), before)
        member, group = (data.values.get(f.name) for f in common.MEMBER_OR_GROUP)
        if (member is None) == (group is None):
            raise self.wrong("an entry needs a member or a group")
        if member is not None:
            return MemberAction(cast("int", member))
        if self.state.profile is not None and self.state.profile.groups.get(cast("int", group)) == ():
            raise self.wrong(f"group {group} has no member that takes packets")
        return GroupAction(cast("int", group))

    def _data(self, entry: TableEntry) -> EntryData:
        values = self._resources(entry)
        match entry.action:
            case MemberAction(number):
                return EntryData(None, {"$ACTION_MEMBER_ID": number, **values})
            case GroupAction(number):
                return EntryData(None, {"$SELECTOR_GROUP_ID": number, **values})
            case action:
                action_data = data_of(self.spec, action)
                return EntryData(action_data.action, {**action_data.values, **values})

    def _resources(self, entry: TableEntry) -> dict[str, Value]:
        values: dict[str, Value] = {}
        if "$COUNTER_SPEC_BYTES" in self._counts:
            values["$COUNTER_SPEC_BYTES"] = int(entry.bytes)
        if "$COUNTER_SPEC_PKTS" in self._counts:
            values["$COUNTER_SPEC_PKTS"] = int(entry.packets)
        if self._rates:
            values |= read_rates(self._rates, entry.meter)
        if self._filter:
            values |= {**first_filter(self._filter), **self._filters.get(id(entry), {})}
        if self._register is not None:
            values |= split_register(self._registers, self._register_of(entry))
        if self.idle is not None and entry is not self.state.default_entry:
            values |= self.idle.values(entry, self._now_us())
        return values

    def _check(self, data: EntryData) -> None:
        wanted = data.values.get("$ENTRY_TTL")
        if self.idle is not None and wanted is not None:
            self.idle.check(self.spec.name, cast("int", wanted))

    def _set_resources(self, entry: TableEntry, data: EntryData) -> None:
        values = data.values
        if "$COUNTER_SPEC_PKTS" in values:
            entry.packets = cast("int", values["$COUNTER_SPEC_PKTS"])
        if "$COUNTER_SPEC_BYTES" in values:
            entry.bytes = cast("int", values["$COUNTER_SPEC_BYTES"])
        if any(f.name in values for f in self._rates):
            entry.meter = entry.meter or MeterCell()
            write_rates(self._rates, entry.meter, values, self._now_us())
        filters = {f.name: values[f.name] for f in self._filter if f.name in values}
        if filters:
            now = {**first_filter(self._filter), **self._filters.get(id(entry), {}), **filters}
            entry.filter = entry.filter or new_cell()
            configure(entry.filter, **filter_options(now))
            self._filters[id(entry)] = now
        if self._register is not None and any(f.name in values for f in self._registers):
            bits, _ = self._register
            word = join_register(self._registers, self._register_of(entry), values)
            entry.register = word & (1 << bits) - 1
        if self.idle is not None and entry is not self.state.default_entry:
            self.idle.set(entry, values, self._now_us())

    def _register_of(self, entry: TableEntry) -> int:
        assert self._register is not None
        bits, first = self._register
        return int(first if entry.register is None else entry.register) & (1 << bits) - 1
