# SPDX-License-Identifier: Apache-2.0
"""Bits of a selector's members: their places by the rule of lines, counted by hand."""

from __future__ import annotations

import pytest

from offramp_p4.state.arrays import RegisterState
from offramp_p4.state.match import StateError
from offramp_p4.state.member_status import LINE_BITS, LINE_MEMBERS, MemberStatus, bits_needed
from offramp_p4.types import Bits

pytestmark = pytest.mark.p4


def status(largest: int, groups: int) -> MemberStatus:
    return MemberStatus("s", RegisterState("bits", Bits(1), bits_needed(largest, groups)), largest, groups)


def ones(s: MemberStatus) -> list[int]:
    return [at for at, bit in enumerate(s.bits.values) if bit]


@pytest.mark.each
@pytest.mark.parametrize(("largest", "lines"), [(0, 1), (1, 1), (120, 1), (121, 2), (240, 2), (241, 3)])
def test_a_group_has_whole_lines(largest: int, lines: int) -> None:
    assert bits_needed(largest, 3) == 3 * lines * LINE_BITS


def test_members_keep_their_bits_as_long_as_they_are_there() -> None:
    s = status(4, 2)
    s.write(7, [10, 11, 12])
    s.write(9, [10])
    assert (s.indices(7), s.indices(9)) == ([0, 1, 2], [LINE_BITS])
    s.write(7, [12, 13, 10])
    assert s.indices(7) == [2, 1, 0]
    assert [s.index(7, member) for member in (10, 13, 12)] == [0, 1, 2]
    assert ones(s) == [0, 1, 2, LINE_BITS]
    s.write(7, [12])
    assert (s.indices(7), ones(s)) == ([2], [2, LINE_BITS])
    with pytest.raises(StateError, match="no member 10 in group 7"):
        s.index(7, 10)


def test_a_member_may_be_there_twice() -> None:
    s = status(4, 1)
    s.write(1, [5, 5])
    assert s.indices(1) == [0, 1]
    s.write(1, [6, 5])
    assert s.indices(1) == [1, 0]


def test_members_of_a_second_line_leave_the_chip_s_bits_alone() -> None:
    s = status(LINE_MEMBERS + 2, 1)
    s.write(1, range(LINE_MEMBERS + 2))
    assert s.indices(1) == [*range(LINE_MEMBERS), LINE_BITS, LINE_BITS + 1]


def test_a_deleted_group_s_block_is_the_next_one_s() -> None:
    s = status(2, 2)
    s.write(1, [1, 2])
    s.write(2, [3])
    s.delete(1)
    assert (s.indices(1), ones(s)) == ([], [LINE_BITS])
    s.check(3, [4, 5])
    s.write(3, [4])
    assert s.indices(3) == [0]
    with pytest.raises(StateError, match="at most 2 groups"):
        s.check(4, [1])
    with pytest.raises(StateError, match="3 members in a group of at most 2"):
        s.check(3, [1, 2, 3])


def test_those_that_take_packets() -> None:
    s = status(3, 1)
    s.write(1, [7, 8, 9])
    s.bits.write(1, 0)
    assert (s.up(1), s.up(2)) == ([7, 9], [])
    s.write(1, [8, 7])
    assert s.up(1) == [8, 7]
    s.reset()
    assert (s.up(1), ones(s)) == ([], [])
