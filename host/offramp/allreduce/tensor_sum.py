# SPDX-License-Identifier: Apache-2.0
"""One all-reduce of one rank as a sequence of chunks: a head, the tensor, and repairs.

The head tells all ranks what each of them sums, and agrees on the first exponents: rank *r* has lanes 2 *r* and
2 *r* + 1 of its sum to itself. Every chunk of the tensor agrees on the exponent of the one that comes a window later.
Chunks with infinities or NaNs, which have no exponent, send their finite numbers as the others do and the rest in a
repair at the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from offramp.allreduce import numbers
from offramp.allreduce.wire import MOST_RANKS
from offramp_base.errors import OfframpError

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]

WILD = 1
"""Flag of a chunk: a rank has infinities or NaNs in the one that comes a window later."""
_LOW = 0xFFFF_FFFF
_MOST_PAGES = 256  # a byte says which
_MOST_SEGMENTS = 255  # IPv4's length has 16 bits
_MOST_BITS = 64
"""Greatest width of integers; a head's sum that says more was forged."""


class TensorSum:
    """Chunks are numbered from 0, the head.

    Args:
        sequence: the number of the collective, from 0.
        array: what is summed in place; C-contiguous, writable.
        rank: this rank.
        ranks: number of ranks.
        lanes: lanes of a chunk.
        window: chunks that may be on their way; an exponent is agreed that far ahead.

    Raises:
        OfframpError: an array that cannot be summed in place, or of a type that is not served.
    """

    def __init__(self, sequence: int, array: Array, rank: int, ranks: int, lanes: int, window: int) -> None:
        self.sequence, self.rank, self.ranks = sequence, rank, ranks
        require_in_place(array, self.name)
        self._form = numbers.format_of(array.dtype, ranks)
        self._lanes, self._window = lanes, window
        self._out = array.reshape(-1)
        narrow = self._form.floating and array.dtype.itemsize < 4
        self._values = self._out.astype(np.float32) if narrow else self._out
        self.count = array.size
        self.chunks = -(-array.size // lanes)
        self._full = array.size // lanes
        self._bits = 0 if self._form.floating else numbers.integer_bits(self._values)
        self._limbs = 0
        self._exponents = np.zeros(self.chunks, np.int64)
        self._wild = np.zeros(self.chunks, np.bool_)
        self._measured = 0  # chunks whose exponents are known
        self._agreed = np.zeros(self.chunks, np.int64)
        self._agreed_wild = np.zeros(self.chunks, np.bool_)
        self._repairs: Indices | None = None
        self._counts: dict[int, Array] = {}  # of infinities and NaNs, by chunk: this rank's, then the sums
        self._parts = np.zeros((0, 0, 0), np.int32)
        self._missing = np.zeros(0, np.int64)
        self._overflow: int | None = None

    @property
    def name(self) -> str:
        """Prefix of error messages: the rank and the collective."""
        return f"rank {self.rank}: all_reduce {self.sequence}"

    @property
    def data(self) -> int:
        """Packets of the tensor; known once the head's sum is here."""
        return self.chunks * self._limbs

    def length(self, complete: int) -> int | None:
        """All chunks, where the first ``complete`` sums are here; None while repairs are not known."""
        if complete < 1 + max(0, self.data - self._window):
            return None
        if self._repairs is None:
            self._repairs = np.flatnonzero(self._agreed_wild).astype(np.int64)
        return 1 + self.data + len(self._repairs)

    # --- what is sent --------------------------------------------------------------------------------------

    def head(self) -> tuple[Array, Indices, Indices]:
        """Lanes ``(1, lanes)``, exponent and flags of chunk 0."""
        lanes = np.zeros((1, self._lanes), np.int64)
        lanes[0, 2 * self.rank] = self.count & _LOW
        lanes[0, 2 * self.rank + 1] = self._form.code << 24 | (self.count >> 32 & 0xFF) << 16 | self.sequence & 0xFFFF
        exponent, wild = self._bits, False
        if self._form.floating:
            first = self._first_chunks(self._form.limbs(0))
            self._measure(first)
            exponent = int(self._exponents[:first].max(initial=0))
            wild = bool(self._wild[:first].any())
        return lanes.astype(np.uint32).view(np.int32), np.array([exponent]), np.array([WILD * wild])

    def build(self, first: int, last: int) -> tuple[Array, Indices, Indices]:
        """Lanes ``(n, lanes)``, exponents and flags of chunks ``first`` to before ``last``, all behind the head.

        Raises:
            OfframpError: the tensor changed since its exponents were agreed.
        """
        first, last = first - 1, last - 1
        if first >= self.data:
            assert self._repairs is not None
            chosen = self._repairs[first - self.data : last - self.data]
            lanes = np.stack([self._counts[int(chunk)] for chunk in chosen])
            return lanes, np.zeros(len(chosen), np.int64), np.zeros(len(chosen), np.int64)
        last = min(last, self.data)
        start, stop = first // self._limbs, -(-last // self._limbs)
        rows = self._rows(start, stop)
        if self._form.floating:
            rows = self._quantised(start, stop, rows)
        parts = numbers.cut(rows, self._limbs, self._form.lane_bits)
        lanes = parts[0] if self._limbs == 1 else parts.swapaxes(0, 1).reshape(-1, self._lanes)
        offset = first - start * self._limbs
        return lanes[offset : offset + last - first], *self._ahead(first, last)

    def _quantised(self, start: int, stop: int, rows: Array) -> Array:
        for chunk in np.flatnonzero(self._agreed_wild[start:stop]).tolist():
            self._counts.setdefault(start + chunk, numbers.classify(rows[chunk]))
        try:
            return numbers.quantise(rows, self._agreed[start:stop], self._form)
        except OfframpError as error:
            raise OfframpError(f"{self.name}: {error}") from None

    def _ahead(self, first: int, last: int) -> tuple[Indices, Indices]:
        """Exponents and flags that packets ``first`` to before ``last`` of the tensor agree on."""
        n = last - first
        exponents, flags = np.zeros(n, np.int64), np.zeros(n, np.int64)
        known = min(last + self._window, self.data) - first - self._window
        if self._form.floating and known > 0:
            packets = first + self._window + np.arange(known)
            chunk = packets // self._limbs
            self._measure(int(chunk[-1]) + 1)
            exponents[:known] = self._exponents[chunk]
            flags[:known] = WILD * self._wild[chunk]
        return exponents, flags

    # --- what comes back -----------------------------------------------------------------------------------

    def accept_head(self, lanes: Array, exponent: int, flags: int) -> None:
        """The head's sum.

        Raises:
            OfframpError: ranks sum different tensors; the message names the first that differs.
        """
        sent = lanes.reshape(-1)[: 2 * self.ranks].view(np.uint32).astype(np.int64).reshape(self.ranks, 2)
        for rank in np.flatnonzero((sent != sent[self.rank]).any(axis=1)).tolist():
            count, word = sent[rank].tolist()
            theirs = f"{numbers.name_of(word >> 24)}[{count | (word >> 16 & 0xFF) << 32}]"
            ours = f"{numbers.name_of(self._form.code)}[{self.count}]"
            raise OfframpError(f"{self.name}: rank {rank} sums {theirs}, this rank {ours}")
        if not self._form.floating and exponent > _MOST_BITS:
            raise OfframpError(f"{self.name}: the head's sum says integers of {exponent} bits")
        self._limbs = self._form.limbs(exponent)
        if self._form.floating:
            first = self._first_chunks(self._limbs)
            self._agreed[:first] = exponent
            self._agreed_wild[:first] = bool(flags & WILD)
        if self._limbs > 1:
            self._parts = np.zeros((self._limbs, self.chunks, self._lanes), np.int32)
            self._missing = np.full(self.chunks, self._limbs)

    def accept(self, index: Indices, lanes: Array, exponents: Indices, flags: Indices) -> None:
        """Sums of chunks behind the head, each once: numbers ``(n,)``, ``(n, lanes)`` int32, what they agree on."""
        packet = index - 1
        repair = packet >= self.data
        if repair.any():
            assert self._repairs is not None
            for chunk, row in zip(self._repairs[packet[repair] - self.data].tolist(), lanes[repair], strict=True):
                self._counts[chunk] = row
            packet, lanes, exponents, flags = (part[~repair] for part in (packet, lanes, exponents, flags))
        if self._form.floating:
            ahead = packet + self._window
            first = (ahead < self.data) & (ahead % self._limbs == 0)
            self._agreed[ahead[first] // self._limbs] = exponents[first]
            self._agreed_wild[ahead[first] // self._limbs] = (flags[first] & WILD) != 0
        if self._limbs == 1:
            self._store(packet, lanes[None])
        else:
            chunk = packet // self._limbs
            self._parts[packet % self._limbs, chunk] = lanes
            np.subtract.at(self._missing, chunk, 1)
            ready = np.unique(chunk[self._missing[chunk] == 0])
            self._store(ready, self._parts[:, ready])

    def finish(self) -> None:
        """Put the last things right, once all sums are here.

        Raises:
            OfframpError: a sum of integers that the type does not hold.
        """
        if self._overflow is not None:
            raise OfframpError(f"{self.name}: the sum of element {self._overflow} does not fit {self._form.dtype.name}")
        for chunk, sums in self._counts.items():
            place = slice(chunk * self._lanes, min((chunk + 1) * self._lanes, self.count))
            wild = numbers.declassify(sums)[: place.stop - place.start]
            self._out[place] = np.where(wild == 0, self._out[place], wild.astype(self._out.dtype))

    def _store(self, chunk: Indices, parts: Array) -> None:
        if not len(chunk):
            return
        bits = self._form.lane_bits
        if self._form.floating:
            with np.errstate(over="ignore"):  # a sum beyond the type is infinite, as it is elsewhere
                values = numbers.dequantise(numbers.join_floats(parts, bits), self._agreed[chunk], self._form)
                values = values.astype(self._out.dtype, copy=False)
        else:
            values, wrong = numbers.join_integers(parts, bits, self._form.dtype)
            if wrong.any():
                row, lane = np.argwhere(wrong)[0].tolist()
                self._overflow = int(chunk[row]) * self._lanes + lane
        full = self._out[: self._full * self._lanes].reshape(self._full, self._lanes)
        if int(chunk[-1]) < self._full and (np.diff(chunk) == 1).all():
            full[int(chunk[0]) : int(chunk[-1]) + 1] = values
            return
        whole = chunk < self._full
        full[chunk[whole]] = values[whole]
        for row in values[~whole]:
            self._out[self._full * self._lanes :] = row[: self.count - self._full * self._lanes]

    # --- inside --------------------------------------------------------------------------------------------

    def _first_chunks(self, limbs: int) -> int:
        """Chunks whose exponent the head agrees on."""
        return min(self.chunks, -(-self._window // limbs))

    def _rows(self, start: int, stop: int) -> Array:
        """Chunks ``start`` to before ``stop`` as ``(n, lanes)``, the last one of the tensor filled up with zeros."""
        whole = self._values[start * self._lanes : min(stop, self._full) * self._lanes]
        if stop <= self._full:
            return whole.reshape(-1, self._lanes)
        rows = np.zeros((stop - start, self._lanes), self._values.dtype)
        rest = self._values[start * self._lanes :]
        rows.reshape(-1)[: len(rest)] = rest
        return rows

    def _measure(self, stop: int) -> None:
        """Find the exponents of chunks before ``stop``, and of some more while at it."""
        start = self._measured
        if stop <= start:
            return
        stop = min(self.chunks, max(stop, start + self._window))
        self._exponents[start:stop], self._wild[start:stop] = numbers.exponents(self._rows(start, stop))
        self._measured = stop


def require_in_place(array: Array, name: str) -> None:
    """Refuse an array whose elements cannot be replaced by their sums in place.

    Raises:
        OfframpError: it is not C-contiguous, or not writable; the message begins with ``name``.
    """
    if not (array.flags.c_contiguous and array.flags.writeable):
        raise OfframpError(f"{name}: expected an array that is C-contiguous and writable")


def check_shape(pages: int, segments: int) -> None:
    """Refuse slots and packets that the header has no room for.

    Raises:
        OfframpError: no pages or more than 256, no segments or more than 255.
    """
    if not 1 <= pages <= _MOST_PAGES or not 1 <= segments <= _MOST_SEGMENTS:
        raise OfframpError(
            f"all_reduce: {pages} pages, {segments} segments: expected 1 to {_MOST_PAGES} and 1 to {_MOST_SEGMENTS}"
        )


def check_ranks(rank: int, ranks: int) -> None:
    """Refuse numbers that the packets have no room for.

    Raises:
        OfframpError: more than 32 ranks, or a rank beyond them.
    """
    if not 1 <= ranks <= MOST_RANKS:
        raise OfframpError(f"all_reduce: {ranks} ranks: expected 1 to {MOST_RANKS}")
    if not 0 <= rank < ranks:
        raise OfframpError(f"all_reduce: rank {rank}: expected 0 to {ranks - 1}")
