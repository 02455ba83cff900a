# SPDX-License-Identifier: Apache-2.0
"""A P4Runtime service and its ports in the process of a test, without gRPC and without sockets."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from offramp_base.p4rt.status import RpcError
from offramp_base.transport.memory import MemoryIO, pair
from offramp_base.wire.batch import PacketBatch
from offramp_p4.runtime.device import P4Device
from offramp_p4.runtime.service import P4RuntimeService
from offramp_p4.runtime.streams import StreamEnd

NOTICE_WAIT_S = 0.01
_END = object()


class LocalConnection:
    """:class:`offramp_base.p4rt.connection.GrpcConnection` by plain calls."""

    def __init__(self, service: P4RuntimeService, name: str = "in-process switch") -> None:
        self.name = name
        self._service = service

    def unary(self, method: str, request: Any, timeout_s: float) -> Any:
        """Call a method; it does not wait for anything, so there is no time-out."""
        return self._service.unary(method, request)

    def read(self, request: Any, timeout_s: float) -> Iterator[Any]:
        """Read."""
        return self._service.read(request)

    def stream(self, requests: Iterator[Any]) -> _LocalStream:
        """StreamChannel; a thread hands over the requests, as gRPC would."""
        return _LocalStream(self._service, requests)

    def close(self) -> None:
        """Nothing to release."""


class _LocalStream:
    def __init__(self, service: P4RuntimeService, requests: Iterator[Any]) -> None:
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


class MemoryPorts:
    """Gives a device ports without sockets; deterministic as long as one thread sends."""

    def __init__(self, device: P4Device, ports: Sequence[int]) -> None:
        self._device = device
        self._ends = {number: pair() for number in ports}
        self._lock = threading.Lock()
        device.inject = self.process
        device.set_links(dict.fromkeys(ports, True))

    def io(self, port: int) -> MemoryLink:
        """The host's end of a port."""
        return MemoryLink(self, port, self._ends[port][0])

    def process(self, batch: PacketBatch) -> None:
        """Process frames (``batch.ports`` says where they enter) and hand out the results."""
        with self._lock:
            out = self._device.process(batch)
            for number in np.unique(out.ports).tolist():
                if number in self._ends:
                    self._ends[number][1].send(out.select(out.ports == number))


class MemoryLink:
    """A FrameIO of :class:`MemoryPorts`."""

    def __init__(self, ports: MemoryPorts, number: int, end: MemoryIO) -> None:
        self._ports = ports
        self._number = number
        self._end = end

    def send(self, batch: PacketBatch) -> None:
        """Have the switch process the frames now."""
        numbers = np.full(len(batch), self._number, np.int32)
        self._ports.process(PacketBatch(numbers, batch.lengths, batch.data))

    def receive(self, timeout_s: float) -> PacketBatch:
        """Frames that have arrived, at least one unless ``timeout_s`` seconds pass without any."""
        return self._end.receive(timeout_s)

    def close(self) -> None:
        """The port keeps its queue; nothing to release."""
