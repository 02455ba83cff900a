# SPDX-License-Identifier: Apache-2.0
"""A front that serves frames of a link in a thread, and lets the switch hold what is asked for most."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Final, Self

from offramp.leo.kvcache.front import Front
from offramp.leo.kvcache.wire import Frame
from offramp_base.errors import OfframpError
from offramp_base.transport.links import open_io
from offramp_base.wire.batch import PacketBatch

_LOOK_S: Final = 0.05
_WAITING_S: Final = 1e-4
"""How long the link is waited for while the store or the switch owes an answer."""
CHOOSE_S: Final = 1.0


class FrontService:
    """The store behind a link; a context manager, in which the front belongs to its thread.

    Args:
        front: of the store.
        link: to the switch: a transport's address, or an interface.
        hot: keys that the switch holds at most, chosen anew each second; None: as :meth:`hold` says.

    Attributes:
        fault: why it has ended by itself; empty while it serves.

    Raises:
        OfframpError: the link cannot be had.
    """

    def __init__(self, front: Front, link: str, hot: int | None = None) -> None:
        self._front, self._io, self._hot = front, open_io(link), hot
        self._ended = threading.Event()
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
        """Let the switch hold the keys that were asked for most, at most so many; returns when it does.

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
            chosen_at = time.monotonic()
            while not self._ended.is_set():
                self._round()
                if self._wanted:
                    most, done = self._wanted.popleft()
                    self._front.hold(self._front.chosen(most))
                    while self._front.busy and not self._ended.is_set():
                        self._round()
                    done.set()
                if self._hot is not None and time.monotonic() - chosen_at > CHOOSE_S:
                    self._front.hold(self._front.chosen(self._hot))
                    chosen_at = time.monotonic()
            self._front.close()
        except OfframpError as error:
            self.fault = str(error)

    def _round(self) -> None:
        for content in self._io.receive(_WAITING_S if self._front.busy else _LOOK_S).frames():
            if (frame := Frame.parse(content)) is not None:
                self._front.handle(frame)
        if frames := self._front.poll():
            self._io.send(PacketBatch.of((0, frame.pack()) for frame in frames))
