# SPDX-License-Identifier: Apache-2.0
"""The breakpoints of a client, as it asks for them: all of a file, or all by name, at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from offramp_base.errors import OfframpError
from offramp_p4_tools.debug.breakpoints import Breakpoint, lines_of

if TYPE_CHECKING:
    from offramp_p4_tools.debug.asked import RequestArguments
    from offramp_p4_tools.debug.debugger import Debugger

MAX_BREAKPOINTS: Final = 1024
Body = Mapping[str, Any]


class BreakpointRequests:
    """Sets the breakpoints of ``debugger`` and says where they stand.

    Attributes:
        first_line: 1, or 0 for a client that counts lines from there.
    """

    def __init__(self, debugger: Debugger) -> None:
        self._debugger = debugger
        self._lines: dict[str, list[Breakpoint]] = {}
        self._functions: list[Breakpoint] = []
        self._numbers = 0
        self.first_line = 1

    def on_lines(self, asked: RequestArguments) -> Body:
        """``setBreakpoints``: of one file, in place of those before."""
        file = asked.object("source").text("path", "") or asked.object("source").text("name", "")
        breakpoints = []
        for each in asked.objects("breakpoints"):
            line = each.number("line") + 1 - self.first_line
            breakpoints.append(self._breakpoint(each, file=file, line=line))
        self._lines.pop(file, None)
        if breakpoints:
            self._lines[file] = breakpoints
        return self._place(breakpoints)

    def on_names(self, asked: RequestArguments) -> Body:
        """``setFunctionBreakpoints``: in place of those before."""
        breakpoints = [self._breakpoint(each, name=each.text("name") or " ") for each in asked.objects("breakpoints")]
        self._functions = breakpoints
        return self._place(breakpoints)

    def _breakpoint(self, asked: RequestArguments, *, file: str = "", line: int = 0, name: str = "") -> Breakpoint:
        self._numbers += 1
        condition, hits = asked.text("condition", ""), asked.text("hitCondition", "")
        return Breakpoint(self._numbers, file, line, name, condition, hits, asked.text("logMessage", ""))

    def _place(self, breakpoints: list[Breakpoint]) -> Body:
        every = [*(each for lines in self._lines.values() for each in lines), *self._functions]
        if len(every) > MAX_BREAKPOINTS:
            raise OfframpError(f"{len(every)} breakpoints: at most {MAX_BREAKPOINTS} are set")
        self._debugger.set_breakpoints(every)
        return {"breakpoints": [self.described(each) for each in breakpoints]}

    def described(self, each: Breakpoint) -> Body:
        """A breakpoint as the protocol describes it."""
        body: dict[str, Any] = {"id": each.number, "verified": bool(each.actual)}
        if each.actual:
            body["line"] = each.actual + self.first_line - 1
        if each.fault:
            body["message"] = each.fault
        return body

    def locations(self, asked: RequestArguments) -> Body:
        """``breakpointLocations``: lines at which a packet can be held."""
        first = asked.number("line") + 1 - self.first_line
        last = asked.number("endLine", first + self.first_line - 1) + 1 - self.first_line
        lines = lines_of(self._debugger.codes, asked.object("source").text("path", ""), first, last)
        return {"breakpoints": [{"line": line + self.first_line - 1} for line in lines]}
