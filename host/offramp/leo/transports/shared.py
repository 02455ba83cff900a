# SPDX-License-Identifier: Apache-2.0
"""Rings in memory that requester and responder share: no bytes are moved, and both read one clock.

The requester creates the memory and sends its descriptor with its greeting; the responder checks it before mapping it.
Only the rings lie in it: each side's position in them is in its own memory (:mod:`offramp.leo.native.ring`).
"""

from __future__ import annotations

from typing import Final, Self

from offramp.leo.transports.link import (
    TRANSPORTS,
    Fields,
    GreetingSocket,
    Guest,
    LinkDown,
    RequesterGreeting,
    check_ends,
)
from offramp_base.errors import OfframpError
from offramp_base.native.records import offset
from offramp_base.native.ring import RingEnd
from offramp_base.native.ring_end import Words, make_end, ring_words
from offramp_base.sealed_memory import SharedMemory

_FAULT: Final = offset(RingEnd.fault)
_CHECKED: Final = 256
"""Calls of ``pump`` between two checks of the control socket, which cost a system call."""


def memory_bytes(ring_bytes: int) -> int:
    """Bytes of the memory of a link."""
    return 2 * 8 * ring_words(ring_bytes)


@TRANSPORTS.register("shm")
class SharedLink:
    """A link through shared memory; implements :class:`offramp.leo.transports.link.Link`."""

    shared = True
    mover: Words | None = None

    def __init__(
        self, control: GreetingSocket, memory: SharedMemory, ring_bytes: int, longest: int | None, *, requester: bool
    ) -> None:
        """Make one side's ends of the rings; ``longest`` is the most bytes of a message that it accepts."""
        words = ring_words(ring_bytes)
        halves = memory.words[:words], memory.words[words : 2 * words]
        ours, theirs = halves if requester else halves[::-1]
        self.sent, self.received = make_end(ring_bytes, ours), make_end(ring_bytes, theirs, longest)
        self._sent_words, self._received_words = self.sent.words.data, self.received.words.data
        self._control, self._memory = control, memory
        self._calls = 0

    @classmethod
    def connect(cls, call: RequesterGreeting) -> tuple[Self, Fields]:
        """Create the memory and send its descriptor with the greeting.

        Raises:
            OfframpError: the address is not a Unix socket, or the responder refuses.
            LinkDown: no responder is there.
        """
        if not str(call.address).startswith("unix:"):
            raise OfframpError(f"transport shm at {call.address}: shared memory needs a Unix socket, unix:PATH")
        memory = SharedMemory(memory_bytes(call.ring_bytes), "offramp-leo")
        try:
            control, answer = call.dial(memory.fd)
        except BaseException:
            memory.close()
            raise
        return cls(control, memory, call.ring_bytes, None, requester=True), answer

    @classmethod
    def accept(cls, guest: Guest) -> Self:
        """Map the memory whose descriptor came with the greeting.

        Raises:
            OfframpError: there is none, or the memory is not as specified.
        """
        descriptors, size = guest.greeting.descriptors, guest.hello.ring_bytes
        if len(descriptors) != 1:
            raise OfframpError("transport shm: expected one descriptor with the greeting")
        memory = SharedMemory.attach(descriptors.pop(), memory_bytes(size), "the requester")
        try:
            return cls(guest.welcome(), memory, size, guest.hello.longest, requester=False)
        except BaseException:
            memory.close()
            raise

    def pump(self) -> bool:
        """Move nothing; check whether the peer is gone or has written invalid data."""
        self._calls += 1
        if self._sent_words[_FAULT] or self._received_words[_FAULT]:
            check_ends(self.sent, self.received)
        if self._calls % _CHECKED == 0 and not self._control.alive():
            raise LinkDown("the peer has ended")
        return False

    def close(self) -> None:
        """Release socket and memory."""
        self._control.close()
        self._memory.close()
