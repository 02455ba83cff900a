# SPDX-License-Identifier: Apache-2.0
"""A switch, an agent or a store that is not there: one line, before the first step, without a traceback."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from types import TracebackType
from typing import Final

from offramp_base.errors import OfframpError

ANSWER_S: Final = 3.0
"""Seconds for which a server that should be there is waited for."""


class UnreachableError(OfframpError):
    """Nothing answers at an address; the message names the missing server and the command that starts it.

    No line of the program is at fault. If the program does not catch it, Python therefore prints the message alone.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        if not isinstance(sys.excepthook, _Alone):
            sys.excepthook = _Alone(sys.excepthook)


@dataclass
class _Alone:
    """An exception hook that prints an :class:`UnreachableError` alone, and leaves the others to the hook before."""

    before: Callable[[type[BaseException], BaseException, TracebackType | None], object]

    def __call__(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if isinstance(error, UnreachableError):
            sys.stderr.write(f"{error}\n")
        else:
            self.before(kind, error, trace)


def expect_switch(address: str, timeout_s: float = ANSWER_S) -> None:
    """Check that a P4Runtime server answers at an address, without becoming its controller.

    Raises:
        UnreachableError: none answers in time.
    """
    from offramp_base.p4rt.session import Session

    try:
        with closing(Session(address, timeout_s=timeout_s)) as session:
            session.capabilities()
    except OfframpError as error:
        raise UnreachableError(f"{error}; is `offramp switch run` running?") from None
