# SPDX-License-Identifier: Apache-2.0
"""The protocol of one worker, whatever runs it: Python, or the agent's machine code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from offramp.graph.csr import IntArray
    from offramp.switchgnn.plan import Plan
    from offramp.switchgnn.recovery import Recovery
    from offramp.switchgnn.stats import WorkerStats
    from offramp_base.wire.batch import PacketBatch


class WorkerEndpoint(Protocol):
    """One worker, without any transport; :class:`offramp.switchgnn.endpoint.SwitchGnnEndpoint` explains each member."""

    index: int
    boundaries: list[IntArray]

    @property
    def stats(self) -> WorkerStats:
        """Counts of what was sent, received and refused so far."""

    @property
    def progress(self) -> int:
        """Count of packets with new information."""

    @property
    def over(self) -> bool:
        """Whether the start, or the exchange, is complete here and everywhere."""

    @property
    def sums(self) -> npt.NDArray[np.int64]:
        """``(n, F)`` sums over the remote neighbours of each boundary vertex, once the exchange is over."""

    def start(self) -> None:
        """Join the start barrier."""

    def begin(self, plan_index: int, values: npt.NDArray[np.int32]) -> None:
        """Start an exchange of ``values``."""

    def outgoing(self, limit: int) -> PacketBatch:
        """Up to ``limit`` frames to send now."""

    def incoming(self, batch: PacketBatch) -> None:
        """Process packets that arrived."""

    def tick(self, now_s: float) -> None:
        """Repeat what may have been lost."""

    def state(self) -> str:
        """Description of what the worker waits for, for an error message."""


Engine = Callable[[int, Sequence["Plan"], "Recovery", Sequence[int]], WorkerEndpoint]
"""Makes the endpoint of a worker: its index, the plans, settings for recovery, and the leaf of each worker."""
