# SPDX-License-Identifier: Apache-2.0
"""The host side of the protocol for one rank, without any transport.

Chunks of all collectives are numbered through, and chunk *n* is in slot *n* modulo the job's slots. A rank has at most
half as many chunks on their way: it sends *n* once it has the sums of all up to *n* less a window. So when anybody
takes a slot over, everybody has the sum that was there; and what others may still lack, this rank can send again.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from offramp.allreduce.tensor_sum import Array, Indices, TensorSum, check_ranks, check_shape
from offramp.allreduce.wire import (
    LANES,
    PAGE,
    AllReducePackets,
    AllReducePacketType,
    blank_frames,
    parse_frames,
    set_field,
    set_lanes,
)
from offramp.backoff import Backoff
from offramp_base.wire.batch import PacketBatch

_TAGS = 2**32 - 1
"""Chunk numbers on the wire are 1 to this, round and round; 0 is an empty slot."""
_AGAIN, _RESULT, _PULL = (
    int(AllReducePacketType.AGAIN),
    int(AllReducePacketType.RESULT),
    int(AllReducePacketType.PULL),
)  # arrays compare faster with plain numbers
_REORDERED = 16
"""A chunk is taken for lost once this many that were sent after it have returned."""
_MOST_REPEATS = 256
_MOST_AT_ONCE = 16
"""Chunks that are repeated when nothing comes: when the network is only slow, more would make it slower."""


@dataclass(slots=True)
class Stats:
    """Counts of what a rank sent and received.

    Attributes:
        sent: contributions, repeated ones included.
        repeated: contributions sent again.
        results: sums that were new.
        duplicates: sums that were not.
        pulls: requests for contributions.
        foreign: frames of something else, or of another job.
    """

    sent: int = 0
    repeated: int = 0
    results: int = 0
    duplicates: int = 0
    pulls: int = 0
    foreign: int = 0


class AllReduceEndpoint:
    """One rank: give it what arrived, send what it has to send.

    Args:
        rank: this rank.
        ranks: number of ranks.
        job: number of the job.
        pages: number of pages of slots that the job has.
        segments: number of segments in a packet.
        flight: chunks that may be on their way at once; half the slots at most.
        retry_s: time without anything new after which what is missing is sent again; it doubles up to 4 times that.
        first: number of the first chunk, the same on all ranks.
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
        self.stats = Stats()
        self.progress = 0
        """Grows with every packet that told something new."""
        self._segments = segments
        self._slots = pages * PAGE
        self._window = self._slots // 2
        self._flight = min(self._window, max(1, flight or self._window))
        self._frames = blank_frames(rank, job, self._slots, segments)
        self._received = np.zeros(self._slots, np.bool_)
        self._stamps = np.zeros(self._slots, np.int64)  # when each slot's frame left, by the count of frames
        self._sent_s = np.full(self._slots, -np.inf)  # and by the clock
        self._first = self._base = first  # the first chunk whose sum is missing
        self._next = first  # the first that was not sent
        self._sequence = 0
        self._running: deque[TensorSum] = deque()
        self._starts: deque[int] = deque()  # their first chunks, as far as they are known
        self._again: list[int] = []
        self._present = self._present_before = 0  # as PULLs say it, since the last time-out and before it
        self._retry_s = retry_s
        self._timer = Backoff(retry_s, 4 * retry_s)
        self._timed = -1
        self._now_s = 0.0

    # --- what a driver does --------------------------------------------------------------------------------

    def begin(self, array: Array) -> TensorSum:
        """Start to sum ``array`` in place, behind what was begun before.

        Raises:
            OfframpError: an array that cannot be summed.
        """
        collective = TensorSum(self._sequence, array, self.rank, self.ranks, self._segments * LANES, self._window)
        self._sequence += 1
        if not self._running:
            self._starts.append(self._base)
        self._running.append(collective)
        return collective

    @property
    def idle(self) -> bool:
        """Whether all that was begun is finished."""
        return not self._running

    def outgoing(self, limit: int) -> PacketBatch:
        """Up to ``limit`` frames to send now; empty if there are none.

        Raises:
            OfframpError: a tensor changed while it was summed.
        """
        if self._again:
            chosen, self._again = self._again[:limit], self._again[limit:]
            slots = np.array(chosen, np.int64) % self._slots
            frames = self._frames[slots]
            set_field(frames, "kind", _AGAIN)
            self._stamp(slots)
            self.stats.repeated += len(slots)
            return _batch(frames)
        while len(self._starts) and (n := self._sendable(limit)) > 0:
            return self._build(n)
        return PacketBatch.empty()

    def incoming(self, batch: PacketBatch) -> None:
        """Take what arrived; nothing that may be in it is an error.

        Raises:
            OfframpError: ranks sum different tensors, or a sum that its type does not hold.
        """
        if not len(batch):
            return
        packets = parse_frames(batch, self._segments)
        ours = packets.field("job") == self.job
        self.stats.foreign += packets.foreign + int(np.count_nonzero(~ours))
        kind = packets.field("kind")
        if (results := ours & (kind == _RESULT)).any():
            self._take_results(packets if results.all() else packets.select(results))
        if (pulls := ours & (kind == _PULL)).any():
            self._take_pulls(packets.select(pulls))

    def tick(self, now_s: float) -> None:
        """Repeat what may have been lost, once nothing new has come for a time-out; times are on the caller's clock."""
        self._now_s = now_s
        if self.progress != self._timed or self._base == self._next:
            self._timed = self.progress
            self._timer.restart()
        if self._timer.fires(now_s) and not self._again:
            self._again = self._outstanding()[:_MOST_AT_ONCE].tolist()
            if self._present:  # a switch that was restarted since has lost what it had
                self._present_before, self._present = self._present, 0

    @property
    def name(self) -> str:
        """Prefix of error messages: this rank, and the collective that is summed."""
        sequence = self._running[0].sequence if self._running else self._sequence
        return f"rank {self.rank}: all_reduce {sequence}"

    def state(self) -> str:
        """The silent ranks, or a note that nothing arrives, for an error message."""
        present = self._present | self._present_before
        if not present:
            return f"{self.name}: no answer from the switch, which may run another program or lack the job's entries,"
        missing = [rank for rank in range(self.ranks) if not present >> rank & 1]
        if not missing:
            return f"{self.name}: the sum does not come"
        return f"{self.name}: nothing came from rank{'s' if len(missing) > 1 else ''} {', '.join(map(str, missing))}"

    # --- sending -------------------------------------------------------------------------------------------

    def _sendable(self, limit: int) -> int:
        """Number of frames of the collective being sent that may leave now."""
        collective, start = self._running[len(self._starts) - 1], self._starts[-1]
        at, complete = self._next - start, self._base - start
        if at == 0:
            last = 1
        elif complete < 1:
            return 0
        else:
            length = collective.length(complete)
            last = 1 + collective.data if length is None or at < 1 + collective.data else length
            if at == length:
                return self._follow(limit)
        return max(0, min(last - at, limit, self._base + self._flight - self._next))

    def _follow(self, limit: int) -> int:
        """The next collective may begin."""
        if len(self._starts) == len(self._running):
            return 0
        self._starts.append(self._next)
        return self._sendable(limit)

    def _build(self, n: int) -> PacketBatch:
        collective, start = self._running[len(self._starts) - 1], self._starts[-1]
        at = self._next - start
        n = min(n, self._slots - self._next % self._slots)  # rows side by side
        lanes, exponents, flags = collective.head() if at == 0 else collective.build(at, at + n)
        number = self._next + np.arange(n)
        slots = number % self._slots
        frames = self._frames[int(slots[0]) : int(slots[0]) + n]
        set_field(frames, "chunk", number % _TAGS + 1)
        set_field(frames, "exponent", exponents)
        set_field(frames, "flags", flags)
        set_lanes(frames, lanes)
        self._stamp(slots)
        self._next += n
        return _batch(frames)

    def _stamp(self, slots: Indices) -> None:
        self._stamps[slots] = self.stats.sent + np.arange(len(slots))
        self._sent_s[slots] = self._now_s
        self.stats.sent += len(slots)

    def _outstanding(self) -> Indices:
        numbers = np.arange(self._base, self._next)
        return numbers[~self._received[numbers % self._slots]]

    # --- receiving -----------------------------------------------------------------------------------------

    def _numbers(self, packets: AllReducePackets) -> Indices:
        """Chunk numbers, from those modulo :data:`_TAGS` and the window."""
        ahead = (packets.field("chunk") - 1 - self._base) % _TAGS
        return np.asarray(self._base + ahead - _TAGS * (ahead > _TAGS // 2))

    def _take_results(self, packets: AllReducePackets) -> None:
        number = self._numbers(packets)
        fresh = (number >= self._base) & (number < self._next)
        slots = number % self._slots
        fresh &= ~self._received[slots] & (packets.field("page") * PAGE + packets.field("line") == slots)
        if len(number) > 1 and not (np.diff(number) > 0).all():
            first = np.zeros(len(number), np.bool_)
            first[np.unique(number, return_index=True)[1]] = True
            fresh &= first
        count = int(np.count_nonzero(fresh))
        self.stats.duplicates += len(number) - count
        if not count:
            return
        if count < len(number):
            packets, number, slots = packets.select(fresh), number[fresh], slots[fresh]
        self.stats.results += count
        self.progress += count
        self._received[slots] = True
        self._deliver(number, packets)
        self._find_lost(int(self._stamps[slots].max()))
        self._advance()

    def _deliver(self, number: Indices, packets: AllReducePackets) -> None:
        lanes = packets.lanes()
        exponents, flags = packets.field("exponent"), packets.field("flags")
        for at, (collective, start) in enumerate(zip(self._running, self._starts, strict=False)):
            stop = self._starts[at + 1] if at + 1 < len(self._starts) else self._next
            mine = (number >= start) & (number < stop)
            if (head := number == start).any():
                row = int(head.argmax())
                collective.accept_head(lanes[row], int(exponents[row]), int(flags[row]))
                mine &= ~head
            if mine.all():
                collective.accept(number - start, lanes, exponents, flags)
            elif mine.any():
                collective.accept(number[mine] - start, lanes[mine], exponents[mine], flags[mine])

    def _advance(self) -> None:
        """Move the window past the sums that are here, and finish collectives."""
        numbers = np.arange(self._base, self._next)
        gaps = ~self._received[numbers % self._slots]
        done = int(gaps.argmax()) if gaps.any() else len(numbers)
        self._received[numbers[:done] % self._slots] = False
        self._base += done
        if done:
            self._present = self._present_before = 0
        while self._starts and self._base > self._starts[0]:
            length = self._running[0].length(self._base - self._starts[0])
            if length is None or self._base < self._starts[0] + length:
                return
            if len(self._starts) == 1 and len(self._running) > 1:
                self._starts.append(self._starts[0] + length)
            self._starts.popleft()
            self._running.popleft().finish()

    def _find_lost(self, newest: int) -> None:
        """Repeat chunks that left well before one whose sum has arrived: a contribution to them is lost."""
        if self._stamps[self._base % self._slots] >= newest - _REORDERED:
            return
        missing = self._outstanding()
        lost = missing[self._stamps[missing % self._slots] < newest - _REORDERED].tolist()
        self._repeat(lost[:_MOST_REPEATS])

    def _take_pulls(self, packets: AllReducePackets) -> None:
        self.stats.pulls += len(packets)
        number, present = self._numbers(packets), packets.field("present")
        for each, ranks in zip(number.tolist(), present.tolist(), strict=True):
            if each == self._base:
                self._present |= ranks
            if ranks >> self.rank & 1 or not max(self._first, self._next - self._slots) <= each < self._next:
                continue
            if self._sent_s[each % self._slots] <= self._now_s - self._retry_s / 2:  # else it may be on its way
                self._sent_s[each % self._slots] = self._now_s
                self._repeat([each])

    def _repeat(self, numbers: list[int]) -> None:
        known = set(self._again)
        self._again += [number for number in numbers if number not in known]


def _batch(frames: npt.NDArray[np.uint8]) -> PacketBatch:
    n, size = frames.shape
    return PacketBatch(np.zeros(n, np.int32), np.full(n, size, np.int32), frames)
