# SPDX-License-Identifier: Apache-2.0
"""One rank of all-reduce whose frames this process sends and receives."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from offramp.allreduce.compiled import CompiledAllReduceEndpoint
from offramp_base.errors import OfframpError
from offramp_base.transport.base import Lending

if TYPE_CHECKING:
    from offramp.allreduce.endpoint import Stats
    from offramp.allreduce.rank_endpoint import RankEndpoint
    from offramp.allreduce.tensor_sum import Array
    from offramp_base.transport.base import FrameIO, LinkStats

_IDLE_S = 0.01
"""Seconds after which an idle rank looks again whether others still need something from it."""


class LinkRank:
    """Sums tensors over a link; while nothing is summed, a thread answers those who lack what this rank sent.

    Args:
        endpoint: the protocol.
        io: the link, which this object closes.
        burst: frames sent before the link is read again.
        tick_s: how long the link is waited for between two looks at the clock.
    """

    def __init__(self, endpoint: RankEndpoint, io: FrameIO, burst: int, tick_s: float) -> None:
        self._endpoint, self._io = endpoint, io
        self._burst, self._tick_s = burst, tick_s
        self._failed: str | None = None
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._serve, name=f"all_reduce {endpoint.rank}", daemon=True)
        self._thread.start()

    @property
    def stats(self) -> Stats:
        """Counts of what was sent and received so far."""
        return self._endpoint.stats

    @property
    def link(self) -> LinkStats:
        """Counts of what this end of the link carried and lost so far."""
        return self._io.stats

    def begin(self, array: Array) -> None:
        """Start to replace ``array`` by its sum over all ranks.

        Raises:
            OfframpError: an array that cannot be summed.
        """
        with self._lock:
            self._endpoint.begin(array)

    def finish(self, timeout_s: float) -> None:
        """Wait for the sums of all that was begun.

        Raises:
            OfframpError: as :meth:`offramp.allreduce.reducer.AllReducer.all_reduce`.
        """
        with self._lock:
            if self._failed is not None:
                raise OfframpError(self._failed)
            self._run(timeout_s)

    def close(self) -> None:
        """End the thread and release the link."""
        self._closing.set()
        self._thread.join()
        self._io.close()

    def _serve(self) -> None:
        """Answer others while nothing is summed here."""
        while not self._closing.wait(_IDLE_S):
            if self._failed is None and self._lock.acquire(blocking=False):
                try:
                    self._exchange(0.0)
                except OfframpError as error:
                    self._failed = str(error)
                finally:
                    self._lock.release()

    def _exchange(self, wait_s: float) -> None:
        """Send what may leave, take what has arrived."""
        endpoint = self._endpoint
        if (
            isinstance(endpoint, CompiledAllReduceEndpoint)
            and isinstance(self._io, Lending)
            and self._io.lend(lambda link: endpoint.exchange(link, self._burst, wait_s))
        ):
            return
        while len(batch := endpoint.outgoing(self._burst)):
            self._io.send(batch)
            endpoint.incoming(self._io.receive(0.0))
        endpoint.incoming(self._io.receive(wait_s))

    def _run(self, timeout_s: float) -> None:
        endpoint = self._endpoint
        progress, since = endpoint.progress, time.monotonic()
        while not endpoint.idle:
            try:
                self._exchange(self._tick_s)
            except OfframpError as error:
                text = str(error)
                raise OfframpError(text if text.startswith("rank ") else f"{endpoint.name}: {text}") from None
            now = time.monotonic()
            endpoint.tick(now)
            if endpoint.progress != progress:
                progress, since = endpoint.progress, now
            elif now - since > timeout_s and not endpoint.idle:
                raise OfframpError(f"{endpoint.state()} for {timeout_s:g} s")
