# SPDX-License-Identifier: Apache-2.0
"""One all-to-all, known alike on every rank: who sends whom how much, in which order."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from offramp.hermod.matching import SubphaseSchedule
from offramp.hermod.matching.schedule import Matrix

Span = tuple[int, int, int]
"""Peer, and the bytes of what is for (or from) it from the second number up to the third."""


@dataclass(frozen=True, eq=False)
class CoflowExchange:
    """The rows that ranks exchange, and the sub-phases in which they move.

    Attributes:
        rows: ``(ranks, ranks)``, what rank i sends rank j, itself included.
        row_bytes: bytes of a row.
        schedule: sub-phases in rows; None: all at once.
    """

    rows: Matrix
    row_bytes: int
    schedule: SubphaseSchedule | None

    @cached_property
    def transposed(self) -> CoflowExchange:
        """The way back: the same sub-phases the other way round."""
        return CoflowExchange(self.rows.T.copy(), self.row_bytes, self.schedule and self.schedule.transposed())

    @cached_property
    def digest(self) -> int:
        """63 bits that differ where exchanges do."""
        sha256 = hashlib.sha256(repr((self.rows.tolist(), self.row_bytes)).encode())
        if self.schedule is not None:
            for part in (self.schedule.peer, self.schedule.send):
                sha256.update(np.ascontiguousarray(part, np.int64).tobytes())
        return int.from_bytes(sha256.digest()[:8], "big") >> 1

    def with_row_bytes(self, row_bytes: int) -> CoflowExchange:
        """The exchange with rows of another width."""
        return self if row_bytes == self.row_bytes else CoflowExchange(self.rows, row_bytes, self.schedule)

    def starts(self, rank: int) -> tuple[list[int], list[int]]:
        """Offsets of each peer's bytes in the rank's input and in its output; one more entry is the end."""
        directions = (self.rows[rank], self.rows[:, rank])
        sent, received = ([0, *np.cumsum(part * self.row_bytes).tolist()] for part in directions)
        return sent, received

    def sends(self, rank: int) -> list[Span]:
        """Spans that a rank sends, in order of the sub-phases."""
        return [span for span in self._spans(rank, sending=True) if span is not None]

    def receives(self, rank: int) -> list[Span]:
        """Spans that a rank receives, in order of the sub-phases."""
        return [span for span in self._spans(rank, sending=False) if span is not None]

    def phases(self, rank: int) -> list[tuple[list[Span], list[Span]]]:
        """Spans that a rank sends and receives in each sub-phase; without a schedule there is one sub-phase."""
        if self.schedule is None:
            return [(self.sends(rank), self.receives(rank))]
        pairs = zip(self._spans(rank, sending=True), self._spans(rank, sending=False), strict=True)
        return [([s] if s else [], [r] if r else []) for s, r in pairs]

    def _column(self, rank: int, *, sending: bool) -> list[tuple[int, int]]:
        """Peers and rows, sub-phase by sub-phase; without a schedule the nearest higher rank first (or lower)."""
        if self.schedule is None:
            line = self.rows[rank] if sending else self.rows[:, rank]
            step = 1 if sending else -1
            peers = [(rank + step * k) % len(line) for k in range(1, len(line))]
            return [(p, int(line[p])) for p in peers]
        peer, send = self.schedule.peer, self.schedule.send
        if sending:
            return list(zip(peer[:, rank].tolist(), send[:, rank].tolist(), strict=True))
        source = np.argsort(peer, axis=1)[:, rank]
        return list(zip(source.tolist(), send[np.arange(len(peer)), source].tolist(), strict=True))

    def _spans(self, rank: int, *, sending: bool) -> list[Span | None]:
        """Bytes that move for each entry of the column; None where none do."""
        at = [0] * len(self.rows)
        spans: list[Span | None] = []
        for peer, rows in self._column(rank, sending=sending):
            start = at[peer]
            at[peer] += rows * self.row_bytes
            spans.append((peer, start, at[peer]) if at[peer] > start and peer != rank else None)
        return spans
