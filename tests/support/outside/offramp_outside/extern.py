# SPDX-License-Identifier: Apache-2.0
"""Two P4 externs: a function and a type with state."""

from __future__ import annotations

from offramp_p4.externs import Extern

parity = Extern("extern bit<1> parity(in bit<32> word);", lambda word: word.bit_count() & 1)


class Sequence:
    """Numbers from the first on."""

    def __init__(self, first: int) -> None:
        self._next = first

    def next(self) -> int:
        """The next number."""
        self._next += 1
        return self._next - 1


sequence = Extern("extern sequence { sequence(bit<32> first); bit<8> next(); }", Sequence)
