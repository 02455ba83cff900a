# SPDX-License-Identifier: Apache-2.0
"""The host side of the protocol for one rank, in machine code where that can be built, else in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from offramp.allreduce.endpoint import Stats
    from offramp.allreduce.tensor_sum import Array
    from offramp_base.wire.batch import PacketBatch


class RankEndpoint(Protocol):
    """One rank, without any transport; :class:`offramp.allreduce.endpoint.AllReduceEndpoint` explains each member."""

    rank: int

    @property
    def idle(self) -> bool:
        """Whether all that was begun is finished."""

    @property
    def name(self) -> str:
        """Prefix of error messages."""

    @property
    def progress(self) -> int:
        """Grows with every packet that told something new."""

    @property
    def stats(self) -> Stats:
        """Counts of what was sent and received so far."""

    def begin(self, array: Array) -> object:
        """Start to sum ``array`` in place, behind what was begun before."""

    def outgoing(self, limit: int) -> PacketBatch:
        """Up to ``limit`` frames to send now."""

    def incoming(self, batch: PacketBatch) -> None:
        """Take what arrived."""

    def tick(self, now_s: float) -> None:
        """Repeat what may have been lost."""

    def state(self) -> str:
        """The silent ranks, or a note that nothing arrives, for an error message."""


def make_endpoint(rank: int, ranks: int, job: int, **settings: Any) -> RankEndpoint:
    """The endpoint of a rank; arguments are those of :class:`offramp.allreduce.endpoint.AllReduceEndpoint`.

    Raises:
        OfframpError: numbers that packets have no room for.
    """
    from offramp.switchgnn.worker_library import available

    if available():
        from offramp.allreduce.compiled import CompiledAllReduceEndpoint

        return CompiledAllReduceEndpoint(rank, ranks, job, **settings)
    from offramp.allreduce.endpoint import AllReduceEndpoint

    return AllReduceEndpoint(rank, ranks, job, **settings)
