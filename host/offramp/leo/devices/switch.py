# SPDX-License-Identifier: Apache-2.0
"""``switch:LINK,store=MAC``: a key-value store behind a switch that answers hot keys (:mod:`offramp.leo.kvcache`).

``kvs.get`` takes a key of 8 bytes, little-endian as everywhere in LEO, and answers with the 64 bytes of its value;
``kvs.put`` takes key and value, and answers with the version, 4 bytes. Requests are retransmitted until they are
answered.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from offramp.device import Completion, Message, Status
from offramp.leo.devices.options import parse
from offramp.leo.kvcache.settings import parse_mac
from offramp.leo.kvcache.wire import (
    ETHER_TYPE,
    NOTE_CLIENT,
    REMEMBERED,
    VALUE_BYTES,
    CacheFrameType,
    batch_of,
    fields_of,
    packed_request,
)
from offramp.leo.memory import HostMemory
from offramp_base.errors import OfframpError
from offramp_base.transport.links import open_io

GET: Final = "kvs.get"
PUT: Final = "kvs.put"
_KEY_BYTES: Final = 8
_VERSION_BYTES: Final = 4
_KIND_AT: Final = 14
_GET: Final = int(CacheFrameType.GET)
_PUT: Final = int(CacheFrameType.PUT)
_REPLY: Final = int(CacheFrameType.REPLY)
_SIZES: Final = {GET: _KEY_BYTES, PUT: _KEY_BYTES + VALUE_BYTES}


@dataclass(frozen=True)
class SwitchDeviceOptions:
    """``link`` to the switch (a transport's, or an interface), MAC addresses of ``store`` and of this host (``mac``).

    ``client`` is this client's 16-bit number at the store; ``retry_ms`` is the time after which a request is
    retransmitted.
    """

    link: str = ""
    store: str = "0a:00:00:00:00:01"
    mac: str = "0a:00:00:00:00:02"
    client: int = 1
    depth: int = 256
    retry_ms: float = 20.0


def open_device(options: str, name: str) -> SwitchDevice:
    """The device of these options; the first may be ``link`` alone."""
    return SwitchDevice(parse(SwitchDeviceOptions, options, f"switch:{options}", "link"), name)


class SwitchDevice:
    """See the module; a :class:`offramp.device.Device`.

    Attributes:
        by_switch: number of requests that the switch has answered itself.
        versions: versions of recent answers, by the host's number of the request; a reader removes them.
    """

    kind = "switch"
    functions: Sequence[str] = (GET, PUT)

    def __init__(self, options: SwitchDeviceOptions, name: str = "switch") -> None:
        if not 1 <= options.depth < REMEMBERED or not 0 <= options.client < NOTE_CLIENT:
            raise OfframpError(f"device {name}: expected a depth below {REMEMBERED} and a client below {NOTE_CLIENT}")
        self.name, self.depth, self.options = name, options.depth, options
        try:
            self._macs = parse_mac(options.store), parse_mac(options.mac)
        except ValueError as error:
            raise OfframpError(f"device {name}: {error}") from None
        self._io, self._client = open_io(options.link), options.client
        self._retry_ns = round(1e6 * options.retry_ms)
        self._next = self._oldest = 0  # no open request is older
        self._open: dict[int, tuple[int, int, int, bytes]] = {}  # number: host's number, begun, sent, frame
        self._queued: list[bytes] = []
        self._done: list[Completion] = []
        self._closed = False
        self.by_switch = 0
        self.versions: dict[int, int] = {}

    def memory(self, function: str) -> HostMemory:
        """Raise an error: the functions have no tables."""
        raise OfframpError(f"function {function}: it has no tables")

    def submit(self, function: str, request: int, message: Message) -> bool:
        """Queue a request; False where the queue is full."""
        if self._closed:
            raise OfframpError(f"device {self.name} is closed")
        if len(self._open) >= self.depth:
            return False
        if self._next - self._oldest >= REMEMBERED - 1:
            self._oldest = min(self._open, default=self._next)
            if self._next - self._oldest >= REMEMBERED - 1:
                return False
        if function not in _SIZES or len(message) != _SIZES[function]:
            status = Status.BAD_LENGTH if function in _SIZES else Status.UNKNOWN_FUNCTION
            self._done.append(Completion(request, status, b"", 0))
            return True
        content = bytes(message)
        number, self._next = self._next, self._next + 1
        kind, key = _GET if function == GET else _PUT, int.from_bytes(content[:_KEY_BYTES], "little")
        frame = packed_request(self._macs, kind, self._client, number, key, content[_KEY_BYTES:])
        now = time.monotonic_ns()
        self._open[number] = request, now, now, frame
        self._queued.append(frame)
        return True

    def poll(self, timeout_s: float = 0.0) -> list[Completion]:
        """Completions since the last call; requests without an answer for too long are retransmitted.

        Args:
            timeout_s: seconds to wait for the first of them.
        """
        now = time.monotonic_ns()
        while self._open:  # in the order in which they were sent
            number, (request, begun, sent, frame) = next(iter(self._open.items()))
            if now - sent <= self._retry_ns:
                break
            del self._open[number]
            self._open[number] = request, begun, now, frame
            self._queued.append(frame)
        if self._queued:
            frames, self._queued = self._queued, []
            self._io.send(batch_of(frames))
        came = self._io.receive(timeout_s if self._open and not self._done else 0.0)
        heard = time.monotonic_ns()
        for _, _, ether_type, kind, hops, client, number, _, version, value in fields_of(came):
            if ether_type == ETHER_TYPE and kind == _REPLY and client == self._client and number in self._open:
                self._hear(number, hops == 1, version, value, heard)
        completions, self._done = self._done, []
        return completions

    def reset(self) -> None:
        """Abort everything outstanding."""
        self._done += [Completion(request, Status.ABORTED, b"", 0) for request, *_ in self._open.values()]
        self._open.clear()
        self._queued.clear()

    def close(self) -> None:
        """Close the link."""
        if not self._closed:
            self._io.close()
        self._closed = True

    def _hear(self, number: int, by_switch: bool, version: int, value: bytes, heard: int) -> None:
        request, begun, _, asked = self._open.pop(number)
        self.by_switch += by_switch
        self.versions[request] = version
        took = heard - begun
        if version == 0:
            self._done.append(Completion(request, Status.FAILED, b"", took))
            return
        answer = version.to_bytes(_VERSION_BYTES, "little") if asked[_KIND_AT] == _PUT else value
        self._done.append(Completion(request, Status.OK, answer, took))
