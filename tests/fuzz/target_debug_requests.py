# SPDX-License-Identifier: Apache-2.0
"""Messages of a debugger's client: requests with arguments changed, out of order, and frames that are none."""

from __future__ import annotations

import io
import json
import random
import time
from pathlib import Path
from typing import Any

from fuzzing import mutate
from offramp_p4_tools.debug.debugger import Debugger
from offramp_p4_tools.debug.launch import Launch, ProgramLauncher
from offramp_p4_tools.debug.session import DapSession

NAME = "debugger"
LIMIT_S = 20.0
_PROGRAM = str(Path(__file__).parents[1] / "p4/debug/counted.p4")
_FRAMES = ("1:112233445566aabbccddeeff0800", "1:112233445566aabbccddeeff810000050800", "2:11")
_COMMANDS = (
    "initialize", "launch", "attach", "configurationDone", "setBreakpoints", "setFunctionBreakpoints",
    "setExceptionBreakpoints", "breakpointLocations", "threads", "stackTrace", "scopes", "variables", "setVariable",
    "setExpression", "evaluate", "exceptionInfo", "source", "continue", "next", "stepIn", "stepOut", "nextPacket",
    "pause", "terminate", "fly", "", None, 7,
)  # fmt: skip
_EXPRESSIONS = (
    "hdr.ethernet.type", "meta.seen + 1", "hdr.tags.last.id", "hdr.tags[now].id", "hosts.apply().hit", "(", "1 / 0",
    "{7}", "true", "Kind.plain", "hdr.ethernet.isValid()", "I.counts", "x" * 3000, "~" * 500, "9" * 4000, "\0",
    "8w1 << 4000000000", "error.NoError",
    "\"a\" ++ \"b\"", "(bit<2000>)1", "sm.egress_spec[3:1]", "if", "", "P.start", "meta.level",
)  # fmt: skip
_VALUES = (
    0,
    1,
    2,
    5,
    55,
    -1,
    1 << 40,
    1.5,
    None,
    True,
    "",
    "1",
    "packets",
    [],
    {},
    [{}],
    [{"line": 1}],
    {"path": _PROGRAM},
)


def run(rng: random.Random) -> None:
    """One conversation; what is not a frame is told in a line, and every session ends."""
    debugger = Debugger()
    given = Launch(program=_PROGRAM, packets=tuple((1, bytes.fromhex(f[2:])) for f in _FRAMES))
    content = b"".join(_framed(message) for message in _messages(rng))
    if rng.random() < 0.2:
        content = mutate.raw(rng, content)
    output = io.BytesIO()
    DapSession(debugger, ProgramLauncher(debugger, given), _Patient(content, debugger), output).run()
    if debugger.stop is not None:
        raise AssertionError("a packet is held for nobody")


class _Patient(io.BytesIO):
    """A stream whose messages wait a little for a packet to be held, which most requests are about."""

    def __init__(self, content: bytes, debugger: Debugger) -> None:
        super().__init__(content)
        self._debugger = debugger

    def readline(self, size: int | None = -1, /) -> bytes:
        end = time.monotonic() + 0.005
        while self._debugger.stop is None and time.monotonic() < end:
            time.sleep(0.0005)
        return super().readline(size)


def _messages(rng: random.Random) -> list[Any]:
    start = [_request("initialize", {}), _request("launch", {"stopOnEntry": True, "program": _PROGRAM})]
    first = start if rng.random() < 0.8 else []
    wanted = {"source": {"path": _PROGRAM}, "breakpoints": [{"line": rng.randrange(70), "condition": _expression(rng)}]}
    middle = [_request("setBreakpoints", wanted), _request("configurationDone", {})] if first else []
    return [*first, *middle, *(_random(rng) for _ in range(rng.randrange(12)))]


def _random(rng: random.Random) -> Any:
    if rng.random() < 0.05:
        return rng.choice((None, [], "x", {"type": "request"}, {"type": "event", "event": "x"}))
    names = (
        "variablesReference",
        "frameId",
        "name",
        "value",
        "expression",
        "breakpoints",
        "source",
        "line",
        "threadId",
    )
    arguments: Any = {name: rng.choice(_VALUES) for name in rng.sample(names, rng.randrange(5))}
    if rng.random() < 0.7:
        arguments |= {"expression": _expression(rng), "value": _expression(rng), "frameId": rng.randrange(1, 4)}
    if rng.random() < 0.05:
        arguments = rng.choice(_VALUES)
    return _request(rng.choice(_COMMANDS), arguments)


def _expression(rng: random.Random) -> str:
    return mutate.text(rng, rng.choice(_EXPRESSIONS)) if rng.random() < 0.3 else rng.choice(_EXPRESSIONS)


def _request(command: Any, arguments: Any) -> dict[str, Any]:
    return {"seq": 1, "type": "request", "command": command, "arguments": arguments}


def _framed(message: Any) -> bytes:
    content = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(content), content)
