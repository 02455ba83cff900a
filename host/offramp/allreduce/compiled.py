# SPDX-License-Identifier: Apache-2.0
"""The host side of the protocol in machine code: the agent's endpoint (``smartnic/lib/allreduce``) in this process."""

from __future__ import annotations

import ctypes
import os
from collections import deque
from dataclasses import dataclass, fields
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from offramp.allreduce import numbers
from offramp.allreduce.endpoint import Stats
from offramp.allreduce.tensor_sum import Array, check_ranks, check_shape, require_in_place
from offramp.allreduce.wire import PAGE, frame_bytes
from offramp.switchgnn.worker_library import LINK_COUNTS, RankSettings, library
from offramp_base.errors import OfframpError
from offramp_base.transport.host_link import CLOSED, STALLED
from offramp_base.wire.batch import PacketBatch

if TYPE_CHECKING:
    from offramp_base.transport.base import LentSocket

_ROOM = 1024
"""Bytes of a text with its end."""
_NUMBERS = ctypes.c_uint64 * (len(fields(Stats)) + 2)


class _Text(IntEnum):
    """``offramp_rank_text``."""

    FAILURE = 0
    NAME = 1
    STATE = 2


class _Outcome(IntEnum):
    """``offramp_rank_outcome``."""

    DONE = 0
    INTERRUPTED = 1
    GONE = 2
    STALLED = 3


@dataclass(frozen=True, slots=True)
class _Running:
    """A tensor that is summed: the arrays that the library reads and writes must outlive it.

    Attributes:
        array: array of the caller.
        values: what is given to the library.
        sums: where the library puts the sums, to be rounded to ``array``'s type if they are not ``array`` itself.
    """

    array: Array
    values: Array
    sums: Array


class CompiledAllReduceEndpoint:
    """One rank, as :class:`offramp.allreduce.endpoint.AllReduceEndpoint` is, which explains the arguments.

    Raises:
        OfframpError: the library is not available; numbers that packets have no room for.
    """

    def __init__(
        self,
        rank: int,
        ranks: int,
        job: int,
        *,
        pages: int = 1,
        segments: int = 1,
        flight: int | None = None,
        retry_s: float = 0.1,
        first: int = 0,
    ) -> None:
        check_ranks(rank, ranks)
        check_shape(pages, segments)
        self.rank, self.ranks, self.job = rank, ranks, job
        self._library = library()
        self._size = frame_bytes(segments)
        window = pages * PAGE // 2
        settings = RankSettings(
            rank, ranks, job, pages, segments, min(flight or window, window), first, round(1e9 * retry_s)
        )
        self._rank = ctypes.c_void_p(self._library.offramp_rank_open(ctypes.byref(settings)))
        self._running: deque[_Running] = deque()
        self._finished = 0
        self._frames = ctypes.c_void_p()

    def __del__(self) -> None:
        """Release the endpoint; nothing else holds resources of the library."""
        if rank := self.__dict__.pop("_rank", None):
            self._library.offramp_rank_close(rank)

    def begin(self, array: Array) -> None:
        """Start to sum ``array`` in place, behind what was begun before.

        Raises:
            OfframpError: an array that cannot be summed.
        """
        require_in_place(array, self.name)
        form = numbers.format_of(array.dtype, self.ranks)
        source, summed = numbers.carried(form)
        apart = source != summed  # else in place
        running = _Running(array, array.astype(source, copy=apart), np.empty(array.shape, summed) if apart else array)
        self._running.append(running)
        self._library.offramp_rank_begin(
            self._rank, form.code, array.size, running.values.ctypes.data, running.sums.ctypes.data
        )

    @property
    def idle(self) -> bool:
        """Whether all that was begun is finished."""
        return not self._running

    @property
    def progress(self) -> int:
        """Grows with every packet that told something new."""
        return self._numbers()[-2]

    @property
    def stats(self) -> Stats:
        """Counts of what was sent and received so far."""
        return Stats(*self._numbers()[:-2])

    @property
    def name(self) -> str:
        """Prefix of error messages: this rank, and the collective that is summed."""
        return self._said(_Text.NAME)

    def state(self) -> str:
        """The silent ranks, or a note that nothing arrives, for an error message."""
        return self._said(_Text.STATE)

    def outgoing(self, limit: int) -> PacketBatch:
        """Up to ``limit`` frames to send now, valid until the next call; empty if there are none.

        Raises:
            OfframpError: a tensor changed while it was summed.
        """
        count = self._library.offramp_rank_outgoing(self._rank, limit, ctypes.byref(self._frames))
        if not count:
            self._require_success()
            return PacketBatch.empty()
        assert self._frames.value is not None
        room = (ctypes.c_uint8 * (count * self._size)).from_address(self._frames.value)
        frames = np.frombuffer(room, np.uint8).reshape(count, self._size)
        return PacketBatch(np.zeros(count, np.int32), np.full(count, self._size, np.int32), frames)

    def incoming(self, batch: PacketBatch) -> None:
        """Take what arrived; nothing that may be in it is an error.

        Raises:
            OfframpError: ranks sum different tensors, or a sum that its type does not hold.
        """
        if not len(batch):
            return
        data = np.ascontiguousarray(batch.data)
        lengths = np.minimum(np.ascontiguousarray(batch.lengths, np.int32), data.shape[1])
        self._library.offramp_rank_incoming(
            self._rank, data.ctypes.data, data.shape[1], lengths.ctypes.data, len(batch)
        )
        self._finish()

    def exchange(self, link: LentSocket, burst: int, wait_s: float) -> None:
        """Send what may leave and take what arrives until all that was begun is summed, for ``wait_s`` seconds at most.

        Args:
            link: socket of the rank's link, for its frames alone.
            burst: frames sent before the link is read again.
            wait_s: seconds, of the clock that :meth:`tick` would be told.

        Raises:
            OfframpError: as :meth:`incoming`; the link is gone, or the switch takes nothing for a minute.
        """
        counts = (ctypes.c_uint64 * (len(LINK_COUNTS) + 1))()
        socket, wait = (link.fileno(), link.longest_run), round(1e9 * wait_s)
        outcome = self._library.offramp_rank_exchange(self._rank, *socket, burst, wait, ctypes.addressof(counts))
        *moved, fault = counts
        for name, count in zip(LINK_COUNTS, moved, strict=True):
            setattr(link.stats, name, getattr(link.stats, name) + count)
        self._finish()
        if outcome == _Outcome.GONE:
            raise OfframpError(f"{link.name}: {os.strerror(fault) if fault else CLOSED}")
        if outcome == _Outcome.STALLED:
            raise OfframpError(f"{link.name}: {STALLED}")

    def tick(self, now_s: float) -> None:
        """Repeat what may have been lost once nothing new has come for a time-out; times are on the caller's clock."""
        self._library.offramp_rank_tick(self._rank, round(1e9 * now_s))

    def _finish(self) -> None:
        """Put the sums that are here where they belong."""
        finished = self._numbers()[-1]
        for _ in range(finished - self._finished):
            over = self._running.popleft()
            if over.sums is not over.array:
                with np.errstate(over="ignore"):  # a sum beyond the type is infinite, as it is elsewhere
                    over.array[...] = over.sums.astype(over.array.dtype)
        self._finished = finished
        self._require_success()

    def _numbers(self) -> list[int]:
        numbers_ = _NUMBERS()
        self._library.offramp_rank_numbers(self._rank, numbers_)
        return list(numbers_)

    def _require_success(self) -> None:
        if failure := self._said(_Text.FAILURE):
            raise OfframpError(failure)

    def _said(self, which: _Text) -> str:
        text = ctypes.create_string_buffer(_ROOM)
        self._library.offramp_rank_say(self._rank, which, text, _ROOM)
        return text.value.decode(errors="replace")
