# SPDX-License-Identifier: Apache-2.0
"""Sends that peers have begun, so that a receive from any rank finds one: which send meets which receive."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict, deque
from concurrent.futures import Future
from typing import Final

from offramp.hermod.endhost.transfers import Route
from offramp_base.errors import OfframpError

_MOST: Final = 1 << 20
"""Sends that peers have begun and nobody has asked for."""
_COUNT_BITS: Final = 32


class Offers:
    """Numbers of messages by sender and tag; the n-th send with a tag meets the n-th receive that takes one from it.

    A tag is given by its first number (:func:`offramp.hermod.endhost.numbers.tagged`).
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._received: Counter[tuple[int, int]] = Counter()
        self._offered: dict[Route, None] = {}
        self._waiting: defaultdict[int, deque[Future[Route]]] = defaultdict(deque)
        self._failure: OfframpError | None = None

    def add(self, peer: int, message: int) -> None:
        """A peer has begun a send.

        Raises:
            OfframpError: too many that nobody has asked for.
        """
        tag = message >> _COUNT_BITS << _COUNT_BITS
        with self._lock:
            if message - tag <= self._received[peer, tag]:
                return  # a receive from this rank waits for it already
            if not self._waiting[tag]:
                if len(self._offered) >= _MOST:
                    raise OfframpError(f"rank {peer} sends more than {_MOST} messages that nobody receives")
                self._offered[peer, message] = None
                return
            self._received[peer, tag] += 1
            future = self._waiting[tag].popleft()
        future.set_result((peer, message))

    def take(self, peer: int, tag: int) -> int:
        """The number of the next message from a peer with a tag, which the caller receives."""
        with self._lock:
            self._received[peer, tag] += 1
            message = tag + self._received[peer, tag]
            self._offered.pop((peer, message), None)
            return message

    def take_any(self, tag: int) -> Future[Route]:
        """The peer and number of the message with a tag that is offered first, which the caller receives.

        Raises:
            OfframpError: the endpoint has failed.
        """
        future: Future[Route] = Future()
        with self._lock:
            if self._failure is not None:
                raise OfframpError(str(self._failure))
            offer = next((o for o in self._offered if o[1] >> _COUNT_BITS << _COUNT_BITS == tag), None)
            if offer is None:
                self._waiting[tag].append(future)
                return future
            del self._offered[offer]
            self._received[offer[0], tag] += 1
        future.set_result(offer)
        return future

    def fail(self, failure: OfframpError) -> None:
        """End the receives that wait for an offer."""
        with self._lock:
            self._failure = failure
            futures = [future for waiting in self._waiting.values() for future in waiting]
            self._waiting.clear()
        for future in futures:
            future.set_exception(OfframpError(str(failure)))
