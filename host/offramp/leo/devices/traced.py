# SPDX-License-Identifier: Apache-2.0
"""A device whose requests are traced (:mod:`offramp.leo.hops`): from submission on, it has the request."""

from __future__ import annotations

from typing import Any

from offramp.device import Completion, Device, Message
from offramp.leo.hops import MomentRecorder


class TracedDevice:
    """See the module; a :class:`offramp.device.Device`, otherwise like the one behind it."""

    def __init__(self, inner: Device, recorder: MomentRecorder) -> None:
        self._inner, self._recorder = inner, recorder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def submit(self, function: str, request: int, message: Message) -> bool:
        """Queue a request, and record the time."""
        self._recorder.note(self._inner.name, function=function, bytes=len(message))
        return self._inner.submit(function, request, message)

    def poll(self) -> list[Completion]:
        """Completions since the last call, each recorded."""
        done = self._inner.poll()
        for each in done:
            self._recorder.note(self._recorder.side, worked_ns=each.busy_ns, status=each.status.name)
        return done
