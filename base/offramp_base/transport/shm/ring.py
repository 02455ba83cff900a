# SPDX-License-Identifier: Apache-2.0
"""The ring of a link in shared memory: :mod:`offramp_base.native.ring`, and a producer that waits for room.

The word behind the head says that the producer waits. Each side writes its own word, then reads the other's, with a
fence in between: so either the producer finds room, or the consumer finds that it waits.
"""

from __future__ import annotations

from offramp_base.native.ring import NOTHING, RingEnd, give_back, reserve
from offramp_base.native.subset import Words, fence, native, observe, publish


@native
def reserve_or_want(end: RingEnd, length: int) -> int:
    """Like :func:`offramp_base.native.ring.reserve`; if there is no room, the consumer will report when there is."""
    place = reserve(end, length)
    wants = Words(end.head) + 1
    if place == NOTHING and end.fault == 0:
        publish(wants, 1)
        fence()
        place = reserve(end, length)
    if place != NOTHING and wants[0] != 0:
        publish(wants, 0)
    return place


@native
def give_back_and_look(end: RingEnd) -> int:
    """Return the bytes of all seen entries to the producer; not 0 if it waits for them."""
    give_back(end)
    fence()
    return observe(Words(end.head) + 1)
