# SPDX-License-Identifier: Apache-2.0
"""A native switch with a traffic manager: ingress, queues and egress in one call of machine code."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from offramp_base.errors import OfframpError
from offramp_base.native.arrays import Array, address
from offramp_base.wire.batch import PacketBatch
from offramp_p4.native.architecture import ADVANCE, RECEIVE, RECEIVE_BATCH, PacketMode
from offramp_p4.native.runtime import context as at
from offramp_p4.native.state.queues import NativeManager
from offramp_p4.tm.config import TmConfig
from offramp_p4.tm.ecn import mark_ce
from offramp_p4.tm.joint import PS_PER_US, Departure, Mark, Times, check_marked, check_time

if TYPE_CHECKING:
    from offramp_p4.native.switch import NativeSwitch

_LATEST_PS: Final = (1 << 62) - 1
"""53 days: machine code counts picoseconds in a word."""
_INT: Final = ctypes.c_int64

# Words that are looked at for each packet: plain numbers, which index an array quicker than what names them.
_NOW_PS: Final = int(at.SwitchMemory.now_ps)
_DIGESTS: Final = int(at.SwitchMemory.digests.start)
_EVENTS: Final = int(at.SwitchMemory.events.used)
_TRIGGERS: Final = int(at.SwitchMemory.triggers.used)


def _has_events(words: npt.NDArray[np.int64]) -> bool:
    """Whether something has happened that a listener waits for."""
    return bool(words[_DIGESTS] or words[_EVENTS] or words[_TRIGGERS])


class NativeJoint:
    """Equals :class:`offramp_p4.tm.joint.Joint` packet for packet; observers and digests are called afterwards.

    Attributes:
        tm: queues and their counts.
    """

    def __init__(self, switch: NativeSwitch, config: TmConfig, mark: Mark) -> None:
        self._switch, self._context, self._mark = switch, switch._context, mark
        self.tm = NativeManager(self._context, config)
        switch.code(PacketMode.QUEUED)
        switch.bind(self._take_functions)
        self._failure: BaseException | None = None
        self._context.words[at.SwitchMemory.mark] = 0
        if mark is not mark_ce:
            self._context.hold_function(at.SwitchMemory.mark, self._mark_frame)

    def _take_functions(self) -> None:
        code = self._switch.code(PacketMode.QUEUED)
        self._receive = code.function(RECEIVE, None, _INT, _INT, ctypes.c_char_p, _INT, _INT)
        self._receive_batch = code.function(RECEIVE_BATCH, _INT, *[_INT] * 7)
        self._advance = code.function(ADVANCE, None, _INT, _INT)

    def receive(self, now_ps: int, port: int, frame: bytes) -> None:
        """A frame arrives."""
        switch, words = self._switch, self._context.words
        with switch._lock:
            switch._prepare()
            self._check(now_ps)
            switch._objects.check_port(port)
            self.tm.start()
            self._receive(self._context.pointer, now_ps, frame, len(frame), port)
            switch.now_us = now_ps // PS_PER_US
            switch._unsettled = True
            if _has_events(words):
                switch._collect()
        self._report()

    def receive_batch(self, times_ps: Times, batch: PacketBatch) -> None:
        """Frames arrive, each at its time."""
        arriving = self._checked(times_ps, batch)
        if arriving is not None:
            with self._running():
                self._arrive(arriving)

    def _checked(self, times_ps: Times, batch: PacketBatch) -> tuple[Times, Array, Array, Array] | None:
        """Times, frames, lengths and ports as machine code reads them; None: there are none."""
        times = np.ascontiguousarray(times_ps, np.int64)
        (data,), lengths, ports = self._switch._arrays((batch,))
        count = len(lengths)
        if len(times) != count:
            raise OfframpError(f"packet batch: {count} packets and {len(times)} times")
        if not count:
            return None
        late = np.flatnonzero(times[1:] < times[:-1])
        if len(late):
            check_time(int(times[late[0] + 1]), int(times[late[0]]))
        return times, data, lengths, ports

    def _arrive(self, arriving: tuple[Times, Array, Array, Array]) -> None:
        times, data, lengths, ports = arriving
        self._check(int(times[0]))
        self._check(int(times[-1]))
        arrays = address(times), address(data), data.strides[0], address(lengths), address(ports)
        self._receive_batch(self._context.pointer, *arrays, len(times))

    @property
    def next_ps(self) -> int | None:
        """The time at which something happens without a further arrival; None: never."""
        times = [self.tm.next_ps, self.tm.first_time(at.SwitchMemory.returning)]
        return min((time for time in times if time is not None), default=None)

    def advance(self, until_ps: int) -> list[Departure]:
        """Let time pass; the frames whose sending has begun since the last call."""
        switch, words = self._switch, self._context.words
        with switch._lock:
            switch._prepare()
            self.tm.start()
            self._advance(self._context.pointer, min(until_ps, _LATEST_PS))
            departures = self._departures() if words[at.SwitchMemory.index.used] else []
            switch.now_us = int(words[at.SwitchMemory.now_us])
            switch._unsettled = True
            if _has_events(words):
                switch._collect()
        self._report()
        return departures

    def _departures(self) -> list[Departure]:
        """The contents of the output buffers, which are emptied."""
        context = self._context
        times = context.buffer(at.SwitchMemory.times).view(np.int64).tolist()
        index = context.buffer(at.SwitchMemory.index).view(np.int64).reshape(-1, 2).tolist()
        raw = context.buffer(at.SwitchMemory.out)
        departures, start = [], 0
        for ps, (port, length) in zip(times, index, strict=True):
            departures.append(Departure(ps, port, raw[start : start + length].tobytes()))
            start += length
        for buffer in (at.SwitchMemory.times, at.SwitchMemory.index, at.SwitchMemory.out):
            context.empty(buffer)
        return departures

    def advance_batch(self, until_ps: int) -> tuple[Times, PacketBatch]:
        """Let time pass; the departures as arrays."""
        with self._running():
            return self._departed(until_ps)

    def pass_batch(self, times_ps: Times, batch: PacketBatch, until_ps: int) -> tuple[Times, PacketBatch]:
        """Frames arrive, each at its time; then time passes."""
        arriving = self._checked(times_ps, batch)
        with self._running():
            if arriving is not None:
                self._arrive(arriving)
            return self._departed(until_ps)

    def _departed(self, until_ps: int) -> tuple[Times, PacketBatch]:
        self._advance(self._context.pointer, min(until_ps, _LATEST_PS))
        times = self._context.buffer(at.SwitchMemory.times).view(np.int64).copy()
        self._context.empty(at.SwitchMemory.times)
        return times, self._switch._outputs()

    def reset(self) -> None:
        """Empty the queues and set the time to 0."""
        self.tm.reset()
        for buffer in (at.SwitchMemory.out, at.SwitchMemory.index):
            self._context.empty(buffer)

    def _check(self, now_ps: int) -> None:
        check_time(now_ps, int(self._context.words[_NOW_PS]))
        if now_ps > _LATEST_PS:
            raise OfframpError(f"a frame arrives at {now_ps} ps: the native engine's time ends at {_LATEST_PS} ps")

    @contextmanager
    def _running(self) -> Iterator[None]:
        """Machine code runs within the context; afterwards listeners hear what has happened."""
        switch = self._switch
        with switch._running():
            self.tm.start()
            yield
            switch.now_us = int(self._context.words[at.SwitchMemory.now_us])
        self._report()

    def _report(self) -> None:
        """Report what has happened to listeners."""
        self._switch._send_digests()
        self.tm.finish()
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def _mark_frame(self, frame: int, length: int) -> None:
        """Called by machine code for a frame that found its queue above the threshold."""
        try:
            before = ctypes.string_at(frame, length)
            after = check_marked(before, self._mark(before))
            ctypes.memmove(frame, after, length)
            self._context.words[at.SwitchMemory.marked] = after is not before
        except BaseException as error:
            self._failure = error
