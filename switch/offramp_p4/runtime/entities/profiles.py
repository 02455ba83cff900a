# SPDX-License-Identifier: Apache-2.0
"""ActionProfileMember and ActionProfileGroup (section 9.2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from offramp_base.p4rt.schema import v1
from offramp_base.p4rt.status import Code, RpcError
from offramp_p4.runtime.entities.base import DELETE, INSERT, ById, invalid
from offramp_p4.runtime.entities.selectors import HIDDEN, ActionSelector
from offramp_p4.runtime.entities.tables import P4RuntimeTable
from offramp_p4.state import GroupAction, MemberAction


@dataclass
class ActionProfile:
    """An action profile or selector and the tables that use it."""

    selector: ActionSelector
    tables: list[P4RuntimeTable]

    def check_unused(self, action: MemberAction | GroupAction, what: str) -> None:
        """Check that no table entry refers to a member or group.

        Raises:
            RpcError: FAILED_PRECONDITION.
        """
        if self.selector.uses[action]:
            raise RpcError(Code.FAILED_PRECONDITION, f"{what} is in use")


class MemberHandler:
    """ActionProfileMember."""

    def __init__(self, profiles: ById[ActionProfile]) -> None:
        self._profiles = profiles

    def write(self, kind: int, entry: Any) -> None:
        """Apply one update."""
        profile = self._profiles.get(entry.action_profile_id)
        state, what = profile.selector.state, f"{profile.selector.what}: member {entry.member_id}"
        if kind == DELETE:
            profile.check_unused(MemberAction(entry.member_id), what)
            if any(b.member == entry.member_id for _, group in profile.selector.groups.values() for b in group):
                raise RpcError(Code.FAILED_PRECONDITION, f"{what} is in a group")
            state.delete_member(entry.member_id)
            return
        if not profile.tables:
            raise invalid(f"{profile.selector.what} belongs to no table")
        if not entry.HasField("action"):
            raise invalid(f"{what} has no action")
        action = profile.tables[0].actions.decode(entry.action, default=False)
        if kind == INSERT:
            if not entry.member_id:
                raise invalid(f"{profile.selector.what}: the id of a member is above 0")
            state.insert_member(entry.member_id, action)
        else:
            state.modify_member(entry.member_id, action)

    def read(self, wanted: Any) -> Iterator[Any]:
        """One member, those of a profile, or all."""
        for identifier, profile in self._profiles.select(wanted.action_profile_id):
            for member, action in sorted(profile.selector.state.members.items()):
                if wanted.member_id in {0, member} and member < HIDDEN:
                    entry = v1.ActionProfileMember(
                        action_profile_id=identifier,
                        member_id=member,
                        action=profile.tables[0].codec.encode(action),
                    )
                    yield v1.Entity(action_profile_member=entry)


class GroupHandler:
    """ActionProfileGroup; a member's weight is how often the selector's buckets hold it."""

    def __init__(self, profiles: ById[ActionProfile]) -> None:
        self._profiles = profiles

    def write(self, kind: int, entry: Any) -> None:
        """Apply one update."""
        profile = self._profiles.get(entry.action_profile_id)
        if kind == DELETE:
            profile.check_unused(GroupAction(entry.group_id), f"{profile.selector.what}: group {entry.group_id}")
            profile.selector.delete_group(entry.group_id)
            return
        profile.selector.put_group(entry, new=kind == INSERT)

    def read(self, wanted: Any) -> Iterator[Any]:
        """One group, those of a selector, or all."""
        for _, profile in self._profiles.select(wanted.action_profile_id):
            for group, (message, _) in sorted(profile.selector.groups.items()):
                if wanted.group_id in {0, group}:
                    yield v1.Entity(action_profile_group=message)
