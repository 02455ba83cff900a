# SPDX-License-Identifier: Apache-2.0
"""NCCL's ring all-reduce between two machines as a network of queues: its chunks, slots, channels and protocols.

The constants are those of NCCL's sources: the number of slots, sizes of buffers, the order of a ring's primitives; and
the tuner's times of a launch, of a step and of posting a message (:mod:`offramp.themis.nccl_constants`).

Both ranks do the same at the same time, so one is simulated: what it sends arrives when its peer's messages do. Each
channel's part of the GPU is a server; the proxy that posts messages and the card are servers that channels share.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from offramp.themis.nccl import GpuInterconnect, NcclAlgorithm, NcclProtocol
from offramp.themis.nccl_constants import NcclConstants
from offramp_base.errors import OfframpError

STEPS: Final = 8
"""Slots of a connection."""
RANKS: Final = 2


@dataclass(frozen=True, slots=True)
class ProtocolShape:
    """How a protocol cuts what a channel sends.

    Attributes:
        column: its place in the tuner's rows.
        buffer: bytes of a connection's buffer.
        payload: share of the buffer, and of the wire, that is data.
        slice_steps, chunk_steps: slots of a slice, which is one message, and of a chunk.
        posts: messages that the proxy posts for a slice.
    """

    column: int
    buffer: int
    payload: float
    slice_steps: int
    chunk_steps: int
    posts: int


SHAPES: Final = {
    NcclProtocol.LL: ProtocolShape(0, 8 * 512 * STEPS * 16, 0.5, 1, 1, 1),
    NcclProtocol.SIMPLE: ProtocolShape(2, 1 << 22, 1.0, STEPS // 4, STEPS // 2, 3),
}
"""LL has 8 lines of 16 bytes, half of them data, for each of 512 threads; Simple has 4 MiB. LL128 needs NVLink."""


@dataclass(frozen=True, slots=True)
class NcclRing:
    """Two GPUs of two machines.

    Attributes:
        link_bps: rate of the network card.
        bus_bps: rate at which a GPU reaches the buffers that the card reads and writes: PCIe.
        channels: channels of the communicator.
        constants: the tuner's numbers.
    """

    link_bps: float = 100e9
    bus_bps: float = 126e9
    channels: int = 2
    constants: NcclConstants = field(default_factory=NcclConstants.read)

    def __post_init__(self) -> None:
        """Check the rates and channels.

        Raises:
            OfframpError: one is not positive.
        """
        if min(self.link_bps, self.bus_bps) <= 0 or self.channels < 1:
            raise OfframpError(f"ring of NCCL: {self}: expected rates above 0 and at least one channel")

    def seconds(self, size: int) -> float:
        """Seconds of an all-reduce of so many bytes by the protocol that is faster."""
        return min(self.by(protocol, size) for protocol in SHAPES)

    def by(self, protocol: NcclProtocol, size: int) -> float:
        """Seconds of an all-reduce of so many bytes by a protocol."""
        shape = SHAPES[protocol]
        launch_us = float(self.constants["baseLat"][NcclAlgorithm.RING][shape.column])
        run = _RingRun(self, shape)
        data = shape.buffer / STEPS * shape.payload
        left, chunk = size / self.channels, data * shape.chunk_steps
        while left > 0:
            mine = min(chunk, left / RANKS)
            slices = [data * shape.slice_steps] * int(mine // (data * shape.slice_steps))
            if (rest := mine - sum(slices)) > 0:
                slices.append(rest)
            run.loop(slices)
            left -= RANKS * mine
        return launch_us * 1e-6 + run.end


class _RingRun:
    """Times at which the servers are free, in seconds from the start of the kernel."""

    def __init__(self, ring: NcclRing, shape: ProtocolShape) -> None:
        self._ring, self._shape = ring, shape
        constants = ring.constants
        self._post_s = float(constants["netOverhead"]) * shape.posts * 1e-6
        step_us: float = constants["hwLat"][GpuInterconnect.NETWORK][NcclAlgorithm.RING][shape.column]
        self._step_s = step_us * 1e-6
        self._gpu = [0.0] * ring.channels
        self._read: list[list[float]] = [[] for _ in range(ring.channels)]
        self._sent = [0] * ring.channels
        self._bus = self._proxy = self._card = 0.0

    @property
    def end(self) -> float:
        """When the last channel is done."""
        return max(self._gpu)

    def loop(self, slices: list[float]) -> None:
        """Send a chunk; receive, reduce and send the other; receive the sum of the first."""
        channels = range(self._ring.channels)
        first = [[self._send(c, size, 0.0) for c in channels] for size in slices]
        second = []
        for size, arrived in zip(slices, first, strict=True):
            second.append([self._send(c, size, arrived[c], receives=True) for c in channels])
        for size, arrived in zip(slices, second, strict=True):
            for c in channels:
                self._copy(c, size, arrived[c])
                self._read[c].append(self._gpu[c])

    def _copy(self, channel: int, size: float, ready: float) -> None:
        """The channel's threads, over the bus that all channels share."""
        begun = max(self._gpu[channel], self._bus, ready)
        self._bus = begun + size / self._shape.payload * 8 / self._ring.bus_bps
        self._gpu[channel] = self._bus

    def _send(self, channel: int, size: float, ready: float, *, receives: bool = False) -> float:
        """Fill a slot and send it; returns when it has arrived. A slot is free once the peer has read it."""
        before = self._sent[channel] - STEPS // self._shape.slice_steps  # the message whose slot this one takes
        self._sent[channel] += 1
        self._copy(channel, size, max(ready, self._read[channel][before] if before >= 0 else 0.0))
        if receives:
            self._read[channel].append(self._gpu[channel])
        self._proxy = max(self._proxy, self._gpu[channel]) + self._post_s
        self._card = max(self._card, self._proxy) + size / self._shape.payload * 8 / self._ring.link_bps
        arrived: float = self._card + self._step_s
        return arrived
