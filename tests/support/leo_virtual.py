# SPDX-License-Identifier: Apache-2.0
"""An application's requester and responder in one thread and in virtual time: the host costs next to nothing."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from leo_lab import serve_while
from offramp.leo.applications.application import Application
from offramp.leo.applications.load import LoadResult, closed_loop, open_loop
from offramp.leo.devices import open_device
from offramp.leo.native.clock import Clock
from offramp.leo.native.journal import journal_words
from offramp.leo.runtime.dispatcher import Dispatcher
from offramp.leo.runtime.host import ResponderState
from offramp.leo.runtime.requester import Requester
from offramp.leo.runtime.responder import Responder
from offramp.leo.transports.connect import RequesterListener
from offramp_base.sealed_memory import SharedMemory

ROUND_NS = 2000
"""Duration of a round of both sides."""


class Time:
    """A clock that only :meth:`advance` moves."""

    def __init__(self) -> None:
        self.ns = 0
        self.clock = Clock(lambda: self.ns)

    def advance(self) -> None:
        self.ns += ROUND_NS


def _responder(application: Application, time: Time, stack: ExitStack) -> Responder:
    plan = application.plan
    words = journal_words(plan.rows)
    segment = SharedMemory(ResponderState.size(plan.memory_bytes, plan.journals, words))
    stack.callback(segment.close)
    host = ResponderState(segment, plan.memory_bytes, plan.journals, words)
    devices = {name: open_device(text, name) for name, text in plan.devices.items()}
    module, _, function = plan.prepare.partition(":")
    prepare: Callable[..., Any] = getattr(importlib.import_module(module), function)
    service = prepare(host, devices, plan.parameters, first=True)
    service.dispatchers.update({name: Dispatcher(device) for name, device in devices.items()})
    peer = Responder(service, RequesterListener(), time.clock)
    stack.callback(peer.close)
    return peer


@contextmanager
def running(application: Application):
    """``run(paths, measured, seconds, rate)`` gives the outcome of a closed loop, or of an open one at ``rate``."""
    with ExitStack() as stack:
        time = Time()
        responder = _responder(application, time, stack)
        devices = application.local()
        for device in devices.values():
            stack.callback(device.close)

        def hook(_: float) -> None:
            responder.step()
            time.advance()

        def run(
            paths: Sequence[str], measured: Mapping[str, float], seconds: float, rate: float | None = None
        ) -> LoadResult:
            program = application.program(paths, measured)
            settings = replace(application.settings, clock=time.clock)
            address = responder.listener.address
            requester = serve_while(responder, lambda: Requester(program, [address], devices, settings))
            try:
                closed_loop(requester, application.workload(1), seconds / 4, application.window, hook)
                workload = application.workload(2)
                if rate is None:
                    return closed_loop(requester, workload, seconds, application.window, hook)
                return open_loop(requester, workload, seconds, rate, 3, hook)
            finally:
                requester.close()

        yield run
