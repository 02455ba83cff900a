# SPDX-License-Identifier: Apache-2.0
"""A connection from a session to a service in the same process, without gRPC."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any

from offramp_base.p4rt.status import RpcError
from offramp_p4.runtime.service import Service
from offramp_p4.runtime.streams import StreamEnd

NOTICE_WAIT_S = 0.01
_END = object()


class LocalConnection:
    """What :class:`offramp_base.p4rt.connection.GrpcConnection` is, by plain calls."""

    def __init__(self, service: Service, name: str = "in-process switch") -> None:
        self.name = name
        self._service = service

    def unary(self, method: str, request: Any, timeout_s: float) -> Any:  # noqa: ARG002
        """Call a method; it does not wait for anything, so there is no time-out."""
        return self._service.unary(method, request)

    def read(self, request: Any, timeout_s: float) -> Iterator[Any]:  # noqa: ARG002
        """Read."""
        return self._service.read(request)

    def stream(self, requests: Iterator[Any]) -> _LocalStream:
        """StreamChannel; a thread hands over the requests, as gRPC would."""
        return _LocalStream(self._service, requests)

    def close(self) -> None:
        """Nothing to release."""


class _LocalStream:
    def __init__(self, service: Service, requests: Iterator[Any]) -> None:
        self._responses: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._device = service.device
        self._end = service.open_stream(self._responses.put)
        threading.Thread(target=self._pump, args=(self._end, requests), daemon=True).start()

    def _pump(self, end: StreamEnd, requests: Iterator[Any]) -> None:
        try:
            for request in requests:
                end.receive(request)
        except RpcError as error:
            end.close()
            self._responses.put(error)

    def __iter__(self) -> Iterator[Any]:
        while (response := self._next()) is not _END:
            if isinstance(response, RpcError):
                raise response
            yield response

    def _next(self) -> Any:
        # Nobody else looks at the clock for the notices that wait for their time.
        while True:
            try:
                return self._responses.get(timeout=NOTICE_WAIT_S)
            except queue.Empty:
                self._device.send_notices()

    def cancel(self) -> None:
        self._end.close()
        self._responses.put(_END)
