# SPDX-License-Identifier: Apache-2.0
"""The threads that move packets between DPDK's devices and the machine code of a switch."""

from __future__ import annotations

import ctypes
import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import numpy as np

from offramp_base.native.records import offset
from offramp_base.wire.batch import PacketBatch
from offramp_p4.native.cores import one_core
from offramp_p4.native.runtime import context as at
from offramp_p4.ports.dpdk.library import ContextLayout, DpdkLibrary, DpdkWorkerStats, WorkerProgram

if TYPE_CHECKING:
    from offramp_p4.native.switch import NativeSwitch

BY_PORT: Final = "port"
BY_FLOW: Final = "flow"
_MOST: Final = 256
"""Frames for other ports that are taken at once."""
_ROOM: Final = 2048
_LOG: Final = logging.getLogger(__name__)
_LAYOUT: Final = ContextLayout(
    at.SwitchMemory.now_us,
    offset(at.SwitchMemory.out),
    offset(at.SwitchMemory.out) + at.Buffer.used,
    offset(at.SwitchMemory.index),
    offset(at.SwitchMemory.index) + at.Buffer.used,
)


class Workers:
    """``count`` threads over the ports of these numbers, which are dealt out in turn.

    Without a switch, frames are dropped and counted as lost. A program whose packets share state has the first thread
    run all of them, as :func:`~offramp_p4.native.cores.one_core` says.

    Attributes:
        switch: the switch that they run.

    Raises:
        OfframpError: there is no memory for them.
    """

    def __init__(self, library: DpdkLibrary, ports: Iterable[int], count: int, spread: str = BY_PORT) -> None:
        self.switch: NativeSwitch | None = None
        self.count = count
        self._library, self._ports, self._spread = library, list(ports), spread
        self._used = 0
        self._rows = np.empty((_MOST, _ROOM), np.uint8)
        self._lengths, self._numbers = np.empty(_MOST, np.int32), np.empty(_MOST, np.int32)
        self._start(count)

    def _start(self, count: int) -> None:
        """Begin with ``count`` threads; none runs."""
        self._library.check(self._library.workers(count, self._spread == BY_FLOW), "cores")
        for i, port in enumerate(self._ports):
            self._library.assign(i % count, port)
        self._library.run_workers()
        self._used = count

    def run(self, switch: NativeSwitch, epoch_ns: int) -> None:
        """Have them run ``switch`` from now on, whose time began at ``epoch_ns`` of CLOCK_MONOTONIC.

        Raises:
            OfframpError: its program does not compile for them.
        """
        obstacle = one_core(switch) if self.count > 1 else ""
        if obstacle:
            _LOG.warning("%s: %s, so that one core of %d runs it", switch.program.file, obstacle, self.count)
        count = 1 if obstacle else self.count
        if count != self._used:
            self._library.end_workers()
            self._leave()
            self._start(count)
        cores = switch.spread(count, self._library.pause, self._library.resume)
        self._library.pause()
        try:
            self._leave()
            self.switch = switch
            for i, context in enumerate(cores.contexts):
                program = WorkerProgram(cores.run, cores.whole, context.pointer, epoch_ns, _LAYOUT)
                self._library.program_of(i, ctypes.byref(program))
        finally:
            self._library.resume()

    def _leave(self) -> None:
        """Run nothing; the threads pause or have ended."""
        for i in range(self._used):
            self._library.program_of(i, ctypes.byref(WorkerProgram()))
        if self.switch is not None:
            self.switch.gather_cores()
            self.switch = None

    def fileno(self) -> int:
        """A descriptor that is readable when there are frames for other ports."""
        return int(self._library.exceptions_fd())

    def exceptions(self) -> PacketBatch:
        """Some frames that left by ports that are not DPDK's."""
        arrays = self._lengths.ctypes.data, self._numbers.ctypes.data
        count = self._library.exceptions(self._rows.ctypes.data, _ROOM, *arrays, _MOST)
        return PacketBatch(self._numbers[:count].copy(), self._lengths[:count].copy(), self._rows[:count].copy())

    def stats(self) -> list[DpdkWorkerStats]:
        """Counts of each thread since it began."""
        counts = [DpdkWorkerStats() for _ in range(self._used)]
        for i, each in enumerate(counts):
            self._library.worker_stats_of(i, ctypes.byref(each))
        return counts

    def close(self) -> None:
        """End the threads."""
        self._library.end_workers()
        self._leave()
        self._used = 0
