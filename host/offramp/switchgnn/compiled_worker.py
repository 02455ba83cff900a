# SPDX-License-Identifier: Apache-2.0
"""A worker of SwitchGNN on a Unix socket or in shared memory, in machine code (``smartnic/switchgnn``)."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from offramp.graph.csr import IntArray
from offramp.switchgnn import worker_plans
from offramp.switchgnn.exchange import require_values
from offramp.switchgnn.local_block import PlanShare
from offramp.switchgnn.plan import Plan
from offramp.switchgnn.recovery import Recovery
from offramp.switchgnn.stats import WorkerStats
from offramp.switchgnn.worker import TICKS, silence
from offramp.switchgnn.worker_library import ERROR_BYTES, LINK_COUNTS, STATS_WORDS, library, settings_for, stats_of
from offramp_base.errors import OfframpError
from offramp_base.transport.base import LinkStats
from offramp_base.transport.host_link import CLOSED, STALLED
from offramp_base.transport.shm.io import ShmIO
from offramp_base.transport.unix import UnixIO

if TYPE_CHECKING:
    import numpy.typing as npt

_STATS: Final = struct.Struct(f"={STATS_WORDS + len(LINK_COUNTS)}Q")


class WorkerOutcome(IntEnum):
    """Result of a call, ``offramp_worker_outcome``."""

    DONE = 0
    INTERRUPTED = 1
    SILENT = 2
    GONE = 3
    STALLED = 4
    LIED = 5


class CompiledWorker:
    """Exchanges boundary features of one worker through the switch, as :class:`offramp.switchgnn.worker.Worker` does.

    Args:
        index: this worker.
        plans: the switch's plans, in the same order for every worker.
        io: link to the worker's switch port, which this object closes.
        timeout_s: seconds without anything new after which an exchange fails.
        window: frames sent before the link is read again.
        recovery: settings for the recovery from loss.
        racks: leaf of each worker; empty if there is a single switch.

    Raises:
        OfframpError: the library is not available, or refuses the plans.
    """

    def __init__(
        self,
        index: int,
        plans: Sequence[Plan],
        io: UnixIO | ShmIO,
        timeout_s: float = 10.0,
        *,
        window: int = 256,
        recovery: Recovery | None = None,
        racks: Sequence[int] = (),
    ) -> None:
        self.index = index
        self._io, self._timeout_s, self._plans = io, timeout_s, list(plans)
        recovery = recovery or Recovery()
        shares = [PlanShare(plan, index, racks) for plan in plans]
        self.boundaries = [each.boundary for each in shares]
        tick_s = min(recovery.timeout_s / TICKS, timeout_s)
        pace = {"window": window, "limit": round(1e9 * timeout_s), "tick": round(1e9 * tick_s)}
        settings = settings_for(index, recovery, **pace)
        self._library, self._reason = library(), ctypes.create_string_buffer(ERROR_BYTES)
        text = worker_plans.mapped(shares)
        content = (ctypes.c_char * len(text)).from_buffer(text)
        memory = np.frombuffer(io.memory.view, np.uint8).ctypes.data if isinstance(io, ShmIO) else None
        self._worker = self._library.offramp_worker_open(
            settings, content, len(text), io.fileno(), memory, self._reason
        )
        if not self._worker:
            raise OfframpError(f"worker {index}: {self._said()}")

    @property
    def stats(self) -> WorkerStats:
        """Counts of what was sent, received and refused so far."""
        return stats_of(self._counts()[:STATS_WORDS])

    @property
    def link(self) -> LinkStats:
        """Counts of what this end of the link carried and lost so far."""
        return LinkStats(**dict(zip(LINK_COUNTS, self._counts()[-len(LINK_COUNTS) :], strict=True)))

    def boundary(self, plan_index: int) -> IntArray:
        """``(n,)`` vertices, ascending, whose features an exchange takes and whose sums it returns."""
        return self.boundaries[plan_index]

    def start(self) -> None:
        """Wait until all workers are ready.

        Raises:
            OfframpError: they were not ready within the time-out, or the link is gone.
        """
        self._library.offramp_worker_start(self._worker)
        self._run()

    def exchange(self, plan_index: int, values: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """Like :meth:`offramp.switchgnn.worker.Worker.exchange`.

        Raises:
            OfframpError: the same.
        """
        require_values(self.index, self._plans, self.boundaries, plan_index, values)
        values, sums = np.ascontiguousarray(values), np.empty(values.shape, np.int64)
        width = values.shape[1]
        self._library.offramp_worker_begin(self._worker, plan_index, width, values.ctypes.data, sums.ctypes.data)
        self._run()
        return sums

    def close(self) -> None:
        """End the worker and release the link."""
        self._library.offramp_worker_close(self._worker)
        self._worker = None
        self._io.close()

    def _run(self) -> None:
        while (outcome := self._library.offramp_worker_run(self._worker, self._reason)) == WorkerOutcome.INTERRUPTED:
            pass  # a signal's handler has run by now
        if outcome == WorkerOutcome.SILENT:
            raise OfframpError(silence(self.index, self._timeout_s, self._said()))
        if outcome == WorkerOutcome.LIED:
            raise OfframpError(f"{self._io.name}: the switch spoilt the link")
        if outcome == WorkerOutcome.GONE:
            raise OfframpError(f"{self._io.name}: {CLOSED}")
        if outcome == WorkerOutcome.STALLED:
            raise OfframpError(f"{self._io.name}: {STALLED}")

    def _counts(self) -> tuple[int, ...]:
        counts = bytearray(_STATS.size)
        room = (ctypes.c_char * _STATS.size).from_buffer(counts)
        self._library.offramp_worker_stats(self._worker, ctypes.addressof(room))
        return cast("tuple[int, ...]", _STATS.unpack(counts))

    def _said(self) -> str:
        return str(self._reason.value.decode(errors="replace"))
