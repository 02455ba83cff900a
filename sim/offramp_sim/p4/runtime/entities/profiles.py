"""ActionProfileMember and ActionProfileGroup (section 9.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from offramp.switch.p4rt.schema import v1
from offramp.switch.p4rt.status import Code, RpcError
from offramp_sim.p4.runtime.entities.base import DELETE, INSERT, ById, invalid
from offramp_sim.p4.runtime.entities.tables import Table
from offramp_sim.p4.state import ActionProfileState, Member


@dataclass
class Profile:
    """An action profile and the tables that use it."""

    state: ActionProfileState
    tables: list[Table]


class MemberHandler:
    """ActionProfileMember."""

    def __init__(self, profiles: ById[Profile]) -> None:
        self._profiles = profiles

    def write(self, kind: int, entry: Any) -> None:
        """Apply one update."""
        profile = self._profiles.get(entry.action_profile_id)
        if kind == DELETE:
            if any(e.action == Member(entry.member_id) for t in profile.tables for e in t.state.entries):
                raise RpcError(
                    Code.FAILED_PRECONDITION,
                    f"action profile {profile.state.name}: member {entry.member_id} is in use",
                )
            profile.state.delete_member(entry.member_id)
            return
        if not profile.tables:
            raise invalid(f"action profile {profile.state.name} belongs to no table")
        action = profile.tables[0].actions.decode(entry.action, default=False)
        if kind == INSERT:
            profile.state.insert_member(entry.member_id, action)
        else:
            profile.state.modify_member(entry.member_id, action)

    def read(self, wanted: Any) -> Iterator[Any]:
        """One member, those of a profile, or all."""
        for identifier, profile in self._profiles.select(wanted.action_profile_id):
            for member, action in sorted(profile.state.members.items()):
                if wanted.member_id in {0, member}:
                    made = v1.ActionProfileMember(
                        action_profile_id=identifier,
                        member_id=member,
                        action=profile.tables[0].codec.encode(action),
                    )
                    yield v1.Entity(action_profile_member=made)


class GroupHandler:
    """ActionProfileGroup; a member's weight is how often the selector's buckets hold it."""

    def __init__(self, profiles: ById[Profile]) -> None:
        self._profiles = profiles

    def write(self, kind: int, entry: Any) -> None:
        """Apply one update."""
        state = self._profiles.get(entry.action_profile_id).state
        if kind == DELETE:
            state.delete_group(entry.group_id)
            return
        what = f"action selector {state.name}, group {entry.group_id}"
        buckets: list[int] = []
        for member in entry.members:
            if member.WhichOneof("watch_kind"):
                raise RpcError(Code.UNIMPLEMENTED, f"{what}: watch ports are not supported")
            if member.weight < 1:
                raise invalid(f"{what}: member {member.member_id} has weight {member.weight}, expected 1 up")
            buckets += [member.member_id] * member.weight
        if kind == INSERT:
            state.insert_group(entry.group_id, buckets)
        else:
            state.modify_group(entry.group_id, buckets)

    def read(self, wanted: Any) -> Iterator[Any]:
        """One group, those of a selector, or all."""
        for identifier, profile in self._profiles.select(wanted.action_profile_id):
            for group, members in sorted(profile.state.groups.items()):
                if wanted.group_id in {0, group}:
                    made = v1.ActionProfileGroup(action_profile_id=identifier, group_id=group)
                    for member, weight in Counter(members).items():
                        made.members.add(member_id=member, weight=weight)
                    yield v1.Entity(action_profile_group=made)
