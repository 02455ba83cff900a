# SPDX-License-Identifier: Apache-2.0
"""The table of an FPGA card on Ethernet: lines that the host still has to write, in datagrams that overtake each other.

A datagram that is lost is sent again, possibly after later ones. Therefore a line is in one unanswered write at most:
an older write could otherwise undo a newer one.
"""

from __future__ import annotations

from offramp.fpga.packets import LINE, LINES


class TableWrites:
    """The table's content, and which of its lines wait to be written or are being written.

    Attributes:
        lines: lines of the table.
    """

    def __init__(self, lines: int) -> None:
        self.lines = lines
        self._content = bytearray(lines * LINE)
        self._waiting = dict.fromkeys(range(lines))
        self._unanswered: set[int] = set()

    @property
    def idle(self) -> bool:
        """Whether the card has the whole content."""
        return not self._waiting and not self._unanswered

    def write(self, at: int, content: bytes) -> None:
        """Replace bytes of the table."""
        self._content[at : at + len(content)] = content
        self._waiting.update(dict.fromkeys(range(at // LINE, -(-(at + len(content)) // LINE))))

    def take(self) -> tuple[range, bytes] | None:
        """Lines in a row to be written now, and their content, for one packet; None if there are none.

        :meth:`written` has to follow for them.
        """
        free = (line for line in self._waiting if line not in self._unanswered)
        first = next(free, None)
        if first is None:
            return None
        end = first + 1
        while end - first < LINES and end in self._waiting and end not in self._unanswered:
            end += 1
        lines = range(first, end)
        self._unanswered.update(lines)
        for line in lines:
            del self._waiting[line]
        return lines, bytes(self._content[first * LINE : end * LINE])

    def written(self, lines: range) -> None:
        """The card has these lines, as they were taken."""
        self._unanswered.difference_update(lines)
