# SPDX-License-Identifier: Apache-2.0
"""Ports inside one process: what a host sends is processed at once, in the host's thread."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np

from offramp_base.transport.memory import MemoryIO, pair
from offramp_base.wire.batch import PacketBatch
from offramp_p4.runtime.device import Device


class MemoryPorts:
    """Gives a device ports without sockets; deterministic as long as one thread sends."""

    def __init__(self, device: Device, ports: Sequence[int]) -> None:
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
