# SPDX-License-Identifier: Apache-2.0
"""Ports whose link is two captures: what the switch receives is read from one, what it sends is written to another.

``files:STEM`` reads ``STEM_in.pcap`` and writes ``STEM_out.pcap``, as ``simple_switch --use-files`` does.
"""

from __future__ import annotations

import os
import select
import threading
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Final

from offramp_base.errors import OfframpError
from offramp_base.numerals import whole_number
from offramp_base.transport.base import LinkStats
from offramp_base.wire import pcap
from offramp_base.wire.batch import PacketBatch

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import numpy.typing as npt

_AT_ONCE: Final = 64
_WAIT: Final = ",wait="
"""Before the time until the first frame is read."""


class CaptureSchedule:
    """The frames of several captures, which are handed out in the order of their times.

    Args:
        frames: time in microseconds and bytes of each frame, by port.
    """

    def __init__(self, frames: Mapping[int, list[tuple[int, bytes]]]) -> None:
        self._frames = {number: deque(sorted(each, key=lambda frame: frame[0])) for number, each in frames.items()}

    def take(self, number: int, most: int = _AT_ONCE) -> list[bytes]:
        """The next frames of a port, as far as no other port has an earlier one."""
        mine = self._frames[number]
        others = [(each[0][0], other) for other, each in self._frames.items() if each and other != number]
        horizon = min(others, default=None)
        taken: list[bytes] = []
        while mine and len(taken) < most and (horizon is None or (mine[0][0], number) < horizon):
            taken.append(mine.popleft()[1])
        return taken

    def left(self, number: int) -> bool:
        """Whether a port has frames that were not taken."""
        return bool(self._frames[number])


class FilesPort:
    """The port ``number`` of a schedule, which sends into a capture."""

    def __init__(self, number: int, stem: str, schedule: CaptureSchedule, wait_s: float) -> None:
        self.name, self.stats = f"files:{stem}", LinkStats()
        self._number, self._schedule = number, schedule
        self._out = pcap.CaptureWriter(Path(f"{stem}_out.pcap"))
        self._ready = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._timer = threading.Timer(wait_s, os.eventfd_write, (self._ready, 1))
        self._timer.daemon = True
        if schedule.left(number):
            self._timer.start()

    def interest(self) -> list[tuple[int, int]]:
        """A descriptor that is readable while there are frames."""
        return [(self._ready, select.POLLIN)]

    def receive(self) -> list[PacketBatch]:
        """The next frames."""
        frames = self._schedule.take(self._number)
        if not self._schedule.left(self._number):
            os.eventfd_read(self._ready)
        self.stats.received += len(frames)
        return [PacketBatch.of((0, frame) for frame in frames)]

    def send(self, batch: PacketBatch, rows: npt.NDArray[np.intp] | None = None) -> None:
        """Append frames to the capture."""
        chosen = batch if rows is None else batch.select(rows)
        self._out.write(time.time_ns() // 1000, chosen.frames())
        self.stats.sent += len(chosen)

    def flush(self) -> None:
        """Nothing is kept: what was sent is in the file."""

    def rest(self) -> None:
        """Nobody waits at the other end."""

    congested = busy = False
    up = True

    def tick(self, now: float) -> None:
        """A file needs no care."""

    def close(self) -> None:
        """Close the file."""
        self._timer.cancel()
        if self._timer.ident is not None:
            self._timer.join()
        os.close(self._ready)
        self._out.close()


def open_files(links: Mapping[int, str]) -> dict[int, FilesPort]:
    """The ports of ``STEM[,wait=SECONDS]`` by number.

    Raises:
        OfframpError: a capture is missing or cannot be read, a file cannot be written, or a time is not a number.
    """
    parts = {number: link.partition(_WAIT) for number, link in links.items()}
    waits: dict[int, int] = {}
    frames: dict[int, list[tuple[int, bytes]]] = {}
    for number, (stem, comma, text) in parts.items():
        wait_s = whole_number(text) if comma else 0
        if not stem or wait_s is None:
            raise OfframpError(f"{links[number]!r}: expected files:STEM or files:STEM,wait=SECONDS")
        path = Path(f"{stem}_in.pcap")
        if not path.is_file():
            raise OfframpError(f"{path}: no such file; port {number} reads its frames from it")
        waits[number], frames[number] = wait_s, pcap.read(path, of_bmv2=True)
    schedule = CaptureSchedule(frames)
    ports: dict[int, FilesPort] = {}
    try:
        for number, (stem, _, _) in parts.items():
            ports[number] = FilesPort(number, stem, schedule, waits[number])
    except OfframpError:
        for port in ports.values():
            port.close()
        raise
    return ports
