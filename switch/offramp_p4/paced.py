# SPDX-License-Identifier: Apache-2.0
"""The traffic manager in real time: a switch that keeps its packets until the line would have sent them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from offramp_base.wire.batch import PacketBatch
from offramp_p4.engines import make_switch
from offramp_p4.queued import QueuedSwitch
from offramp_p4.tm.config import TmConfig
from offramp_p4.tm.joint import PS_PER_US, Times

if TYPE_CHECKING:
    from offramp_p4 import ir
    from offramp_p4.records import Digest, SwitchStats


HOLD_US: Final = 1000
"""Microseconds for which a link that takes no more keeps its port from sending before it is asked again."""


class PacedSwitch:
    """A switch with a traffic manager, driven by :attr:`now_us`; otherwise like a switch without one.

    :meth:`process` takes frames that have arrived by now and returns those that have left by now; it is to be
    called again, with or without frames, when :attr:`next_us` has come. A call that comes late delays frames but
    slows no line down: the next frame starts when the line became free, not when the call came.

    Args:
        program, engine, options: as of :func:`~offramp_p4.engines.make_switch`.
        config: config of the traffic manager.

    Attributes:
        queued: the traffic manager and its counts.
        now_us: the time, microseconds.
    """

    def __init__(self, program: ir.Program, config: TmConfig, engine: str = "auto", **options: Any) -> None:
        switch = self._switch = make_switch(program, engine, queued=True, **options)
        self.program, self.cpu_port, self.now_us = program, switch.cpu_port, 0
        self.engine, self.engine_reason = switch.engine, switch.engine_reason
        self.tables, self.registers, self.counters = switch.tables, switch.registers, switch.counters
        self.meters, self.profiles, self.value_sets = switch.meters, switch.profiles, switch.value_sets
        self.filters, self.direct_registers = switch.filters, switch.direct_registers
        self.pre, self.port_metadata, self.generator = switch.pre, switch.port_metadata, switch.generator
        self.crcs = switch.crcs
        self.queued = QueuedSwitch(switch, config)
        self._nothing_leaves()

    def _nothing_leaves(self) -> None:
        self._reached_ps = 0
        self._times: Times = np.zeros(0, np.int64)
        self._leaving = PacketBatch.empty()  # in the order of their times

    def hold(self, ports: Collection[int]) -> None:
        """Let nothing leave by these ports for :data:`HOLD_US`: their links take no more now."""
        for port in ports:
            self.queued.tm.pause(port, (self.now_us + HOLD_US) * PS_PER_US)

    @property
    def stats(self) -> SwitchStats:
        """Counts since the start or the last reset."""
        return self._switch.stats

    @property
    def source(self) -> str:
        """The text that the program has been translated to."""
        return self._switch.source

    @property
    def on_digest(self) -> Callable[[Digest], None] | None:
        """Called with each digest that the program sends."""
        return self._switch.on_digest

    @on_digest.setter
    def on_digest(self, receiver: Callable[[Digest], None] | None) -> None:
        self._switch.on_digest = receiver

    @property
    def next_us(self) -> int | None:
        """The time at which :meth:`process` has something to do without arrivals, microseconds; None: never."""
        times = [self.queued.next_ps, int(self._times[0]) if len(self._times) else None]
        earliest = min((time for time in times if time is not None), default=None)
        return None if earliest is None else -(-earliest // PS_PER_US)

    def process(self, batch: PacketBatch) -> PacketBatch:
        """Take in packets that have arrived by :attr:`now_us`; returns those that have left by then, in order."""
        now_ps = max(self.now_us * PS_PER_US, self._reached_ps)
        if len(batch):  # one after the other, so that no frame finds those in its queue that a free line has sent
            arrivals = now_ps + np.arange(len(batch), dtype=np.int64)
            now_ps = self._reached_ps = int(arrivals[-1])
            times, frames = self.queued.pass_batch(arrivals, batch, now_ps)
        else:
            times, frames = self.queued.advance_batch(now_ps)
        if len(times):
            times = np.concatenate([self._times, times])
            frames = PacketBatch.concatenate([self._leaving, frames])
            if (times[1:] < times[:-1]).any():
                order = np.argsort(times, kind="stable")
                times, frames = times[order], frames.select(order)
            self._times, self._leaving = times, frames
        left = int(np.searchsorted(self._times, now_ps, side="right"))
        out, rest = self._leaving.select(slice(left)), self._leaving.select(slice(left, None))
        self._times, self._leaving = self._times[left:], rest
        return out

    def process_all(self, batches: Sequence[PacketBatch]) -> PacketBatch:
        """Take in the packets of several batches, as :meth:`process` takes those of one."""
        return self.process(PacketBatch.concatenate(batches))

    def process_one(self, port: int, frame: bytes) -> list[tuple[int, bytes]]:
        """Process one frame; returns the frames that have left by now."""
        return list(self.process(PacketBatch.of([(port, bytes(frame))])))

    def reset(self) -> None:
        """State and counts as when the program was loaded, nothing queued."""
        self._switch.reset()
        self.queued.reset()
        self._nothing_leaves()
