# SPDX-License-Identifier: Apache-2.0
"""One worker of SwitchGNN on a real link."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from offramp.graph.csr import IntArray
from offramp.switchgnn.endpoint import SwitchGnnEndpoint
from offramp.switchgnn.plan import Plan
from offramp.switchgnn.rate import RateControl
from offramp.switchgnn.recovery import Recovery
from offramp.switchgnn.stats import WorkerStats
from offramp_base.errors import OfframpError
from offramp_base.transport.base import FrameIO, LinkStats
from offramp_base.wire.batch import PacketBatch
from offramp_base.wire.ethernet import total_wire_bytes

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from offramp.switchgnn.worker_endpoint import Engine

TICKS = 8
"""Looks at the clock within the shortest time-out."""


class Worker:
    """Exchanges boundary features of one worker through the switch.

    Args:
        index: this worker.
        plans: the switch's plans, in the same order for every worker.
        io: link to the worker's switch port.
        timeout_s: seconds without anything new after which an exchange fails.
        window: frames sent before the link is read again.
        recovery: settings for the recovery from loss.
        racks: leaf of each worker; empty if there is a single switch.
        rate: paces what is sent; None sends whatever the link takes.
        gap_s: pause after each window, for a switch that drops what it cannot hold: bmv2 receives bursts of about
            16 frames and queues 64 packets per port, so that windows of 8 frames every 5 ms are safe there.
        engine: runs the protocol; by default in Python.
    """

    def __init__(
        self,
        index: int,
        plans: Sequence[Plan],
        io: FrameIO,
        timeout_s: float = 10.0,
        *,
        window: int = 256,
        gap_s: float = 0.0,
        recovery: Recovery | None = None,
        rate: RateControl | None = None,
        racks: Sequence[int] = (),
        engine: Engine = SwitchGnnEndpoint,
    ) -> None:
        recovery = recovery or Recovery()
        self.endpoint = engine(index, plans, recovery, racks)
        self._tick_s = min(recovery.timeout_s / TICKS, timeout_s)
        self._rate = rate
        self._marks = 0
        self._io = io
        self._timeout_s = timeout_s
        self._window = window
        self._gap_s = gap_s

    @property
    def stats(self) -> WorkerStats:
        """Counts of what was sent, received and refused so far."""
        return self.endpoint.stats

    @property
    def link(self) -> LinkStats:
        """Counts of what this end of the link carried and lost so far."""
        return self._io.stats

    def boundary(self, plan_index: int) -> IntArray:
        """``(n,)`` vertices, ascending, whose features an exchange takes and whose sums it returns."""
        return self.endpoint.boundaries[plan_index]

    def start(self) -> None:
        """Wait until all workers are ready.

        Raises:
            OfframpError: they were not ready within the time-out, or the link is gone.
        """
        self.endpoint.start()
        self._run()

    def exchange(self, plan_index: int, values: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """Sum the features of the remote neighbours of each boundary vertex, over all blocks of a plan.

        Returns once every worker has its sums: until then others may need this one's features.

        Args:
            plan_index: position in ``plans``.
            values: ``(n, F)`` int32 rows of :meth:`boundary`.

        Returns:
            ``(n, F)`` int64 sums.

        Raises:
            OfframpError: values that do not fit the plan; nothing new within the time-out, naming the worker,
                block, round and missing vertices; a link that is gone.
        """
        self.endpoint.begin(plan_index, values)
        self._run()
        return self.endpoint.sums

    def _run(self) -> None:
        endpoint = self.endpoint
        progress, since = endpoint.progress, time.monotonic()
        while True:
            while len(batch := endpoint.outgoing(self._window)):
                self._io.send(batch)
                self._listen(max(self._gap_s, self._pause(batch)))
            if endpoint.over:
                return
            endpoint.incoming(self._io.receive(self._tick_s))
            now = time.monotonic()
            endpoint.tick(now)
            if endpoint.progress != progress:
                progress, since = endpoint.progress, now
            elif now - since > self._timeout_s:
                raise OfframpError(silence(endpoint.index, self._timeout_s, endpoint.state()))

    def _pause(self, batch: PacketBatch) -> float:
        """Seconds until the next batch may follow this one."""
        if self._rate is None:
            return 0.0
        now = time.monotonic()
        if self.endpoint.stats.marks != self._marks:
            self._marks = self.endpoint.stats.marks
            self._rate.mark(now)
        return self._rate.pause_s(total_wire_bytes(batch.lengths), now)

    def _listen(self, seconds: float) -> None:
        """Process packets that arrive within ``seconds``, and those that are there already."""
        until = time.monotonic() + seconds
        self.endpoint.incoming(self._io.receive(0.0))
        while (left := until - time.monotonic()) > 0:
            self.endpoint.incoming(self._io.receive(left))


def silence(worker: int, timeout_s: float, state: str) -> str:
    """Error message of a worker that has received nothing new for ``timeout_s`` seconds."""
    return (
        f"worker {worker}: nothing new for {timeout_s:g} s in {state}; check that every worker runs, that its link is "
        "on the port in the plan, and that the switch still has its plan"
    )
