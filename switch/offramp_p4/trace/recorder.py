# SPDX-License-Identifier: Apache-2.0
"""The recorder to which instrumented code writes events."""

from __future__ import annotations

from typing import Any, Protocol

from offramp_p4.trace.model import Event


class MemberChooser(Protocol):
    """Decides which member of a group a look-up gets, in place of the hash."""

    def choose(self, count: int) -> int:
        """The position of one of ``count`` members."""


class Recorder:
    """Collects events; an event that has been entered takes those that follow until it is left.

    Attributes:
        chooser: chooser in place of the hash of action selectors; None: the hash decides.
        lines: counts of the runs of each source line, by file and line; None: nobody counts them.
        full: whether somebody wants to know every outcome of an ``if`` and what v1model's deparser emits.
    """

    def __init__(self, lines: dict[tuple[str, int], int] | None = None, *, full: bool = False) -> None:
        self.lines, self.full = lines, full
        self.chooser: MemberChooser | None = None
        self._stack: list[list[Event]] = [[]]

    def start(self, events: list[Event]) -> list[list[Event]]:
        """Write into ``events`` from here on; returns what :meth:`resume` needs to go back."""
        before, self._stack = self._stack, [events]
        return before

    def resume(self, before: list[list[Event]]) -> None:
        """Go on where :meth:`start` was called."""
        self._stack = before

    def add(self, kind: str, name: str, /, **detail: Any) -> Event:
        """Note an event."""
        event = Event(kind, name, detail)
        self._stack[-1].append(event)
        return event

    def forget_last(self) -> None:
        """Take back the event noted last, at this depth."""
        self._stack[-1].pop()

    @property
    def last(self) -> Event:
        """The event noted last, at this depth."""
        return self._stack[-1][-1]

    def enter(self, event: Event) -> int:
        """Have what follows lie within ``event``; returns what :meth:`leave` needs."""
        self._stack.append(event.events)
        return len(self._stack) - 1

    def leave(self, level: int) -> None:
        """End what :meth:`enter` began, and everything entered since."""
        del self._stack[level:]
