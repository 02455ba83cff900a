# SPDX-License-Identifier: Apache-2.0
"""Groups of a selector whose members have a bit each, in a column of bytes: 1 for those that take packets."""

from __future__ import annotations

from offramp_base.native.subset import Bytes, Words, native


@native
def count_up(places: Words, size: int, column: Bytes, stride: int) -> int:
    """Number of members with bits at ``places`` that take packets."""
    up = 0
    for i in range(size):
        up += column[places[i] * stride]
    return up


@native
def member_up(members: Words, places: Words, size: int, column: Bytes, stride: int, which: int) -> int:
    """The member with this number, from 0, among those that take packets; 0, which never exists, if there is none."""
    for i in range(size):
        if column[places[i] * stride] != 0:
            if which == 0:
                return members[i]
            which -= 1
    return 0
