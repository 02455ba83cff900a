# SPDX-License-Identifier: Apache-2.0
"""An application between machines: a responder to which others connect, and a requester that connects to one.

The supervisor holds the host's memory and the journals, so a responder's process that dies is restarted with its state.
The requester learns at once that it is gone, says so, and waits; requests resume where they were.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from offramp.leo.applications.application import Application
from offramp.leo.applications.load import LoadResult, closed_loop, counted_loop
from offramp.leo.runtime.process import ResponderProcess
from offramp.leo.runtime.requester import Requester
from offramp.leo.selection import AnyPolicy
from offramp_base.listening import Access, Token

Say = Callable[[str], None]
_LOOK_S: Final = 0.02
_SHOWN_S: Final = 0.1


def serve_application(application: Application, process: ResponderProcess, say: Say) -> None:
    """Restart the responder whenever it has ended by itself, and report it with ``say``; runs forever.

    Raises:
        OfframpError: it has ended more often than its plan allows, or does not start.
    """
    said = process.restarts
    while True:
        if not process.revive() and process.restarts != said:
            said = process.restarts
            say(f"{process.fate}; {application.name} is served again (pid {process.pid})")
        time.sleep(_LOOK_S)


def open_responder(
    application: Application, listen: str, *, requesters: int, restarts: int, insecure: bool
) -> ResponderProcess:
    """Listen at an address as the application's responder, for up to ``requesters`` requesters at a time.

    Its token is read from the file that ``OFFRAMP_TOKEN_FILE`` names.

    Raises:
        OfframpError: the address is not available or needs a token, or a device is missing.
    """
    plan = replace(application.plan, listen=listen, journals=requesters, restarts=restarts)
    access = Access(Token.from_environment(), insecure=insecure)
    return ResponderProcess(plan, access)


@dataclass(frozen=True)
class RequesterLoad:
    """Load that a requester generates.

    Attributes:
        requests: number of requests; 0: as many as finish in ``seconds``.
        seconds: duration if no number is given.
        window: requests kept outstanding; 0: the application's own number.
        wait_s: seconds that a responder may be gone before the requester fails.
        policy: rule that selects paths.
        seed: seed of the requests.
    """

    requests: int = 0
    seconds: float = 2.0
    window: int = 0
    wait_s: float = 30.0
    policy: AnyPolicy | None = None
    seed: int = 1


def request_from(
    application: Application,
    address: str,
    load: RequesterLoad,
    say: Say,
    advance: Callable[[int, int], None] | None = None,
) -> tuple[LoadResult, tuple[str, ...], int]:
    """Send load to the responder at ``address``; returns the result, the names of the paths, and the reconnections.

    Args:
        application: the application that is served there.
        address: ``HOST:PORT`` or ``unix:PATH``.
        load: the load to generate.
        say: called with a line when the responder goes away and when it is back.
        advance: called with the number of requests sent and the total.

    Raises:
        OfframpError: nobody listens there, it refuses, or it stays away for longer than ``load.wait_s``.
    """
    program = application.program(application.paths, {})
    settings = replace(
        application.settings,
        policy=load.policy or application.settings.policy,
        seed=load.seed,
        lost_s=load.wait_s,
        token=Token.from_environment(),
    )
    devices = application.local()
    requester = None
    try:
        requester = Requester(program, [address] * len(program.links), devices, settings)
        watch = _Watch(requester, say)
        window = load.window or application.window
        workload = application.workload(load.seed)
        shown = 0.0

        def hook(seconds: float) -> None:
            nonlocal shown
            watch()
            if advance is not None and seconds - shown > _SHOWN_S:
                shown = seconds
                done = int(requester.selector.completed.sum())
                advance(done if load.requests else int(seconds * 1e3), load.requests or int(load.seconds * 1e3))

        if load.requests:
            outcome = counted_loop(requester, workload, load.requests, window, hook)
        else:
            outcome = closed_loop(requester, workload, load.seconds, window, hook)
        return outcome, program.paths, requester.reconnects
    finally:
        if requester is not None:
            requester.close()
        for device in devices.values():
            device.close()


class _Watch:
    """Reports when responders go and come back; called in every round."""

    def __init__(self, requester: Requester, say: Say) -> None:
        self._requester, self._say = requester, say
        self._gone_at = 0.0

    def __call__(self) -> None:
        gone = self._requester.absent()
        if gone and not self._gone_at:
            self._gone_at = time.monotonic()
            self._say(f"{gone[0]}; {self._requester.in_flight} requests wait")
        elif not gone and self._gone_at:
            self._say(f"the responder is back after {time.monotonic() - self._gone_at:.1f} s")
            self._gone_at = 0.0
