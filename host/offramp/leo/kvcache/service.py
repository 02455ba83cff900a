# SPDX-License-Identifier: Apache-2.0
"""A front that serves frames of a link in a thread, and keeps the most requested keys in the switch."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Self

from offramp.leo.kvcache.control import CacheControl
from offramp.leo.kvcache.front import Front
from offramp.leo.kvcache.settings import CacheSettings
from offramp.leo.kvcache.wire import CacheFrame
from offramp_base.errors import OfframpError
from offramp_base.listening import Token
from offramp_base.p4rt.session import Session
from offramp_base.transport.links import open_io
from offramp_base.wire.batch import PacketBatch

MakeService = Callable[[str, Callable[[], None]], "FrontService"]
"""Makes a service from the store's address and a function that is called if the service ends by itself."""
_LOOK_S: Final = 0.05
_WAITING_S: Final = 1e-4
"""Seconds to wait on the link while the store or the switch owes an answer."""
_HOLDS_S: Final = 1e-3
"""The same while the switch holds keys; a change of one of them waits at most this long."""
CHOOSE_S: Final = 1.0


class FrontService:
    """The store behind a link; a context manager, in which the front belongs to its thread.

    Args:
        open_front: makes the front, connected to the store.
        link: link to the switch: a transport's address, or an interface.
        hot: most keys that the switch holds, chosen anew each second; None: only :meth:`hold` chooses.
        ended: called if it ends by itself.

    Attributes:
        fault: reason why it has ended by itself; empty while it serves.

    Raises:
        OfframpError: the link cannot be opened.
    """

    def __init__(
        self,
        open_front: Callable[[], Front],
        link: str,
        hot: int | None = None,
        ended: Callable[[], None] | None = None,
    ) -> None:
        self._open, self._io, self._hot, self._say = open_front, open_io(link), hot, ended
        self._ended = threading.Event()
        self._front: Front | None = None
        self._wanted: deque[tuple[int, threading.Event]] = deque()
        self._thread = threading.Thread(target=self._run, name="store's frames")
        self.fault = ""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._io.close()

    def hold(self, most: int) -> None:
        """Make the switch hold the most requested keys, at most ``most``; returns once it does.

        Raises:
            OfframpError: the front has ended.
        """
        done = threading.Event()
        self._wanted.append((most, done))
        while not done.wait(_LOOK_S):
            if self.fault or not self._thread.is_alive():
                raise OfframpError(self.fault or "the store's front has ended")

    def _run(self) -> None:
        try:
            # What the switch holds is right as long as the front guards it: after a fault it goes on to do so.
            front = self._front = self._open()
            chosen_at = time.monotonic()
            while not self._ended.is_set():
                self._round(front)
                if self._wanted:
                    most, done = self._wanted.popleft()
                    front.hold(front.chosen(most))
                    while front.busy and not self._ended.is_set():
                        self._round(front)
                    done.set()
                if self._hot is not None and time.monotonic() - chosen_at > CHOOSE_S:
                    front.hold(front.chosen(self._hot))
                    chosen_at = time.monotonic()
            front.close()
        except OfframpError as error:
            self.fault = str(error)
            if self._say is not None:
                self._say()

    def _round(self, front: Front) -> None:
        longest_s = _WAITING_S if front.busy else _HOLDS_S if front.guards else _LOOK_S
        for frame in CacheFrame.parse_batch(self._io.receive(longest_s)):
            front.handle(frame)
        if frames := front.poll():
            self._io.send(PacketBatch.of((0, frame.pack()) for frame in frames))


@contextmanager
def front_of(settings: CacheSettings, token: Token | None) -> Iterator[MakeService]:
    """A maker of the service for a switch whose cache is empty, which gets the store's address later.

    Raises:
        OfframpError: the switch cannot be reached, or runs another program and does not give it up.
    """
    with Session(settings.cache_switch, timeout_s=60.0) as session:
        control = CacheControl.begin(session, settings.cache_port, settings.cache_keys)
        control.forward(settings.ports)

        def make(address: str, ended: Callable[[], None]) -> FrontService:
            return FrontService(
                lambda: Front(address, settings.mac, control, token),
                settings.cache_link,
                settings.cache_keys,
                ended,
            )

        yield make
