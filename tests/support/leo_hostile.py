# SPDX-License-Identifier: Apache-2.0
"""A responder and a requester's side of its rings that anybody may write: what a hostile peer can do to it."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from offramp.leo.devices import open_device
from offramp.leo.native.journal import journal_words
from offramp.leo.native.ring import ring_size
from offramp.leo.runtime import service as basic
from offramp.leo.runtime.dispatcher import Dispatcher
from offramp.leo.runtime.host import ResponderState
from offramp.leo.runtime.responder import Responder
from offramp.leo.transports.connect import RequesterListener
from offramp.leo.transports.greeting import RequesterHello
from offramp.leo.transports.link import check_ends
from offramp_base.native import ring
from offramp_base.native.ring_end import make_end, ring_words
from offramp_base.sealed_memory import SharedMemory

ROWS = 16
STRIDE = 256
HEAD, TAIL = 0, 8
FUNCTIONS = ("echo", "memory.read", "memory.write", "memory.add", "reverse")
DEVICES = ("cpu", "acc")
WORDS = (0, 1, -1, 7, 8, 40, 4095, 4096, 1 << 31, 1 << 32, 1 << 62, -(1 << 62), (1 << 63) - 1, -(1 << 63))


class Forged:
    """A link whose peer is the test; a :class:`offramp.leo.transports.link.Link`.

    Attributes:
        requests, answers: words of the rings, which the test writes as it likes.
    """

    shared = True
    mover = None

    def __init__(self, ring_bytes: int, longest: int | None) -> None:
        count = ring_words(ring_bytes)
        self.requests, self.answers = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self.sent, self.received = make_end(ring_bytes, self.answers), make_end(ring_bytes, self.requests, longest)

    def pump(self) -> bool:
        """Nothing moves."""
        check_ends(self.sent, self.received)
        return False

    def close(self) -> None:
        """It holds nothing."""

    def put(self, length: int, content: bytes, words: tuple[int, int, int, int] = (0, 0, 0, 0)) -> None:
        """An entry behind the last one, which says that it is ``length`` bytes long."""
        size, head = self.received.size, int(self.requests[HEAD])
        need, left = 40 + 8 * -(-len(content) // 8), size - (head & (size - 1))
        if left < need:
            self.requests[16 + (head & (size - 1)) // 8] = ring.SKIP
            head += left
        place = 16 + (head & (size - 1)) // 8
        entry = self.requests[place : place + 5]
        entry[:] = (length, *words)[: len(entry)]
        padded = np.zeros(-(-len(content) // 8), np.int64)
        padded.view(np.uint8)[: len(content)] = np.frombuffer(content, np.uint8)
        room = self.requests[place + 5 : place + 5 + len(padded)]
        room[:] = padded[: len(room)]
        self.requests[HEAD] = head + 40 + 8 * len(padded)


def hello(owner: int = 7, **fields: object) -> RequesterHello:
    """A greeting that the responder below accepts."""
    usual = {
        "transport": "shm",
        "owner": owner,
        "rows": ROWS,
        "stride": STRIDE,
        "ring_bytes": ring_size(2 * STRIDE, ROWS),
        "functions": FUNCTIONS,
        "devices": DEVICES,
        "pairs": frozenset({(d, f) for d in DEVICES for f in FUNCTIONS if d == "cpu" or f == "echo"}),
        "ucx": None,
        "nic": None,
    }
    return RequesterHello(**(usual | fields))  # type: ignore[arg-type]


@contextmanager
def responder() -> Iterator[Responder]:
    """With one-sided operations, an echo, a function in Python and a device."""
    words = journal_words(ROWS)
    memory = SharedMemory(ResponderState.size(4096, 3, words))
    host = ResponderState(memory, 4096, 3, words)
    device = open_device("model:service_us=1", "acc")
    with tempfile.TemporaryDirectory() as folder:
        service = basic.prepare(host, {}, {"longest": STRIDE}, first=True)
        service.python = {"reverse": lambda m: bytes(m)[::-1]}
        service.dispatchers = {"acc": Dispatcher(device)}
        peer = Responder(service, RequesterListener(f"unix:{folder}/responder"))
        try:
            yield peer
        finally:
            peer.close()
            device.close()
            memory.close()


def connected(server: Responder, greeting: RequesterHello | None = None) -> Forged:
    """A connection whose rings the test writes."""
    greeting = greeting or hello()
    link = Forged(greeting.ring_bytes, greeting.longest)
    server._connect(link, greeting)
    return link


def answers(link: Forged) -> list[tuple[int, int, bytes]]:
    """Answers of the responder since the last call: request, status and message."""
    replies = []
    size = link.sent.size
    while link.answers[TAIL] < link.answers[HEAD]:
        at = int(link.answers[TAIL])
        entry = link.answers[16 + (at & (size - 1)) // 8 :]
        if entry[ring.MessageHeader.length] == ring.SKIP:
            link.answers[TAIL] = at + size - (at & (size - 1))
            continue
        length = int(entry[ring.MessageHeader.length])
        content = entry[5:].view(np.uint8)[4:length].tobytes()
        replies.append((int(entry[ring.MessageHeader.id]), int(entry[ring.MessageHeader.info]) >> 40 & 0xFF, content))
        link.answers[TAIL] = at + 40 + (length + 7 & ~7)
    return replies


def word(rng: random.Random) -> int:
    """A word as an attacker would choose it."""
    kind = rng.randrange(3)
    if kind == 0:
        return rng.choice(WORDS)
    if kind == 1:
        return rng.randrange(-64, 1 << 13)
    return rng.randrange(-(1 << 63), 1 << 63)


def info(rng: random.Random) -> int:
    """Function, device, trip, attempt, status and flags, most of them possible."""
    if rng.random() < 0.1:
        return word(rng)
    function = rng.choice([*range(len(FUNCTIONS)), 255, 0xFFFF])
    device = rng.choice([0, 0, 0, 1, 7, 8, 255])
    trip = rng.choice([0, 0, 1, 3, 4, 255])
    return ring_info(function, device, trip, flags=rng.choice([0, 0, 1, 2, 3, 255]))


def ring_info(function: int, device: int = 0, trip: int = 0, flags: int = 0) -> int:
    """The word that says what an entry is, as a signed number."""
    unsigned = function | device << 16 | trip << 24 | flags << 48
    return unsigned - (1 << 64) if unsigned >> 63 else unsigned
