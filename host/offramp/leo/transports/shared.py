# SPDX-License-Identifier: Apache-2.0
"""Rings in memory that requester and responder share: no bytes are moved, and both read one clock.

The requester makes the memory and sends its descriptor with its greeting; the responder looks at it before it maps it.
Only the rings lie in it: where each side stands in them is in its own memory (:mod:`offramp.leo.native.ring`).
"""

from __future__ import annotations

from offramp.leo.native.end import make_end, ring_words
from offramp.leo.transports.link import Control, LinkDown, check_ends
from offramp_base.sealed_memory import SharedMemory

_CHECKED = 256
"""Calls of ``pump`` between two looks at the control socket, which cost a system call."""


def memory_bytes(ring_bytes: int) -> int:
    """Bytes of the memory of a link."""
    return 2 * 8 * ring_words(ring_bytes)


class SharedLink:
    """See the module; a :class:`offramp.leo.transports.link.Link`."""

    shared = True

    def __init__(
        self, control: Control, memory: SharedMemory, ring_bytes: int, longest: int | None, *, requester: bool
    ) -> None:
        """One side's ends; ``longest`` message that it takes, bytes."""
        words = ring_words(ring_bytes)
        halves = memory.words[:words], memory.words[words : 2 * words]
        ours, theirs = halves if requester else halves[::-1]
        self.sent, self.received = make_end(ring_bytes, ours), make_end(ring_bytes, theirs, longest)
        self._control, self._memory = control, memory
        self._calls = 0

    def pump(self) -> bool:
        """Nothing moves; the peer may be gone, or have written what cannot be."""
        self._calls += 1
        check_ends(self.sent, self.received)
        if self._calls % _CHECKED == 0 and not self._control.alive():
            raise LinkDown("the peer has ended")
        return False

    def close(self) -> None:
        """Give back socket and memory."""
        self._control.close()
        self._memory.close()
