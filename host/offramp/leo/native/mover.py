# SPDX-License-Identifier: Apache-2.0
"""Transports in machine code: bytes between the ends of rings and a socket, or UCX, without Python between rounds.

A :class:`LinkMover` belongs to a link. Its functions are those of the C library and of UCX, called by address. An error
sets ``fault``: compiled loops return at once, and the link reports the error.

Written in the part of Python that :mod:`offramp_base.native` compiles.
"""

from __future__ import annotations

import errno
import socket
from typing import Annotated, Final

from offramp.leo.native.clock import ClockedState, now_ns
from offramp_base.native.ring import RingEnd
from offramp_base.native.ring_end import RING_HEADER_WORDS
from offramp_base.native.subset import Ints, Words, call_foreign, native, observe, publish

MOST_PENDING: Final = 8
"""Most UCX puts under way: two pieces of the ring, and two words."""


class LinkMover(ClockedState):
    """State with which compiled code moves the bytes of a link."""

    kind: int
    fault: int  # 0, CLOSED, or the number of an error
    socket: int  # TCP: the descriptor, and functions of the C library
    send: int
    receive: int
    error: int  # where its last error stands
    worker: int  # UCX: its objects and functions
    peer: int
    key: int
    options: int
    progress: int
    put: int
    fence: int
    check: int
    free: int
    inbox: int  # where the peer's inbox begins, in its own memory
    put_sent: int  # how far the bytes have gone
    put_tail: int
    outbox: Annotated[Words, 2]  # the two words that are on their way
    pending: int
    requests: Annotated[Words, MOST_PENDING]


TCP: Final = 1
UCX: Final = 2
CLOSED: Final = -1
_FLAGS: Final = int(socket.MSG_DONTWAIT) | int(socket.MSG_NOSIGNAL)
_AGAIN: Final = errno.EAGAIN
_INTERRUPTED: Final = errno.EINTR
_LOW: Final = 0xFFFFFFFF
_IN_PROGRESS: Final = 1
_LAST_ERROR: Final = -100
_WORD: Final = 8


@native
def _failed(mover: LinkMover) -> int:
    """Record the C library's error, unless it only says that nothing can be moved now."""
    number = Ints(call_foreign(mover.error, 0, 0, 0, 0, 0, 0))[0]
    if number != _AGAIN and number != _INTERRUPTED:
        mover.fault = number
    return 0


@native
def _pull_tcp(mover: LinkMover, received: RingEnd) -> int:
    """Receive the bytes that the kernel has."""
    moved = 0
    while True:
        head = received.head[0]
        room = received.size - (head - observe(received.tail))
        if room <= 0:
            return moved
        place = head & (received.size - 1)
        count = min(room, received.size - place)
        at = int(received.entries) + place
        done = call_foreign(mover.receive, mover.socket, at, count, _FLAGS, 0, 0)
        if done < 0:
            _failed(mover)
            return moved
        if done == 0:
            mover.fault = CLOSED
            return moved
        received.arrived = now_ns(mover)
        publish(received.head, head + done)
        moved += done
        if done < count:
            return moved


@native
def _push_tcp(mover: LinkMover, sent: RingEnd) -> int:
    """Send as many bytes as the kernel accepts."""
    moved = 0
    while True:
        tail = sent.tail[0]
        left = observe(sent.head) - tail
        if left <= 0:
            return moved
        place = tail & (sent.size - 1)
        count = min(left, sent.size - place)
        at = int(sent.entries) + place
        done = call_foreign(mover.send, mover.socket, at, count, _FLAGS, 0, 0)
        if done <= 0:
            _failed(mover)
            return moved
        publish(sent.tail, tail + done)
        moved += done
        if done < count:
            return moved


@native
def _settle(mover: LinkMover) -> int:
    """Release the puts that have completed; returns how many have not."""
    kept = 0
    for i in range(mover.pending):
        request = mover.requests[i]
        status = call_foreign(mover.check, request, 0, 0, 0, 0, 0) & _LOW
        if status == _IN_PROGRESS:
            mover.requests[kept] = request
            kept += 1
        else:
            call_foreign(mover.free, request, 0, 0, 0, 0, 0)
            if status != 0:
                mover.fault = status - _LOW - 1
    mover.pending = kept
    return kept


@native
def _put(mover: LinkMover, source: int, count: int, target: int) -> int:
    """Start a put."""
    request = call_foreign(mover.put, mover.peer, source, count, target, mover.key, mover.options)
    if request < 0 and request >= _LAST_ERROR:
        mover.fault = request
    elif request != 0:
        mover.requests[mover.pending] = request
        mover.pending = mover.pending + 1
    return 0


@native
def _pull_ucx(mover: LinkMover, received: RingEnd) -> int:
    """Let UCX make progress: the peer's puts arrive meanwhile."""
    before = observe(received.head)
    call_foreign(mover.progress, mover.worker, 0, 0, 0, 0, 0)
    moved = observe(received.head) - before
    if moved != 0:
        received.arrived = now_ns(mover)
    return moved


@native
def _push_ucx(mover: LinkMover, sent: RingEnd, received: RingEnd) -> int:
    """Put new bytes, then, behind a fence, the positions up to which bytes were published and consumed."""
    if _settle(mover) > 0 or mover.fault != 0:
        return 0
    head = observe(sent.head)
    tail = observe(received.tail)
    at = mover.put_sent
    if head == at and tail == mover.put_tail:
        return 0
    entries = mover.inbox + RING_HEADER_WORDS * _WORD
    while at < head:
        place = at & (sent.size - 1)
        count = min(head - at, sent.size - place)
        _put(mover, int(sent.entries) + place, count, entries + place)
        at += count
    mover.outbox[0] = head
    mover.outbox[1] = tail
    words = int(mover.outbox)
    if head != mover.put_sent:
        fenced = call_foreign(mover.fence, mover.worker, 0, 0, 0, 0, 0) & _LOW
        if fenced != 0:
            mover.fault = fenced - _LOW - 1
            return 0
        _put(mover, words, _WORD, mover.inbox)
    if tail != mover.put_tail:
        _put(mover, words + _WORD, _WORD, mover.inbox + RING_HEADER_WORDS // 2 * _WORD)
    mover.put_sent = head
    mover.put_tail = tail
    return 1


@native
def pull(mover: LinkMover, received: RingEnd) -> int:
    """Receive bytes from the peer; returns 0 if there were none."""
    if mover.fault != 0:
        return 0
    if mover.kind == TCP:
        return _pull_tcp(mover, received)
    return _pull_ucx(mover, received)


@native
def push(mover: LinkMover, sent: RingEnd, received: RingEnd) -> int:
    """Send bytes to the peer, and the position up to which its bytes were consumed; 0 if nothing could be moved."""
    if mover.fault != 0:
        return 0
    if mover.kind == TCP:
        return _push_tcp(mover, sent)
    return _push_ucx(mover, sent, received)


@native
def move(mover: LinkMover, sent: RingEnd, received: RingEnd) -> int:
    """Move bytes in both directions, once."""
    return push(mover, sent, received) | pull(mover, received)
