# SPDX-License-Identifier: Apache-2.0
"""An action profile or selector as the control plane sees it: groups, weights, watch ports, one-shots (section 9.2)."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from offramp_base.errors import OfframpError
from offramp_base.p4rt.schema import v1
from offramp_base.p4rt.status import Code, RpcError
from offramp_base.p4rt.values import decode
from offramp_p4.runtime.entities.base import copied, invalid
from offramp_p4.runtime.environment import PortLinks
from offramp_p4.state import ActionData, ActionProfileState, GroupAction, MemberAction

HIDDEN = 1 << 32
"""Members and groups of one-shots have ids that no uint32 of a controller reaches."""
MAX_BUCKETS = 65536
"""Largest sum of the weights of a group."""
PORT_BITS = 32
_ActionSet: Final = v1.ActionProfileActionSet
_MODES: Final = (_ActionSet.DEFAULT_MODE_DETERMINED_BY_ACTION_SELECTOR, _ActionSet.HASH, _ActionSet.RANDOM)
_SEMANTICS: Final = (
    _ActionSet.DEFAULT_SIZE_DETERMINED_BY_ACTION_SELECTOR,
    _ActionSet.SUM_OF_WEIGHTS,
    _ActionSet.SUM_OF_MEMBERS,
)


@dataclass(frozen=True, slots=True)
class Bucket:
    """A member of a group; it is left out while the link of the port ``watch`` is down."""

    member: int
    weight: int
    watch: int | None


class ActionSelector:
    """The members and groups of one action profile, and what the data plane gets of them.

    Attributes:
        groups: the message and the buckets of each group of the controller.
        uses: number of table entries that name a member or group.
        filled: members or weights of all groups together, of which P4Info's ``size`` is the limit (section 9.2.2).
    """

    def __init__(self, info: Any, state: ActionProfileState, links: PortLinks) -> None:
        self.info, self.state, self.what = info, state, f"action profile {state.name}"
        self.groups: dict[int, tuple[Any, list[Bucket]]] = {}
        self.uses: Counter[MemberAction | GroupAction] = Counter()
        self.filled = 0
        self._links = links
        self._one_shots: dict[int, tuple[Any, list[Bucket]]] = {}
        self._free_groups, self._free_members = _Ids(), _Ids()

    # --- groups --------------------------------------------------------------------------------------------

    def put_group(self, entry: Any, *, new: bool) -> None:
        """Insert or change a group from its message.

        Raises:
            RpcError, StateError: nothing has changed.
        """
        what = f"{self.what}, group {entry.group_id}"
        if new and not entry.group_id:
            raise invalid(f"{self.what}: the id of a group is above 0")
        if not new and entry.group_id in self.groups and entry.max_size != self.groups[entry.group_id][0].max_size:
            raise invalid(f"{what}: max_size cannot be changed")
        limit = self._group_limit(entry.max_size, what)
        buckets = [Bucket(m.member_id, self._weight(m.weight, what), self._watch(m, what)) for m in entry.members]
        if len({b.member for b in buckets}) != len(buckets):
            raise invalid(f"{what}: a member is given twice; use its weight")
        if self._size(buckets) > limit:
            raise RpcError(Code.RESOURCE_EXHAUSTED, f"{what}: more than its {limit} members or weights")
        filled = self.filled - (0 if new else self._held(entry.group_id)) + self._size(buckets)
        self._check_total(filled, what)
        write = self.state.insert_group if new else self.state.modify_group
        write(entry.group_id, [b.member for b in buckets])  # all of them, so that each is known to exist
        self.filled = filled
        self.groups[entry.group_id] = copied(entry), buckets
        self._realise(entry.group_id, buckets)

    def delete_group(self, number: int) -> None:
        """Delete a group."""
        self.state.delete_group(number)
        self.filled -= self._held(number)
        del self.groups[number]

    def links_changed(self) -> None:
        """Include and exclude the members whose watch ports have changed."""
        for held in (self.groups, self._one_shots):
            for number, (_, buckets) in held.items():
                if any(b.watch is not None for b in buckets):
                    self._realise(number, buckets)

    def _realise(self, number: int, buckets: Iterable[Bucket]) -> None:
        live = (b for b in buckets if b.watch is None or self._links.up(b.watch))
        self.state.modify_group(number, [b.member for b in live for _ in range(b.weight)])

    # --- one-shots -----------------------------------------------------------------------------------------

    def insert_one_shot(self, message: Any, actions: list[ActionData]) -> GroupAction:
        """A group of its own for one table entry.

        Raises:
            RpcError, StateError: nothing has changed.
        """
        what = f"{self.what}, one-shot"
        if not self.state.selector:
            raise invalid(f"{self.what} is not a selector: it takes no action sets")
        if message.HasField("group_action"):
            raise RpcError(Code.UNIMPLEMENTED, f"{what}: actions of a group")
        if message.action_selection_mode not in _MODES or message.size_semantics not in _SEMANTICS:
            raise invalid(f"{what}: no such selection mode or size semantics")
        drawn, by_members = message.action_selection_mode == _ActionSet.RANDOM, self._by_members(message)
        if drawn and self.state.status is not None:
            raise invalid(f"{what}: members whose status packets change are not drawn at random")
        messages = message.action_profile_actions
        weights = [self._weight(a.weight, what, by_members) for a in messages]
        watches = [self._watch(a, what) for a in messages]
        number = self._free_groups.take()
        members = [self._free_members.take() for _ in messages]
        buckets = [Bucket(*fields) for fields in zip(members, weights, watches, strict=True)]
        done = 0
        try:
            size = self._size(buckets, by_members)
            if size > (self.info.max_group_size or MAX_BUCKETS):
                raise invalid(f"{what}: more than max_group_size {self.info.max_group_size} allows")
            self._check_total(self.filled + size, what)
            for member, action in zip(members, actions, strict=True):
                self.state.insert_member(member, action)
                done += 1
            self.state.insert_group(number, members)
        except OfframpError:
            for member in members[:done]:
                self.state.delete_member(member)
            self._free_groups.give(number)
            self._free_members.give(*members)
            raise
        self._one_shots[number] = copied(message), buckets
        self.filled += size
        if drawn:
            self.state.random_groups.add(number)
        self._realise(number, buckets)
        return GroupAction(number)

    def one_shot(self, group: GroupAction) -> Any | None:
        """The ActionProfileActionSet behind a group; None if it is a group of the controller."""
        shot = self._one_shots.get(group.id)
        return None if shot is None else shot[0]

    def release(self, group: GroupAction) -> None:
        """Forget the one-shot of a table entry that has gone."""
        message, buckets = self._one_shots.pop(group.id)
        self.filled -= self._size(buckets, self._by_members(message))
        members = [b.member for b in buckets]
        self.state.drop(group.id, members)
        self._free_groups.give(group.id)
        self._free_members.give(*members)

    @property
    def has_one_shots(self) -> bool:
        """Whether some table entry is programmed in one shot."""
        return bool(self._one_shots)

    # --- rules ---------------------------------------------------------------------------------------------

    def _by_members(self, message: Any | None = None) -> bool:
        """Whether a group has the size of its members rather than of their weights; a one-shot may say so itself."""
        if message is not None and message.size_semantics:
            return bool(message.size_semantics == _ActionSet.SUM_OF_MEMBERS)
        return bool(self.info.WhichOneof("selector_size_semantics") == "sum_of_members")

    def _weight(self, weight: int, what: str, by_members: bool = True) -> int:
        """The number of times that a member counts, checked against P4Info."""
        if self.info.weights_disallowed:
            if weight:
                raise invalid(f"{what}: this selector has no weights, got {weight}")
            return 1
        if weight < 1:
            raise invalid(f"{what}: weight {weight} is not above 0")
        if weight > MAX_BUCKETS:
            raise RpcError(Code.RESOURCE_EXHAUSTED, f"{what}: weight {weight} is above {MAX_BUCKETS}")
        highest = self.info.sum_of_members.max_member_weight
        if by_members and highest and weight > highest:
            raise invalid(f"{what}: weight {weight} is above max_member_weight {highest}")
        return weight

    def _watch(self, message: Any, what: str) -> int | None:
        kind = message.WhichOneof("watch_kind")
        if kind is None or (kind == "watch_port" and not message.watch_port):
            return None
        try:
            port = message.watch if kind == "watch" else decode(message.watch_port, PORT_BITS, f"{what}: watch port")
        except OfframpError as error:
            raise invalid(str(error)) from None
        if not self._links.exists(port):
            raise invalid(f"{what}: watch port {port} does not exist")
        return int(port)

    def _size(self, buckets: list[Bucket], by_members: bool | None = None) -> int:
        if self._by_members() if by_members is None else by_members:
            if sum(b.weight for b in buckets) > MAX_BUCKETS:
                raise RpcError(Code.RESOURCE_EXHAUSTED, f"{self.what}: weights of more than {MAX_BUCKETS} in a group")
            return len(buckets)
        return sum(b.weight for b in buckets)

    def _held(self, group: int) -> int:
        return self._size(self.groups[group][1]) if group in self.groups else 0

    def _check_total(self, filled: int, what: str) -> None:
        if self.info.size and filled > self.info.size:
            raise RpcError(
                Code.RESOURCE_EXHAUSTED,
                f"{what}: all groups together would have {filled} members or weights, at most {self.info.size} fit",
            )

    def _group_limit(self, max_size: int, what: str) -> int:
        highest = self.info.max_group_size
        if highest and not 0 < max_size <= highest:
            raise invalid(f"{what}: max_size {max_size} is outside 1..{highest}")
        if max_size < 0:
            raise invalid(f"{what}: max_size {max_size} is negative")
        if max_size > MAX_BUCKETS:
            raise RpcError(Code.RESOURCE_EXHAUSTED, f"{what}: max_size {max_size} is above {MAX_BUCKETS}")
        return max_size or MAX_BUCKETS


class _Ids:
    """Hidden ids, the lowest free one first, so that what is kept for each stays small."""

    def __init__(self) -> None:
        self._free: list[int] = []
        self._next = HIDDEN

    def take(self) -> int:
        if self._free:
            return heapq.heappop(self._free)
        self._next += 1
        return self._next - 1

    def give(self, *ids: int) -> None:
        for number in ids:
            heapq.heappush(self._free, number)
