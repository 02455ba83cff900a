"""Rings in memory that requester and responder share: no bytes are moved, and both read one clock."""

from __future__ import annotations

from typing import Any

from offramp.leo.runtime.memory import Segment, make_ring, ring_words
from offramp.leo.transports.link import Control, LinkDown

_CHECKED = 256
"""Calls of ``pump`` between two looks at the control socket, which cost a system call."""


class SharedLink:
    """See the module; a :class:`offramp.leo.transports.link.Link`."""

    shared = True

    def __init__(self, control: Control, segment: Segment, ring_bytes: int, *, requester: bool) -> None:
        words = ring_words(ring_bytes)
        rings = segment.words[:words], segment.words[words : 2 * words]
        self.sent, self.received = rings if requester else rings[::-1]
        self._control, self._segment = control, segment
        self._calls = 0

    def pump(self) -> bool:
        """Nothing moves; the peer may be gone."""
        self._calls += 1
        if self._calls % _CHECKED == 0:
            self.check()
        return False

    def check(self) -> None:
        """Look now whether the peer lives.

        Raises:
            LinkDown: it does not.
        """
        if not self._control.alive():
            raise LinkDown("the peer has ended")

    def close(self) -> None:
        """Give back socket and memory."""
        self._control.close()
        self._segment.close()


def offer(control: Control, ring_bytes: int) -> tuple[dict[str, Any], SharedLink]:
    """The requester's end, and what the responder must know."""
    segment = Segment(2 * 8 * ring_words(ring_bytes))
    for half in segment.words.reshape(2, -1):
        make_ring(ring_bytes, half)
    return {"segment": segment.name}, SharedLink(control, segment, ring_bytes, requester=True)


def accept(control: Control, offered: dict[str, Any], ring_bytes: int) -> SharedLink:
    """The responder's end."""
    segment = Segment.attach(str(offered.get("segment")))
    return SharedLink(control, segment, ring_bytes, requester=False)
