# SPDX-License-Identifier: Apache-2.0
"""The host side of SwitchGNN's protocol in machine code: the agent's endpoint (``smartnic/lib/switchgnn``)."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from offramp.switchgnn import worker_plans
from offramp.switchgnn.exchange import require_values
from offramp.switchgnn.local_block import PlanShare
from offramp.switchgnn.wire import MOST_SEGMENTS, frame_bytes
from offramp.switchgnn.worker_library import ERROR_BYTES, STATS_WORDS, library, settings_for, stats_of
from offramp_base.errors import OfframpError
from offramp_base.wire.batch import PacketBatch

if TYPE_CHECKING:
    import numpy.typing as npt

    from offramp.switchgnn.plan import Plan
    from offramp.switchgnn.recovery import Recovery
    from offramp.switchgnn.stats import WorkerStats

_MOST: Final = frame_bytes(MOST_SEGMENTS)
_NUMBERS: Final = ctypes.c_uint64 * (STATS_WORDS + 1)


class CompiledSwitchGnnEndpoint:
    """One worker without any transport, as :class:`offramp.switchgnn.endpoint.SwitchGnnEndpoint` is.

    Args:
        index: this worker.
        plans: the switch's plans, in the same order for every worker.
        recovery: settings for the recovery from loss.
        racks: leaf of each worker; empty if there is a single switch.

    Raises:
        OfframpError: the library is not available, or refuses the plans.
    """

    def __init__(
        self, index: int, plans: Sequence[Plan], recovery: Recovery | None = None, racks: Sequence[int] = ()
    ) -> None:
        self.index, self.plans = index, list(plans)
        shares = [PlanShare(plan, index, racks) for plan in plans]
        self.boundaries = [each.boundary for each in shares]
        self._library, self._text = library(), ctypes.create_string_buffer(ERROR_BYTES)
        text = worker_plans.mapped(shares)
        content = (ctypes.c_char * len(text)).from_buffer(text)
        settings = settings_for(index, recovery)
        self._worker = ctypes.c_void_p(
            self._library.offramp_exchange_open(ctypes.byref(settings), content, len(text), self._text)
        )
        if not self._worker:
            raise OfframpError(f"worker {index}: {self._text.value.decode(errors='replace')}")
        self._frames = np.zeros((0, _MOST), np.uint8)
        self._lengths = np.zeros(0, np.int32)
        self._values = np.zeros((0, 0), np.int32)
        self._sums = np.zeros((0, 0), np.int64)

    def __del__(self) -> None:
        """Release the endpoint; nothing else holds resources of the library."""
        if worker := self.__dict__.pop("_worker", None):
            self._library.offramp_exchange_close(worker)

    def start(self) -> None:
        """Join the start barrier."""
        self._library.offramp_exchange_start(self._worker)

    def begin(self, plan_index: int, values: npt.NDArray[np.int32]) -> None:
        """Start an exchange of ``values``, ``(n, F)`` rows of ``boundaries[plan_index]``.

        Raises:
            OfframpError: no such plan, an array of another shape or type, an exchange that is still running.
        """
        if not self.over:
            raise OfframpError(f"worker {self.index}: an exchange is still running")
        require_values(self.index, self.plans, self.boundaries, plan_index, values)
        self._values, self._sums = np.ascontiguousarray(values), np.zeros(values.shape, np.int64)
        arrays = self._values.ctypes.data, self._sums.ctypes.data
        self._library.offramp_exchange_begin(self._worker, plan_index, values.shape[1], *arrays)

    @property
    def over(self) -> bool:
        """Whether the start, or the exchange, is complete here and everywhere."""
        return bool(self._library.offramp_exchange_over(self._worker))

    @property
    def sums(self) -> npt.NDArray[np.int64]:
        """``(n, F)`` sums over the remote neighbours of each boundary vertex, once the exchange is over."""
        return self._sums

    @property
    def stats(self) -> WorkerStats:
        """Counts of what was sent, received and refused so far."""
        return stats_of(self._numbers()[:-1])

    @property
    def progress(self) -> int:
        """Count of packets with new information."""
        return self._numbers()[-1]

    def outgoing(self, limit: int) -> PacketBatch:
        """Up to ``limit`` frames to send now, in order; empty if there are none."""
        if len(self._frames) < limit:
            self._frames, self._lengths = np.zeros((limit, _MOST), np.uint8), np.zeros(limit, np.int32)
        room = self._frames.ctypes.data, self._lengths.ctypes.data
        count = self._library.offramp_exchange_outgoing(self._worker, limit, *room)
        return PacketBatch(np.zeros(count, np.int32), self._lengths[:count].copy(), self._frames[:count].copy())

    def incoming(self, batch: PacketBatch) -> None:
        """Process packets that arrived; invalid ones are never an error."""
        if not len(batch):
            return
        data = np.ascontiguousarray(batch.data)
        lengths = np.minimum(np.ascontiguousarray(batch.lengths, np.int32), data.shape[1])
        arrived = data.ctypes.data, data.shape[1], lengths.ctypes.data, len(batch)
        self._library.offramp_exchange_incoming(self._worker, *arrived)

    def tick(self, now_s: float) -> None:
        """Repeat what may have been lost if nothing new has arrived for a while; times are on the caller's clock."""
        self._library.offramp_exchange_tick(self._worker, round(1e9 * now_s))

    def state(self) -> str:
        """Description of what the worker waits for, for an error message."""
        self._library.offramp_exchange_state(self._worker, self._text)
        return str(self._text.value.decode(errors="replace"))

    def _numbers(self) -> list[int]:
        numbers = _NUMBERS()
        self._library.offramp_exchange_numbers(self._worker, numbers)
        return list(numbers)
