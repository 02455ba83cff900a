# SPDX-License-Identifier: Apache-2.0
"""Coflows of transfers to and from peers, and when all of a coflow has moved."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field

from offramp.hermod.endhost.priorities import CoflowPriority
from offramp_base.errors import OfframpError

Route = tuple[int, int]
"""Peer and message number: what a transfer is known by at both ends."""
Span = tuple[int, int, int]
"""Peer, and the bytes of its transfer from the second number up to the third."""


@dataclass(eq=False, slots=True)
class OutgoingBytes:
    """Bytes for a peer; ``ready`` when it waits for them."""

    route: Route
    view: memoryview
    coflow: CoflowTransfers
    left: int
    ready: bool = False


@dataclass(eq=False, slots=True)
class Incoming:
    """Bytes from a peer, written where they belong; those up to ``announced`` have come or are coming."""

    route: Route
    view: memoryview
    coflow: CoflowTransfers
    missing: int
    announced: int = 0


@dataclass(eq=False, slots=True)
class Piece:
    """A stretch of a transfer that is sent without a look at the coflow's other transfers."""

    outgoing: OutgoingBytes
    start: int
    stop: int


@dataclass(eq=False, slots=True)
class CoflowTransfers:
    """Transfers of one collective that this host takes part in.

    Attributes:
        mark: its priority.
        number: position in the order of submission, the last tie-break.
        pieces: to send; of a coflow ``in_order`` the first only, else any.
        transfers: number of transfers that are not over; the future has its result when none is left.
    """

    mark: CoflowPriority
    number: int
    in_order: bool
    transfers: int = 0
    pieces: deque[Piece] = field(default_factory=deque)
    future: Future[None] = field(default_factory=Future)

    @property
    def place(self) -> tuple[tuple[int, ...], int]:
        """Sort key of the coflow: the smaller goes first."""
        return self.mark.key, self.number

    def cut(self, outgoing: dict[int, OutgoingBytes], spans: Iterable[Span] | None) -> None:
        """Fill in the pieces: by ``spans``, or each transfer as a whole.

        Raises:
            OfframpError: the spans are not the transfers, each byte once and in order.
        """
        if spans is None:
            self.pieces.extend(Piece(o, 0, len(o.view)) for o in outgoing.values() if len(o.view))
            return
        at = dict.fromkeys(outgoing, 0)
        for peer, start, stop in spans:
            if peer not in at or start != at[peer] or stop <= start:
                raise OfframpError(f"coflow: bytes {start} to {stop} for rank {peer} are out of order")
            at[peer] = stop
            self.pieces.append(Piece(outgoing[peer], start, stop))
        if any(at[peer] != len(o.view) for peer, o in outgoing.items()):
            raise OfframpError("coflow: its pieces are not its transfers")
