# SPDX-License-Identifier: Apache-2.0
"""Action profiles and selectors: actions shared by the entries of tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from offramp_p4.state.match import StateError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from offramp_p4.state.member_status import MemberStatus
    from offramp_p4.state.table import TableState


@dataclass(frozen=True, slots=True)
class ActionData:
    """An action by control-plane name, with its arguments as unsigned bit patterns."""

    action: str
    args: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class MemberAction:
    """The action of a table entry is that of a member of the table's action profile."""

    id: int


@dataclass(frozen=True, slots=True)
class GroupAction:
    """The action of a table entry is that of a member of a group, which the selector picks by hash."""

    id: int


@dataclass(slots=True)
class ActionProfileState:
    """Members and, with ``selector``, groups of members (P4Runtime section 9.2).

    Attributes:
        tables: tables that use the profile; a member's action must be one of each.
        status: with it, the data plane has a say in which members of a group take packets.
        random_groups: groups of which each packet takes a member at random, not by its hash; never with ``status``.
    """

    name: str
    size: int
    selector: bool = False
    members: dict[int, ActionData] = field(default_factory=dict)
    groups: dict[int, tuple[int, ...]] = field(default_factory=dict)
    tables: list[TableState] = field(default_factory=list)
    status: MemberStatus | None = None
    random_groups: set[int] = field(default_factory=set)

    def insert_member(self, member: int, action: ActionData) -> None:
        """Add a member."""
        if member in self.members:
            raise StateError("already_exists", f"action profile {self.name}: member {member} exists")
        if len(self.members) >= self.size:
            raise StateError("exhausted", f"action profile {self.name} holds at most {self.size} members")
        self._check(action)
        self.members[member] = action

    def modify_member(self, member: int, action: ActionData) -> None:
        """Give a member another action."""
        self._known(member)
        self._check(action)
        self.members[member] = action

    def delete_member(self, member: int) -> None:
        """Remove a member that no group uses."""
        self._known(member)
        if any(member in group for group in self.groups.values()):
            raise StateError("invalid", f"action profile {self.name}: member {member} is in a group")
        del self.members[member]

    def insert_group(self, group: int, members: Sequence[int]) -> None:
        """Add a group."""
        if not self.selector:
            raise StateError("invalid", f"action profile {self.name} is not a selector: it has no groups")
        if group in self.groups:
            raise StateError("already_exists", f"action selector {self.name}: group {group} exists")
        self._set_group(group, members)

    def modify_group(self, group: int, members: Sequence[int]) -> None:
        """Replace the members of a group."""
        if group not in self.groups:
            raise StateError("not_found", f"action selector {self.name}: no group {group}")
        self._set_group(group, members)

    def delete_group(self, group: int) -> None:
        """Remove a group."""
        if group not in self.groups:
            raise StateError("not_found", f"action selector {self.name}: no group {group}")
        del self.groups[group]
        if self.status is not None:
            self.status.delete(group)

    def drop(self, group: int, members: Sequence[int]) -> None:
        """Remove a group and the members that are in no other group."""
        ActionProfileState.delete_group(self, group)
        self.random_groups.discard(group)
        for member in members:
            del self.members[member]

    def resolve(
        self, action: ActionData | MemberAction | GroupAction, hash_value: int, random: Random
    ) -> ActionData | None:
        """The action to run; None for an empty group or a member that is gone."""
        if isinstance(action, GroupAction):
            members = self.taking_packets(action.id)
            if not members:
                return None
            if action.id in self.random_groups:
                return self.members.get(members[random.randint(0, len(members) - 1)])
            return self.members.get(members[hash_value % len(members)])
        return self.members.get(action.id) if isinstance(action, MemberAction) else action

    def taking_packets(self, group: int) -> Sequence[int]:
        """The members of a group that the selector picks from; none of a group that does not exist."""
        return self.groups.get(group, ()) if self.status is None else self.status.up(group)

    def reset(self) -> None:
        """No members, no groups."""
        self.members.clear()
        self.groups.clear()
        self.random_groups.clear()
        if self.status is not None:
            self.status.reset()

    def _known(self, member: int) -> None:
        if member not in self.members:
            raise StateError("not_found", f"action profile {self.name}: no member {member}")

    def _check(self, action: ActionData) -> None:
        for table in self.tables:
            table.check_action(action)

    def _set_group(self, group: int, members: Sequence[int]) -> None:
        for member in members:
            self._known(member)
        if self.status is not None:
            self.status.check(group, members)
            self.status.write(group, members)
        self.groups[group] = tuple(members)
