# SPDX-License-Identifier: Apache-2.0
"""Ways out of the normal flow of a program."""

from __future__ import annotations

from typing import Final, NoReturn

# The errors of core.p4, by name; a program's Program.errors says which number each has.
NO_ERROR: Final = 0


class ParserFault(Exception):  # a P4 program's own error, not one of ours
    """A parser error: ``code`` is the index into ``Program.errors``."""

    def __init__(self, code: int) -> None:
        self.code = code
        super().__init__(code)


class ExitSignal(Exception):
    """``exit`` in an action of a table that was applied within an expression."""


class CheckFailed(Exception):
    """``assert`` or ``assume`` was false; the message names the place."""


class StepsExhausted(Exception):
    """A packet has used up its steps."""


class Steps:
    """The steps that the packet being run may still take."""

    __slots__ = ("_left", "_most")

    def __init__(self, most: int) -> None:
        self._most = self._left = most

    def renew(self) -> None:
        """The next packet begins."""
        self._left = self._most

    def take(self, count: int) -> None:
        """Use up ``count`` steps.

        Raises:
            StepsExhausted: there are no more.
        """
        self._left -= count
        if self._left < 0:
            raise StepsExhausted


def fail(code: int) -> NoReturn:
    """Raise a :class:`ParserFault` from within an expression."""
    raise ParserFault(code)
