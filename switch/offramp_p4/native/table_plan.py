# SPDX-License-Identifier: Apache-2.0
"""The position and layout of one table in the context."""

from __future__ import annotations

from dataclasses import dataclass

from offramp_p4.native.keys import KeyFormat


@dataclass(frozen=True, slots=True)
class MemberBits:
    """Memory in which machine code finds the members of a selector's groups that take packets.

    Attributes:
        word: index in the context of the address of rows.
        stride: bytes of a row; each has the byte of one member.
        offset: offset of that byte.
    """

    word: int
    stride: int
    offset: int


@dataclass(frozen=True, slots=True)
class TablePlan:
    """The position and layout of a table or value set in the context, for machine code.

    Attributes:
        words: index in the context of its first word.
        row_size: size of each entry's action data, bytes.
        profile: index in the context of its profile's words: address of the members' rows, address of the
            groups (address of the numbers of their members and how many these are; with ``status`` also that of the
            members' places in it); None without a profile.
        member_size: bytes of a member's row.
        registers: index in the context of the address of each entry's direct register: a number, and whether it has
            been used, a word each; None without one.
        status: status of the profile's members; None where all take packets.
    """

    words: int
    key: KeyFormat
    row_size: int = 0
    profile: int | None = None
    member_size: int = 0
    registers: int | None = None
    status: MemberBits | None = None
