# SPDX-License-Identifier: Apache-2.0
"""One link of this process for several jobs: frames are told apart by the job in their header.

A link over a Unix socket or shared memory has one end for the host, but a program has many groups, each a job of its
own. No thread reads for them: whoever waits for frames reads the link, and hands what belongs to others to them.
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Final, cast

from offramp.allreduce.wire import HEADER_BYTES, AllReducePackets
from offramp.switch_packets import at_least
from offramp_base.errors import OfframpError
from offramp_base.transport import open_io
from offramp_base.transport.base import Lending
from offramp_base.wire.batch import PacketBatch

if TYPE_CHECKING:
    from collections.abc import Callable

    from offramp_base.transport.base import FrameIO, LentSocket, LinkStats
    from offramp_base.transport.host_link import HostLink

ONE_END: Final = ("unix:", "shm:")
"""Links with one end for the host, whose frames arrive in memory of their own."""
_links: dict[str, _SharedLink] = {}
_opening = threading.Lock()


def open_shared(link: str, job: int) -> FrameIO:
    """This process's end of a link for a job; jobs share a link with one end.

    Raises:
        OfframpError: the link cannot be opened, or another group of this process has the same job.
    """
    if not link.startswith(ONE_END):
        return open_io(link)
    with _opening:
        shared = _links.get(link)
        if shared is None or shared.failed:  # a link that is gone may be back, with another switch
            shared = _links[link] = _SharedLink(link)
        return shared.join(job)


class _SharedLink:
    """A link and the jobs that use it; the last to leave closes it.

    While there is one job, its calls go straight to the link. With several, one of those who wait polls the link, so
    that others can send meanwhile; a send may take frames, too, and wakes the one who polls if they are for it.
    """

    def __init__(self, name: str) -> None:
        self.name, self.failed = name, ""
        self.io = cast("HostLink", open_io(name))
        self._jobs: dict[int, _JobLink] = {}
        self._reader: _JobLink | None = None
        self._using = threading.Lock()
        """Held by the thread that is inside the link, which is none for several threads."""
        self._arrived = threading.Condition()
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._poll = select.poll()
        for descriptor in (self._wake, self.io.fileno()):
            self._poll.register(descriptor, select.POLLIN)

    def join(self, job: int) -> _JobLink:
        with self._using, self._arrived:
            if job in self._jobs:
                raise OfframpError(f"link {self.name}: another group of this process has job {job}")
            self._jobs[job] = _JobLink(self, job)
            return self._jobs[job]

    def leave(self, job: int) -> None:
        with _opening, self._arrived:
            if self._jobs.pop(job, None) is None or self._jobs:
                return
            if _links.get(self.name) is self:
                del _links[self.name]
            self.io.close()
            os.close(self._wake)

    def send(self, batch: PacketBatch) -> None:
        with self._using:
            self.io.send(batch)
            if len(self._jobs) > 1:
                self._hand_out(self._taken(0.0))

    def lend(self, job: _JobLink, use: Callable[[LentSocket], None]) -> bool:
        """Whether the only job's code has used the link by itself."""
        with self._using:
            alone = len(self._jobs) == 1 and not job.frames and isinstance(self.io, Lending)
            try:
                return alone and cast("Lending", self.io).lend(use)
            except OfframpError as error:
                self.failed = str(error)
                raise

    def receive(self, job: _JobLink, timeout_s: float) -> PacketBatch:
        """Frames of a job, at least one unless the time is over or only others' have arrived."""
        deadline = time.monotonic() + timeout_s
        with self._arrived:
            while not job.frames and self._reader is not None:
                left = deadline - time.monotonic()
                if left <= 0 or not self._arrived.wait(left):
                    return PacketBatch.empty()
            if job.frames:
                return job.take()
            if self.failed:
                raise OfframpError(self.failed)
            self._reader = job
        try:
            left = max(0.0, deadline - time.monotonic())
            if len(self._jobs) > 1:
                self._poll.poll(left * 1e3)
                with contextlib.suppress(BlockingIOError):
                    os.eventfd_read(self._wake)
                left = 0.0
            with self._using:
                self._hand_out(self._taken(left))
        finally:
            with self._arrived:
                self._reader = None
                self._arrived.notify_all()
        with self._arrived:
            return job.take()

    def _taken(self, timeout_s: float) -> PacketBatch:
        try:
            return self.io.receive(timeout_s)
        except OfframpError as error:
            self.failed = str(error)
            raise

    def _hand_out(self, batch: PacketBatch) -> None:
        """Give each job its frames; nobody's are dropped."""
        if not len(batch):
            return
        numbers = AllReducePackets(at_least(batch, HEADER_BYTES), 0).field("job")
        with self._arrived:
            for job in self._jobs.values():
                own = numbers == job.job
                if own.all():
                    job.frames.append(batch)
                elif own.any():
                    job.frames.append(batch.select(own))
            if self._reader is not None and self._reader.frames:
                os.eventfd_write(self._wake, 1)
            self._arrived.notify_all()


class _JobLink:
    """A job's share of a link, as :class:`offramp_base.transport.base.FrameIO` is."""

    def __init__(self, link: _SharedLink, job: int) -> None:
        self.job = job
        self.frames: deque[PacketBatch] = deque()
        self._link = link

    def take(self) -> PacketBatch:
        """What has been handed out to this job."""
        batch = PacketBatch.concatenate(self.frames)
        self.frames.clear()
        return batch

    @property
    def stats(self) -> LinkStats:
        """Counts of the whole link since it was opened."""
        return self._link.io.stats

    def send(self, batch: PacketBatch) -> None:
        """Send all frames of ``batch``."""
        self._link.send(batch)

    def lend(self, use: Callable[[LentSocket], None]) -> bool:
        """Have ``use`` move frames by itself, which no other job may be there for."""
        return self._link.lend(self, use)

    def receive(self, timeout_s: float) -> PacketBatch:
        """Frames of this job."""
        return self._link.receive(self, timeout_s)

    def close(self) -> None:
        """Leave the link."""
        self._link.leave(self.job)
