# SPDX-License-Identifier: Apache-2.0
"""The members of a selector's groups that take packets, as bits that a data plane reads and writes.

Tofino keeps them in lines of 128 bits: 120 for members, the others for the chip. A group has a block of
whole lines, and a member of it one bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from offramp_p4.state.match import StateError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from offramp_p4.state.arrays import RegisterState

LINE_BITS: Final = 128
LINE_MEMBERS: Final = 120


def bits_needed(largest_group: int, groups: int) -> int:
    """The bits of a selector's memory for this many groups."""
    return LINE_BITS * _lines(largest_group) * groups


class MemberStatus:
    """The members' bits, and where each member has its own.

    A group takes the first free block, a member the first free bit of its group's; both keep them as long as they are
    there. Whenever a control plane writes a group, its members take packets.

    Attributes:
        bits: one cell for each bit, 1 for a member that takes packets.
    """

    def __init__(self, name: str, bits: RegisterState, largest_group: int, groups: int) -> None:
        self.bits = bits
        self._name, self._largest, self._count = name, largest_group, groups
        self._blocks: dict[int, int] = {}
        self._places: dict[int, list[tuple[int, int]]] = {}

    def check(self, group: int, members: Sequence[int]) -> None:
        """Check that there is room for a group.

        Raises:
            StateError: there is a group too many, or it has too many members.
        """
        if group not in self._blocks and len(self._blocks) >= self._count:
            raise StateError("exhausted", f"action selector {self._name} holds at most {self._count} groups")
        if len(members) > self._largest:
            raise StateError(
                "exhausted",
                f"action selector {self._name}: {len(members)} members in a group of at most {self._largest}",
            )

    def write(self, group: int, members: Sequence[int]) -> None:
        """Note the members of a group, and let all of them take packets."""
        block = self._blocks.setdefault(group, _first_free(self._blocks.values()))
        old = self._places.get(group, [])
        kept: list[int | None] = []
        for member in members:
            known = next((place for place in old if place[0] == member), None)
            if known is not None:
                old.remove(known)
            kept.append(None if known is None else known[1])
        for _, at in old:
            self.bits.write(at, 0)
        base = block * _lines(self._largest) * LINE_BITS
        used = {at - base for at in kept if at is not None}
        free = (at for at in range(_lines(self._largest) * LINE_BITS) if at % LINE_BITS < LINE_MEMBERS)
        unused = (base + at for at in free if at not in used)
        self._places[group] = [(m, next(unused) if at is None else at) for m, at in zip(members, kept, strict=True)]
        for _, at in self._places[group]:
            self.bits.write(at, 1)

    def delete(self, group: int) -> None:
        """Free the bits of a group."""
        for _, at in self._places.pop(group):
            self.bits.write(at, 0)
        del self._blocks[group]

    def indices(self, group: int) -> list[int]:
        """The bits of a group's members, in their order."""
        return [at for _, at in self._places.get(group, ())]

    def index(self, group: int, member: int) -> int:
        """The bit of a member of a group: what a ``SelectorAction`` is executed with.

        Raises:
            StateError: the group does not have such a member.
        """
        position = next((at for m, at in self._places.get(group, ()) if m == member), None)
        if position is None:
            raise StateError("not_found", f"action selector {self._name}: no member {member} in group {group}")
        return position

    def up(self, group: int) -> list[int]:
        """The members of a group that take packets."""
        return [member for member, at in self._places.get(group, ()) if self.bits.values[at]]

    def reset(self) -> None:
        """Remove all groups."""
        self.bits.reset()
        self._blocks.clear()
        self._places.clear()


def _lines(members: int) -> int:
    return max(1, -(-members // LINE_MEMBERS))


def _first_free(taken: Iterable[int]) -> int:
    numbers = set(taken)
    return next(n for n in range(len(numbers) + 1) if n not in numbers)
