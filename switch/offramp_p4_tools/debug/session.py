# SPDX-License-Identifier: Apache-2.0
"""A conversation with one client in the Debug Adapter Protocol.

What the protocol calls a thread is the switch: it runs one packet at a time.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from offramp_base.errors import OfframpError
from offramp_p4_tools.debug.asked import RequestArguments
from offramp_p4_tools.debug.breakpoint_requests import BreakpointRequests
from offramp_p4_tools.debug.framing import read_message, write_message
from offramp_p4_tools.debug.inspector import LOOKS, Inspector, source_of

if TYPE_CHECKING:
    from offramp_p4_tools.debug.code import Location
    from offramp_p4_tools.debug.debugger import Debugger
    from offramp_p4_tools.debug.stops import How, Stop

_LOG: Final = logging.getLogger(__name__)
THREAD: Final = 1
CAPABILITIES: Final = {
    "supportsConfigurationDoneRequest": True,
    "supportsFunctionBreakpoints": True,
    "supportsConditionalBreakpoints": True,
    "supportsHitConditionalBreakpoints": True,
    "supportsLogPoints": True,
    "supportsEvaluateForHovers": True,
    "supportsSetVariable": True,
    "supportsSetExpression": True,
    "supportsExceptionInfoRequest": True,
    "supportsBreakpointLocationsRequest": True,
    "supportsDelayedStackTraceLoading": True,
    "supportsTerminateRequest": True,
    "exceptionBreakpointFilters": [
        {"filter": "errors", "label": "Parser errors", "default": False},
        {"filter": "drops", "label": "Dropped packets", "default": False},
    ],
}
Body = Mapping[str, Any] | None
_BEFORE: Final = frozenset({"initialize", "launch", "attach", "threads", "disconnect", "terminate"})
"""Requests of a client that has neither launched nor attached."""


class Starter:
    """Carries out ``launch`` and ``attach``; this base class refuses both."""

    debugger: Debugger

    def launch(self, asked: RequestArguments) -> None:
        """Load a program."""
        del asked
        raise OfframpError("this switch runs already: use attach")

    def attach(self) -> None:
        """Join a switch that runs."""
        raise OfframpError("nothing runs here: use launch")

    def configured(self, session: DapSession) -> None:
        """Breakpoints are set: begin."""

    def end(self) -> None:
        """Stop the launched program."""


class DapSession:
    """Reads requests until the client ends or is lost; then whatever is held goes on.

    Args:
        debugger: debugger of the switch.
        starter: carries out launch and attach.
        reader, writer: the client's stream.
        on_start: called when the client has launched or attached.
    """

    def __init__(
        self,
        debugger: Debugger,
        starter: Starter,
        reader: BinaryIO,
        writer: BinaryIO,
        on_start: Callable[[], object] = lambda: None,
    ) -> None:
        self._debugger, self._starter = debugger, starter
        self._reader, self._writer, self._on_start = reader, writer, on_start
        self._writing = threading.Lock()
        self._serial = 0
        self._inspector: Inspector | None = None
        self._breakpoints = BreakpointRequests(debugger)
        self._started = self._over = False
        self._after: list[Callable[[], None]] = []
        self._requests: dict[str, Callable[[RequestArguments], Body]] = {
            "initialize": self._initialize,
            "launch": self._launch,
            "attach": self._attach,
            "configurationDone": self._configuration_done,
            "setBreakpoints": self._breakpoints.on_lines,
            "setFunctionBreakpoints": self._breakpoints.on_names,
            "setExceptionBreakpoints": self._set_exception_breakpoints,
            "breakpointLocations": self._breakpoints.locations,
            "threads": lambda _: {"threads": [{"id": THREAD, "name": "packets"}]},
            "exceptionInfo": self._exception_info,
            "source": self._source,
            "continue": lambda _: {"allThreadsContinued": True, **self._go(None)},
            "next": lambda _: self._go("over"),
            "stepIn": lambda _: self._go("in"),
            "stepOut": lambda _: self._go("out"),
            "nextPacket": lambda _: self._go("packet"),
            "pause": self._pause,
            "disconnect": self._end,
            "terminate": self._end,
        }

    def run(self) -> None:
        """Talk until the end.

        Raises:
            OfframpError: the client sent what is not a message; it has been let go.
        """
        try:
            while not self._over:
                message = read_message(self._reader)
                if message is None:
                    break
                if message.get("type") == "request":
                    self._answer(message)
        except (OSError, ValueError):  # a connection that is lost ends like one that is closed
            pass
        finally:
            self._leave()
            self._starter.end()

    # --- what the debugger tells

    def stopped(self, stop: Stop) -> None:
        """A packet is held."""
        self._inspector = Inspector(stop, self._breakpoints.first_line)
        body: dict[str, Any] = {"reason": stop.reason, "threadId": THREAD, "allThreadsStopped": True}
        if stop.text:
            body |= {"text": stop.text, "description": stop.text}
        if stop.breakpoints:
            body["hitBreakpointIds"] = list(stop.breakpoints)
        self.event("stopped", body)

    def wrote(self, text: str, location: Location) -> None:
        """A breakpoint's message."""
        place = {"source": source_of(location.pos), "line": location.pos.line + self._breakpoints.first_line - 1}
        self.event("output", {"category": "console", "output": f"{text}\n", **place})

    def loaded(self) -> None:
        """Another program runs: breakpoints may have moved."""
        for each in self._debugger.breakpoints:
            self.event("breakpoint", {"reason": "changed", "breakpoint": self._breakpoints.described(each)})

    def event(self, name: str, body: Mapping[str, Any]) -> None:
        """Send an event; a client that no longer reads is disconnected."""
        self._send({"type": "event", "event": name, "body": body})

    # --- the protocol

    def _answer(self, message: Mapping[str, Any]) -> None:
        command, number = message.get("command"), message.get("seq")
        answer: dict[str, Any] = {"type": "response", "request_seq": number if type(number) is int else 0}
        answer["command"] = command if isinstance(command, str) and len(command) < 100 else ""
        try:
            body = self._done(answer["command"], RequestArguments(message.get("arguments")))
            answer |= {"success": True} | ({"body": body} if body is not None else {})
        except OfframpError as error:
            text = str(error).partition("\n")[0]
            answer |= {"success": False, "message": text, "body": {"error": {"id": 1, "format": _escaped(text)}}}
        self._send(answer)
        after, self._after = self._after, []
        for each in after if answer["success"] else []:
            each()

    def _done(self, command: str, asked: RequestArguments) -> Body:
        if command in LOOKS:
            inspector = self._inspector
            if inspector is None or self._debugger.stop is None:
                raise OfframpError("no packet is held")
            return LOOKS[command](inspector, asked)
        if command not in self._requests:
            raise OfframpError(f"no request {command or '?'!r} is known")
        if not self._started and command not in _BEFORE:  # another client may have the debugger
            raise OfframpError("nothing is launched or attached to")
        return self._requests[command](asked)

    def _send(self, message: dict[str, Any]) -> None:
        try:
            with self._writing:
                self._serial += 1
                write_message(self._writer, {"seq": self._serial, **message})
        except (OSError, ValueError):  # closed, or nobody reads
            self._leave()
            self._over = True

    def _leave(self) -> None:
        if self._debugger.leave(self) and not self._over:
            _LOG.warning("debugger: the client has gone; the packet that it held goes on")

    def _initialize(self, asked: RequestArguments) -> Body:
        self._breakpoints.first_line = int(asked.flag("linesStartAt1", default=True))
        return CAPABILITIES

    def _begin(self) -> None:
        if self._started:
            raise OfframpError("launch or attach once")
        if not self._debugger.enter(self):
            raise OfframpError("another client has this debugger")
        self._started = True
        self._on_start()
        self._after.append(lambda: self.event("initialized", {}))

    def _launch(self, asked: RequestArguments) -> Body:
        self._begin()
        try:
            self._starter.launch(asked)
        except OfframpError:
            self._started = False
            self._debugger.leave(self)
            raise
        return None

    def _attach(self, asked: RequestArguments) -> Body:
        del asked
        self._starter.attach()
        self._begin()
        return None

    def _configuration_done(self, asked: RequestArguments) -> Body:
        del asked
        self._after.append(lambda: self._starter.configured(self))
        return None

    def _set_exception_breakpoints(self, asked: RequestArguments) -> Body:
        wanted = asked.texts("filters")
        self._debugger.errors, self._debugger.drops = "errors" in wanted, "drops" in wanted
        return {"breakpoints": [{"verified": each in ("errors", "drops")} for each in wanted]}

    def _exception_info(self, asked: RequestArguments) -> Body:
        del asked
        stop = self._debugger.stop
        if stop is None or stop.reason != "exception":
            raise OfframpError("no packet is held by an error")
        return {"exceptionId": stop.text, "description": stop.text, "breakMode": "always"}

    def _source(self, asked: RequestArguments) -> Body:
        del asked
        program = self._debugger.program
        if program is None:
            raise OfframpError("there is no program")
        return {"content": program.source, "mimeType": "text/x-p4"}

    def _go(self, how: How | None) -> Mapping[str, Any]:
        if self._debugger.stop is None:
            raise OfframpError("no packet is held")
        self._inspector = None
        self._after.append(lambda: self._debugger.go(how))
        return {}

    def _pause(self, asked: RequestArguments) -> Body:
        del asked
        self._debugger.pause()
        return None

    def _end(self, asked: RequestArguments) -> Body:
        del asked
        self._over = True
        return None


def _escaped(text: str) -> str:
    """The text as a format of the protocol, in which braces mean variables."""
    return text.replace("{", "(").replace("}", ")")
