# SPDX-License-Identifier: Apache-2.0
"""Applications whose two paths are comparable in speed, so that both together serve more than the better one.

Each path is a thread that computes for itself: one of the responder, the CPU's, and a device's, which is another thread
of the responder or a smartNIC's agent on this machine. What a path takes for a message is measured before, as a host's
profile would say it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Final

from offramp.leo.applications.application import Application
from offramp.leo.applications.generic import from_config
from offramp.leo.applications.measure import time_ns
from offramp.leo.applications.samples import sample
from offramp.leo.config import builtin
from offramp.leo.config.files import parse_config
from offramp.leo.devices import open_device
from offramp.leo.functions.compress import COMPRESS
from offramp.leo.functions.digest import DIGEST, SCRUB
from offramp.leo.functions.mac import MAC
from offramp.leo.native.dataflow import CPU
from offramp.leo.selection import Policy
from offramp.nic.process import AgentProcess
from offramp_base.errors import OfframpError

ACCELERATOR: Final = "acc"
AGENT: Final = "nic:"
"""Stands for a smartNIC's agent with zlib on a core of its own."""
RIVALS: Final = (Policy.GREEDY_INTRA, Policy.GREEDY_E2E)
_WINDOW: Final = 16
_TEXT: Final = """
paths:
  - {{id: cc, type: CPU-CPU}}
  - {{id: ca, type: CPU-Acc}}
application:
  name: {name}
  requests:
    DO:
      dataflows: [[cc], [ca]]
      size: {{cc: {{req: {size}, resp: {answer}}}, ca: {{req: {size}, resp: {answer}}}}}
      compute_us: {{responder: {{cpu: {cpu:.1f}, acc: {acc:.1f}}}}}
      functions: {{responder: {{cpu: {function}, acc: {function}}}}}
"""


@dataclass(frozen=True)
class PathPair:
    """A function on two paths.

    Attributes:
        function: name of the function that both paths compute.
        size: nominal bytes of its message; samples may round it.
        answer: bytes of its answer.
        devices: specifications of the CPU path's device and of the other's; :data:`AGENT` is started.
    """

    function: str
    size: int
    answer: int
    devices: dict[str, str]


PAIRS: Final = {
    "scrub, zlib and ISA-L": PathPair(SCRUB, 1 << 17, 64, {CPU: "cpu:1", ACCELERATOR: "isal:1"}),
    "digest, a core each": PathPair(DIGEST, 1 << 18, 64, {CPU: "cpu:1", ACCELERATOR: "cpu:1"}),
    "cmac, one and many at a time": PathPair(MAC, 60 << 10, 16, {CPU: "cpu:1", ACCELERATOR: "ipsec:"}),
    "compress, a core and an agent": PathPair(COMPRESS, 1 << 17, 1 << 17, {CPU: "cpu:1", ACCELERATOR: AGENT}),
}


@contextmanager
def application(name: str, *, seed: int = 1) -> Iterator[Application]:
    """Open one of ``PAIRS``, and run its agent, if it has one, until the block ends.

    Raises:
        OfframpError: there is none of that name, or a device is not here.
    """
    if name not in PAIRS:
        raise OfframpError(f"{name}: expected one of {', '.join(PAIRS)}")
    pair = PAIRS[name]
    with ExitStack() as stack:
        devices = {role: _running(text, stack) for role, text in pair.devices.items()}
        yield _application(name, replace(pair, devices=devices), seed)


def _running(text: str, stack: ExitStack) -> str:
    if text != AGENT:
        return text
    return f"{AGENT}{stack.enter_context(AgentProcess()).path}"


def _application(name: str, pair: PathPair, seed: int) -> Application:
    times = {}
    message = sample(pair.function, pair.size, 0)
    for role, text in pair.devices.items():
        device = open_device(text, role)
        try:
            times[role] = time_ns(device, pair.function, message) / 1e3
        finally:
            device.close()
    text = _TEXT.format(name=pair.function, size=pair.size, answer=pair.answer, function=pair.function, **times)
    host = builtin("off-path").read_text(encoding="utf-8")
    application = from_config(parse_config(text + host, name), pair.devices, seed=seed)
    return replace(application, name=name, window=_WINDOW, rivals=RIVALS, request_bytes=pair.size)
