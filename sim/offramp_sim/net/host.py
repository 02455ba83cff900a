# SPDX-License-Identifier: Apache-2.0
"""A host: frames to send wait in its network card; arrivals go to its handler."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from offramp_p4.tm.config import PortConfig, QueueConfig, TmConfig
from offramp_p4.tm.joint import Departure
from offramp_p4.tm.manager import TrafficManager

if TYPE_CHECKING:
    from offramp_sim.net.network import PacketNetwork

Handler = Callable[["NetworkHost", int, bytes], object]
"""Called with the host, the port and the frame of each arrival; ``host.network.now_ps`` is the time."""


class NetworkHost:
    """A host of a network, made by :meth:`offramp_sim.net.PacketNetwork.add_host`.

    Attributes:
        sent, received: frames handed to the network card, and arrived.
        tm: the queues of the network card, one for each port, without limit.
    """

    def __init__(self, network: PacketNetwork, name: str, handler: Handler | None) -> None:
        self.network, self.name, self.handler = network, name, handler
        self.sent = self.received = 0
        self.tm: TrafficManager[bytes] = TrafficManager(TmConfig(default=PortConfig(queues=(QueueConfig(),))))

    def send(self, frame: bytes, port: int = 0) -> None:
        """Hand a frame to the network card now."""
        self.sent += 1
        self.tm.enqueue(self.network.now_ps, port, 0, len(frame), frame)
        self.network.wake(self)

    def source(self, frames: Iterable[tuple[int, bytes]], port: int = 0) -> None:
        """Send frames at their times (picoseconds, ascending); see :mod:`offramp_sim.net.sources`."""
        self._send_next(iter(frames), port)

    @property
    def next_ps(self) -> int | None:
        """Time at which the network card begins to send the next frame."""
        return self.tm.next_ps

    def receive(self, now_ps: int, port: int, frame: bytes) -> None:  # noqa: ARG002
        """Hand an arrival to the handler."""
        self.received += 1
        if self.handler is not None:
            self.handler(self, port, frame)

    def advance(self, until_ps: int) -> list[Departure]:
        """Send as much as the lines have time for."""
        departures = []
        while (departure := self.tm.dequeue(until_ps)) is not None:
            finish_ps = self.tm.transmit(departure, departure.frame_bytes)
            departures.append(Departure(finish_ps, departure.port, departure.item))
        return departures

    def _send_next(self, frames: Iterator[tuple[int, bytes]], port: int) -> None:
        following = next(frames, None)
        if following is None:
            return
        time_ps, frame = following

        def send() -> None:
            self.send(frame, port)
            self._send_next(frames, port)

        self.network.at(time_ps, send)
