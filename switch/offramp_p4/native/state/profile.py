# SPDX-License-Identifier: Apache-2.0
"""Action profiles and selectors in rows that entries of tables point to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from offramp_base.native.arrays import address
from offramp_p4.native.actions import GROUP, MEMBER, NOTHING, Actions, indirect
from offramp_p4.native.state.context import SwitchContext, Words
from offramp_p4.state import ActionData, ActionProfileState, GroupAction, MemberAction
from offramp_p4.state.member_status import MemberStatus


class NativeProfile(ActionProfileState):
    """An action profile or selector. Members and groups keep their places, also while they do not exist."""

    def __init__(self, name: str, size: int, selector: bool = False) -> None:
        super().__init__(name, size, selector)
        self._stale = True
        self._members: dict[int, int] = {}  # 0 is the place of the member that never exists
        self._groups: dict[int, int] = {}

    def attach(self, context: SwitchContext, words: int, row_size: int, actions: Actions) -> None:
        """Be found at ``words`` of the context."""
        self._context, self._words, self._row_size, self._actions = context, words, row_size, actions
        self._none = NOTHING.to_bytes(4, "little").ljust(row_size, b"\0")

    def row(self, action: MemberAction | GroupAction) -> bytes:
        """The row of an entry with this action."""
        lvalues = self._members if isinstance(action, MemberAction) else self._groups
        if action.id not in lvalues:
            lvalues[action.id] = len(lvalues) + 1
            self._stale = True
        return indirect(MEMBER if isinstance(action, MemberAction) else GROUP, lvalues[action.id])

    def sync(self) -> None:
        """Write the rows, if anything has changed."""
        if not self._stale:
            return
        self._stale = False
        groups_now = self.groups.copy()  # a control plane may go on
        for group in groups_now:
            self._groups.setdefault(group, len(self._groups) + 1)
        for member in (*list(self.members), *(m for group in groups_now.values() for m in group)):
            self._members.setdefault(member, len(self._members) + 1)
        rows = [self._none] + [self._member_row(member) for member in self._members]
        self._rows = np.frombuffer(b"".join(rows), np.uint8)
        self._context.hold(self._words, self._rows)
        groups = [groups_now.get(group, ()) for group in (None, *self._groups)]  # type: ignore[arg-type]
        flat = np.array([self._members[m] for group in groups for m in group] or [0], np.int64)
        sizes = np.array([len(group) for group in groups], np.int64)
        drawn = np.array([group in self.random_groups for group in (None, *self._groups)])
        firsts = np.cumsum(sizes) - sizes
        starts = address(flat) + 8 * firsts
        self._flat = flat
        if self.status is not None:
            self._hold_status(starts, firsts, sizes, self.status, [None, *self._groups])
            return
        # An empty group runs the member that never exists.
        starts[sizes == 0], sizes[sizes == 0] = address(_NO_MEMBER), 1
        sizes[drawn] *= -1  # says that members are drawn
        self._context.hold(self._words + 1, np.ascontiguousarray(np.stack([starts, sizes], axis=1)))

    def _hold_status(
        self, starts: Words, firsts: Words, sizes: Words, status: MemberStatus, groups: list[int | None]
    ) -> None:
        """Rows of groups whose members have bits: the numbers of these follow in a third column."""
        places = [at for group in groups if group is not None for at in status.indices(group)]
        self._places = np.array(places or [0], np.int64)
        rows = np.stack([starts, sizes, address(self._places) + 8 * firsts], axis=1)
        self._context.hold(self._words + 1, np.ascontiguousarray(rows))

    def _member_row(self, member: int) -> bytes:
        action = self.members.get(member)
        return self._none if action is None else self._actions.encode(action).ljust(self._row_size, b"\0")

    def insert_member(self, member: int, action: ActionData) -> None:
        """Add a member."""
        super().insert_member(member, action)
        self._stale = True

    def modify_member(self, member: int, action: ActionData) -> None:
        """Give a member another action."""
        super().modify_member(member, action)
        self._stale = True

    def delete_member(self, member: int) -> None:
        """Remove a member that no group uses."""
        super().delete_member(member)
        self._stale = True

    def delete_group(self, group: int) -> None:
        """Remove a group."""
        super().delete_group(group)
        self._stale = True

    def drop(self, group: int, members: Sequence[int]) -> None:
        """Remove a group and the members that are in no other group."""
        super().drop(group, members)
        self._stale = True

    def reset(self) -> None:
        """No members, no groups."""
        super().reset()
        self._stale = True

    def _set_group(self, group: int, members: Sequence[int]) -> None:
        super()._set_group(group, members)
        self._stale = True


_NO_MEMBER = np.zeros(1, np.int64)
