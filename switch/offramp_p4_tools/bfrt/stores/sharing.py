# SPDX-License-Identifier: Apache-2.0
"""Action profiles and selectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

from offramp_base.p4rt.status import Code, RpcError
from offramp_p4.state import ActionData, ActionProfileState, GroupAction, MemberAction
from offramp_p4.state.match import Exact
from offramp_p4_tools.bfrt.fields import TableSpec
from offramp_p4_tools.bfrt.stores.base import TableStore
from offramp_p4_tools.bfrt.values import EntryData, Key, Value, exists, not_found, numbers, only


def action_data(spec: TableSpec, data: EntryData, old: ActionData | None = None) -> ActionData:
    """The action of an entry; parameters that are not given stay as in ``old``, if it runs the same action.

    Raises:
        RpcError: there is no action, or a parameter is missing.
    """
    if data.action is None:
        raise RpcError(Code.INVALID_ARGUMENT, f"table {spec.name}: the action is missing")
    before = {}
    if old is not None and old.action == data.action.name:
        before = dict(zip((p.name for p in data.action.params), old.args, strict=True))
    args = {**before, **{n: cast("int", v) for n, v in data.values.items()}}
    missing = next((p.name for p in data.action.params if p.name not in args), None)
    if missing is not None:
        raise RpcError(Code.INVALID_ARGUMENT, f"table {spec.name}: action {data.action.name}: {missing} is missing")
    return ActionData(data.action.name, tuple(args[p.name] for p in data.action.params))


def data_of(spec: TableSpec, action: ActionData) -> EntryData:
    """An action as data of an entry."""
    action_spec = next((a for a in spec.actions or () if a.name == action.action), None)
    names = () if action_spec is None else (p.name for p in action_spec.params)
    return EntryData(action_spec, dict(zip(names, action.args, strict=False)))


class ProfileStore(TableStore):
    """The members of an action profile.

    Attributes:
        changed: called with each member whose action has changed.
    """

    def __init__(self, spec: TableSpec, state: ActionProfileState) -> None:
        super().__init__(spec)
        self._state = state
        self.changed: list[Callable[[int], None]] = []

    def insert(self, key: Key, data: EntryData) -> None:
        """Add a member."""
        self._state.insert_member(only(key), action_data(self.spec, data))

    def modify(self, key: Key, data: EntryData) -> None:
        """Give a member another action."""
        number = only(key)
        self._state.modify_member(number, action_data(self.spec, data, self._state.members.get(number)))
        for follow in self.changed:
            follow(number)

    def delete(self, key: Key) -> None:
        """Remove a member that neither a group nor an entry uses."""
        number = only(key)
        if any(entry.action == MemberAction(number) for table in self._state.tables for entry in table.entries):
            raise self.wrong(f"an entry uses member {number}")
        self._state.delete_member(number)

    def clear(self) -> None:
        """Remove all members."""
        for number in list(self._state.members):
            self.delete((Exact(number),))

    def get(self, key: Key) -> EntryData:
        """A member."""
        action = self._state.members.get(only(key))
        if action is None:
            raise not_found(self.spec)
        return data_of(self.spec, action)

    def keys(self) -> Iterator[Key]:
        """The ids of all members."""
        return iter([(Exact(number),) for number in self._state.members])


@dataclass
class _Group:
    """Members in their order, whether each takes packets, and how many there may be."""

    members: list[int]
    active: list[bool]
    most: int


class SelectorStore(TableStore):
    """The groups of a selector; a member that is switched off takes no packets, one that stands there twice more."""

    def __init__(self, spec: TableSpec, state: ActionProfileState) -> None:
        super().__init__(spec)
        self._state = state
        self._groups: dict[int, _Group] = {}
        self._most = next(cast("int", f.default) for f in spec.data if f.name == "$MAX_GROUP_SIZE")

    def insert(self, key: Key, data: EntryData) -> None:
        """Add a group."""
        number = only(key)
        if number in self._state.groups:
            raise exists(self.spec)
        if len(self._state.groups) >= self.spec.size:
            raise RpcError(Code.RESOURCE_EXHAUSTED, f"table {self.spec.name} holds at most {self.spec.size} groups")
        self._set(number, self._changed(_Group([], [], self._most), data))

    def modify(self, key: Key, data: EntryData) -> None:
        """Replace the members of a group."""
        number = only(key)
        self._set(number, self._changed(self._find(key), data))

    def change_lists(self, key: Key, data: EntryData, *, remove: bool) -> None:
        """Add members to a group or remove them."""
        number, old = only(key), self._find(key)
        added = self._changed(_Group([], [], old.most), data)
        if remove:
            removed = set(added.members)
            if not removed <= set(old.members):
                raise not_found(self.spec)
            remaining = [(m, a) for m, a in zip(old.members, old.active, strict=True) if m not in removed]
            self._set(number, _Group([m for m, _ in remaining], [a for _, a in remaining], old.most))
            return
        self._set(number, _Group(old.members + added.members, old.active + added.active, old.most))

    def delete(self, key: Key) -> None:
        """Remove a group that no entry uses."""
        number = only(key)
        self._find(key)
        if self._used(number):
            raise self.wrong(f"an entry uses group {number}")
        self._state.delete_group(number)
        self._groups.pop(number, None)

    def clear(self) -> None:
        """Remove all groups."""
        for number in list(self._state.groups):
            self.delete((Exact(number),))

    def get(self, key: Key) -> EntryData:
        """A group."""
        group = self._find(key)
        values: dict[str, Value] = {
            "$ACTION_MEMBER_ID": list(group.members),
            "$ACTION_MEMBER_STATUS": list(group.active),
            "$MAX_GROUP_SIZE": group.most,
        }
        return EntryData(None, values)

    def keys(self) -> Iterator[Key]:
        """The ids of all groups."""
        return iter([(Exact(number),) for number in self._state.groups])

    def _used(self, number: int) -> bool:
        return any(entry.action == GroupAction(number) for table in self._state.tables for entry in table.entries)

    def _find(self, key: Key) -> _Group:
        number = only(key)
        members = self._state.groups.get(number)
        if members is None:
            raise not_found(self.spec)
        known = self._groups.get(number)
        if known is not None and tuple(_active(known)) == members:
            return known
        return _Group(list(members), [True] * len(members), max(self._most, len(members)))

    def _changed(self, old: _Group, data: EntryData) -> _Group:
        values = data.values
        members = cast("list[int]", values.get("$ACTION_MEMBER_ID", old.members))
        active = values.get("$ACTION_MEMBER_STATUS")
        if active is None:
            active = old.active if members == old.members else [True] * len(members)
        most = cast("int", values.get("$MAX_GROUP_SIZE", old.most)) or self._most
        if len(cast("list[bool]", active)) != len(members):
            raise self.wrong(f"{len(members)} members, but a status for {len(cast('list[bool]', active))}")
        return _Group(list(members), list(cast("list[bool]", active)), most)

    def _set(self, number: int, group: _Group) -> None:
        if len(group.members) > group.most:
            raise RpcError(
                Code.RESOURCE_EXHAUSTED,
                f"table {self.spec.name}: {len(group.members)} members in a group of at most {group.most}",
            )
        if not group.members and self._used(number):
            raise self.wrong(f"an entry uses group {number}, which would have no members")
        strangers = [m for m in group.members if m not in self._state.members]
        if strangers:
            raise RpcError(Code.NOT_FOUND, f"table {self.spec.name}: there is no member {strangers[0]}")
        change = self._state.modify_group if number in self._state.groups else self._state.insert_group
        change(number, _active(group))
        self._groups[number] = group


def _active(group: _Group) -> list[int]:
    return [m for m, active in zip(group.members, group.active, strict=True) if active]


class GetMemberStore(TableStore):
    """The member that a selector picks for a hash."""

    def __init__(self, spec: TableSpec, state: ActionProfileState) -> None:
        super().__init__(spec)
        self._state = state

    def get(self, key: Key) -> EntryData:
        """The member of a group for a hash."""
        group, hashed = numbers(key)
        members = self._state.taking_packets(group)
        if not members:
            raise not_found(self.spec)
        return EntryData(None, {"$ACTION_MEMBER_ID": members[hashed % len(members)]})

    def keys(self) -> Iterator[Key]:
        """There are no entries to list."""
        return iter(())

    def clear(self) -> None:
        """There is nothing to remove."""
