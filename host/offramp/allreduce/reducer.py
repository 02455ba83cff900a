# SPDX-License-Identifier: Apache-2.0
"""One rank of all-reduce on a real link."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from offramp.allreduce.link_rank import LinkRank
from offramp.allreduce.rank_endpoint import make_endpoint
from offramp.allreduce.shared_link import open_shared
from offramp.allreduce.tensor_sum import check_ranks
from offramp.allreduce.wire import frame_bytes
from offramp_base.errors import OfframpError
from offramp_base.transport.links import NIC, TRANSPORTS

if TYPE_CHECKING:
    from offramp.allreduce.control import JobControl
    from offramp.allreduce.endpoint import Stats
    from offramp.allreduce.nic_rank import NicRank
    from offramp.allreduce.tensor_sum import Array
    from offramp_base.transport.base import FrameIO, LinkStats

    Rank = LinkRank | NicRank

_TICKS = 8  # looks at the clock in the shortest time-out
_FLIGHT = 512 << 10
"""Bytes on their way, twice as many on a link that loses nothing."""
_PARTING = 16
"""Shortest time-outs that a rank waits for the others when it leaves."""


@dataclass(frozen=True, slots=True)
class AllReduceNetwork:
    """The network as one rank knows it.

    Attributes:
        link: to this rank's switch port, as :func:`offramp_base.transport.open_io` takes it, or ``nic:SOCKET#PORT``:
            the port of a smartNIC's agent that sums in this rank's place.
        control: address of the switch's P4Runtime server, or ``fpga:udp=HOST`` of a card in its place; empty where
            somebody else admits the job.
        ports: switch port of each rank; needed with ``control``.
        pages: pages of 256 slots, half of which may be on their way at once.
        segments: segments of 256 bytes in a packet; the switch's program says how many where ``control`` is given.
        burst: frames sent before the link is read again.
        flight: bytes that may be on their way to the switch; more than what the links hold only makes queues. None:
            1 MiB where a link holds the sender back, else half of that.
        retry_s: time without anything new after which what is missing is sent again.
    """

    link: str
    control: str = ""
    ports: Sequence[int] = ()
    pages: int = 1
    segments: int = 1
    burst: int = 64
    flight: int | None = None
    retry_s: float = 0.25


class AllReducer:
    """Sums tensors over the ranks of a job, in the order in which they are given; a context manager.

    All ranks must sum tensors of the same type and size in the same order.

    Args:
        network: network of the switch.
        rank: this rank.
        world: number of ranks.
        job: number of the job, 32 bits; each run needs its own.
        timeout_s: how long nothing new may come before a collective fails.
        io: the link, where it is open already.

    Raises:
        OfframpError: no such link, another program on the switch, no room for the job.
    """

    def __init__(
        self,
        network: AllReduceNetwork,
        rank: int,
        world: int,
        job: int,
        timeout_s: float = 30.0,
        *,
        io: FrameIO | None = None,
    ) -> None:
        check_ranks(rank, world)
        self.rank, self.world, self.job = rank, world, job
        self._timeout_s = timeout_s
        self._network = network
        segments = self._join() if network.control else network.segments
        self._rank = self._open(segments, io)
        self._failed: str | None = None
        self._lock = threading.Lock()
        self._closed = False

    @property
    def stats(self) -> Stats:
        """Counts of what was sent and received so far."""
        return self._rank.stats

    @property
    def link(self) -> LinkStats:
        """Counts of what this end of the link carried and lost so far."""
        return self._rank.link

    def all_reduce(self, array: Array) -> None:
        """Replace ``array`` by its sum over all ranks.

        Floating-point numbers are summed as integers that share an exponent with their neighbours in the packet (the
        greatest, of any rank), so the sum does not depend on the order of the ranks. Integers are exact.

        Args:
            array: C-contiguous, writable; float32, float64, float16, bfloat16 or integers of up to 64 bits. It has no
                meaning after an error.

        Raises:
            OfframpError: an array that cannot be summed, which changes nothing. Ranks sum different tensors; a sum that
                does not fit its type; nothing new within the time-out, naming the silent ranks; a link
                that is gone: after these no later call succeeds.
        """
        with self._lock:
            if self._failed is not None:
                raise OfframpError(self._failed)
            self._rank.begin(array)
            try:
                self._rank.finish(self._timeout_s)
            except OfframpError as error:
                self._failed = str(error)
                raise

    def close(self, parting_s: float = math.inf) -> None:
        """Leave the job, together with the others; rank 0 takes its entries out of the switch, if it put them there.

        Args:
            parting_s: how long rank 0 waits at most for the others, the time-out at most.
        """
        if self._closed:
            return
        self._closed = True
        if self._failed is None and self.world > 1:
            self._part(parting_s)
        self._rank.close()
        if self._network.control and self.rank == 0:
            from offramp.allreduce.control import with_control

            with contextlib.suppress(OfframpError):  # a switch that is gone has no entries
                with_control(self._network.control, lambda control: control.release(self.job), self._timeout_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- inside --------------------------------------------------------------------------------------------

    def _join(self) -> int:
        """Have rank 0 admit the job; the segments of the program's packets."""
        from offramp.allreduce.control import segments_of, with_control
        from offramp.allreduce.entries import star

        network = self._network
        if len(network.ports) != self.world:
            raise OfframpError(f"all_reduce: ports {list(network.ports)}: expected one for each of {self.world} ranks")
        if self.rank:
            return segments_of(network.control, self._timeout_s)

        def admit(control: JobControl) -> int:
            control.admit(self.job, star(network.ports), network.pages)
            return control.segments

        return with_control(network.control, admit, self._timeout_s)

    def _open(self, segments: int, io: FrameIO | None) -> Rank:
        network = self._network
        who = self.rank, self.world, self.job
        shape: dict[str, Any] = {"pages": network.pages, "segments": segments, "retry_s": network.retry_s}
        shape["flight"] = (network.flight or _flight(network.link)) // frame_bytes(segments)
        if io is None and network.link.startswith(f"{NIC}:"):
            from offramp.allreduce.nic_rank import NicRank

            return NicRank(network.link, *who, self._timeout_s, **shape)
        tick_s = min(network.retry_s / _TICKS, self._timeout_s)
        return LinkRank(make_endpoint(*who, **shape), io or open_shared(network.link, self.job), network.burst, tick_s)

    def _part(self, parting_s: float) -> None:
        """Sum nothing once more: when all have sent that, every rank has every sum; rank 0 alone must know."""
        limit_s = min(self._timeout_s, parting_s if self.rank == 0 else _PARTING * self._network.retry_s)
        with contextlib.suppress(OfframpError):
            self._rank.begin(np.zeros(0, np.int8))
            self._rank.finish(limit_s)
        if self.rank == 0 and self._network.control:
            time.sleep(min(self._timeout_s, _PARTING / 2 * self._network.retry_s))  # others may still ask the switch


def _flight(link: str) -> int:
    known = TRANSPORTS.get(link.partition(":")[0])
    return 2 * _FLIGHT if known is not None and known.lossless else _FLIGHT
